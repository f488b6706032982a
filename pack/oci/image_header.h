/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * An image header, an image without its bytes, as text in a manifest's annotation: LLVM's numbers
 * for image kind and offload kind, the entry's flags, and the metadata in order.
 *
 *     kinds 3 2 flags 0
 *     triple=nvptx64-nvidia-cuda
 *     arch=sm_90
 *
 * Bytes outside of printable ASCII, '%', and '=' in a key are written as %XX. A blank line
 * separates images.
 */
#ifndef KDL_PACK_OCI_IMAGE_HEADER_H
#define KDL_PACK_OCI_IMAGE_HEADER_H

#include "support/base/arena.h"

#include <kdl/kdl.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct oci_image_header {
  uint16_t declared_kind, offload_kind;
  uint32_t flags;
  const kdl_pair *pairs;
  size_t pair_count;
} oci_image_header;

/* The image for a writer, with bytes. */
static inline kdl_writer_image oci_image_header_for_writer(const oci_image_header *record,
                                                           const void *data, size_t size) {
  return (kdl_writer_image){.size = sizeof(kdl_writer_image),
                            .declared_kind = record->declared_kind,
                            .offload_kind = record->offload_kind,
                            .flags = record->flags,
                            .pairs = record->pairs,
                            .pair_count = record->pair_count,
                            .data = data,
                            .data_size = size};
}

/* malloc'ed. */
char *oci_image_headers_write(const oci_image_header *records, size_t count);

/* Parses into the arena. `name` is for messages. */
kdl_status oci_image_headers_read(kdl_arena *arena, const char *name, kdl_string text,
                                  oci_image_header **out_records, size_t *out_count);

#endif
