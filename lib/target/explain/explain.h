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

/* ------------------------------------------------------------------------------------------ */
/* Shared by the texts of reasons and of fixes                                                  */

/* Prints text that may come from a file, without control characters. */
void kdl_out_printable(kdl_out *out, kdl_string text);

/* "12.9" */
void kdl_out_version(kdl_out *out, uint32_t number);

/* The image's PTX version, or the least that its target implies. */
uint32_t kdl_mismatch_ptx(const kdl_mismatch *mismatch);

/* The CUDA version whose driver compiles the image's Tile IR for the device; 0 where none does. */
uint32_t kdl_mismatch_tile_ir(const kdl_mismatch *mismatch);

typedef enum kdl_missing { KDL_MISSING_LACKS, KDL_MISSING_OFF, KDL_MISSING_REFUSED } kdl_missing;

/* The tokens the image needs and the device does not have, for one of three reasons. */
kdl_feature_set kdl_mismatch_tokens(const kdl_mismatch *mismatch, kdl_missing why);

/* Writes a reason of a mismatch by `writer`, or as `plain` where that is NULL. */
typedef void kdl_reason_writer(const kdl_mismatch *mismatch, kdl_out *out);
size_t kdl_reason_write(const kdl_mismatch *mismatch, kdl_reason_writer *writer, const char *plain,
                        char *buffer, size_t size);

#endif
