/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is signed of images: their metadata, among it kdl.digest, which stands for their bytes. For
 * each image a line, and one for each key in the order of their bytes, with lengths before them so
 * that no two lists are alike (docs/signatures.md):
 *
 *     kdl image 1: 5 keys, kinds 1 1, flags 0
 *     4:arch=9:x86-64-v3
 */
#ifndef KDL_TRUST_MESSAGE_H
#define KDL_TRUST_MESSAGE_H

#include <kdl/kdl.h>

#include <stddef.h>

#define KDL_SIGNATURE_KEY "kdl.signature"

typedef struct kdl_signed_image {
  uint16_t declared_kind, offload_kind;
  uint32_t flags;
  const kdl_pair *pairs; /* all; a signature among them is left out */
  size_t pair_count;
} kdl_signed_image;

/* malloc'ed. KDL_BAD_FILE where an image has no digest: its bytes would not be signed. */
kdl_status kdl_signed_message(const kdl_signed_image *images, size_t count, kdl_string *out_text);

#endif
