/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The built-in microkernels, for kernels in bitcode; kdl-ld selects the variants. <kdl/ukernel.h>
 * explains microkernels. */
#ifndef KDL_UKERNELS_H
#define KDL_UKERNELS_H

#include <kdl/ukernel.h>

/* Sets *sum to the sum of a[i] * b[i] over n elements, for the calling work-item alone. The order
 * of the additions depends on the variant. */
KDL_UKERNEL void kdl_uk_dot_f32(const float *a, const float *b, int32_t n, float *sum);

/* Returns the sum of `value` over the subgroup to each of its work-items, all of which must call
 * it. On a CPU, where a work-item is a subgroup, that is the value. */
KDL_UKERNEL int32_t kdl_uk_subgroup_sum_i32(int32_t value);

#endif
