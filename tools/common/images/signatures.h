/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compares a kernel's signature with the parameters in the image. */
#ifndef KDL_TOOLS_COMMON_IMAGES_SIGNATURES_H
#define KDL_TOOLS_COMMON_IMAGES_SIGNATURES_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether `sig`, followed by `hidden` pointers, contradicts the image: "parameter 1 is f32; the
 * image shows 8 bytes". False also where the image has no parameter list or is damaged. */
bool cli_signature_contradicts(kdl_image_kind kind, kdl_string image, kdl_string kernel,
                               kdl_string sig, uint32_t hidden, char *out_problem, size_t room);

#endif
