/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The built-in microkernels, for kernels in bitcode that call them; kdl-ld finds the variants.
 * <kdl/ukernel.h> says what a microkernel is. */
#ifndef KDL_UKERNELS_H
#define KDL_UKERNELS_H

#include <kdl/ukernel.h>

/* *sum becomes the sum of a[i] * b[i] over n elements, of the calling work-item alone. The order of
 * the additions is the variant's. */
KDL_UKERNEL void kdl_uk_dot_f32(const float *a, const float *b, int32_t n, float *sum);

/* The sum of `value` over the subgroup, in each of its work-items, all of which must call. On a
 * CPU, where a work-item is a subgroup, that is the value. */
KDL_UKERNEL int32_t kdl_uk_subgroup_sum_i32(int32_t value);

#endif
