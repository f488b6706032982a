/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * An image that SYCL's runtime is given: SPIR-V or machine code, or an archive of machine code for
 * several devices, as Intel's compiler writes it; plain, or as a zstd frame.
 */
#ifndef KDL_TOOL_THIN_SYCL_IMAGE_H
#define KDL_TOOL_THIN_SYCL_IMAGE_H

#include "thin/containers.h"

/* Whether four first bytes are those of a compressed one. */
bool thin_sycl_is_packed(const uint8_t *bytes);

/* Whether the bytes of `container` are an image that is understood, for which SYCL's table says
 * `said`; and whether one of its listed images must stay, since others that are not listed are with
 * them. */
kdl_status thin_sycl_measure(const thin_input *input, uint64_t said,
                             const thin_container *container, bool *out_is_known,
                             bool *out_keeps_one);

/* Adds the image with what stays of it, and tells the size that the table is to say. Where it would
 * not become smaller, it is added as it is. */
kdl_status thin_sycl_rewrite(const thin_input *input, const thin_choice *choice,
                             const thin_container *container, thin_output *out, uint64_t *out_said);

#endif
