/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reasons as text, with the values of the case, and how to fix them. */
#ifndef KDL_LIB_TARGET_EXPLAIN_EXPLAIN_H
#define KDL_LIB_TARGET_EXPLAIN_EXPLAIN_H

#include "lib/target/target.h"

/* An image and a device that do not match: descriptions and rules. */
typedef struct kdl_mismatch {
  const kdl_image_desc *image;
  const kdl_image_rule *image_rule;
  const kdl_device_desc *device;
  const kdl_device_rule *device_rule;
} kdl_mismatch;

/* "built for sm_90a; runs on compute capability 9.0 only; the device is 12.0". `reason` is one
 * bit's number out of kdl_match(...).reasons. Cut where the buffer ends; returns the length without
 * the NUL. */
size_t kdl_reason_words(const kdl_mismatch *mismatch, unsigned reason, char *buffer, size_t size);

/* "rebuild without xnack or run with HSA_XNACK=1"; "" where only another image or device would
 * help. */
size_t kdl_reason_fix(const kdl_mismatch *mismatch, unsigned reason, char *buffer, size_t size);

/* Why the image runs on no device, as text; false where its rule has no fault. */
bool kdl_image_fault_words(const kdl_image_desc *image, const kdl_image_rule *rule, char *buffer,
                           size_t size);

#endif
