/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Writing OffloadBinaries whose images are not all in memory: an image's bytes are acquired while
 * it is written. Also the key kdl.digest, the digest of an image's bytes (docs/metadata.md).
 */
#ifndef KDL_LIB_INSPECT_WRITE_H
#define KDL_LIB_INSPECT_WRITE_H

#include "support/base/blake2b.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kdl_container kdl_container;

/* The bytes of an image in another file, which must stay open until the writer is destroyed. */
typedef struct kdl_image_ref {
  kdl_container *container; /* NULL: the image's bytes are at its `data` */
  uint32_t index;
} kdl_image_ref;

/* Copies the caller's struct in this version's layout, after checking its pointers. */
kdl_status kdl_writer_image_read(const char *call, const kdl_writer_image *image,
                                 kdl_writer_image *out_image);

/* kdl_writer_add for an image reference: ignores `data`. */
kdl_status kdl_writer_add_ref(kdl_writer *writer, const kdl_writer_image *image, kdl_image_ref ref);

/* Writes the file image by image; compressed formats at once. `shown` is the file's name in
 * messages. */
kdl_status kdl_writer_write(kdl_writer *writer, int fd, const char *shown);

/* ------------------------------------------------------------------------------------------ */
/* Digests                                                                                      */

#define KDL_DIGEST_KEY "kdl.digest"
#define KDL_DIGEST_METHOD "blake2b-256:"

/* "blake2b-256:" and 64 hexadecimal digits, with a NUL. */
enum { KDL_DIGEST_VALUE = sizeof KDL_DIGEST_METHOD - 1 + KDL_DIGEST_TEXT };

/* Whether a value is well-formed; else the position of the error. */
bool kdl_digest_is_readable(kdl_string value, size_t *out_position);

/* KDL_BAD_FILE, with the key, found and expected, where the pairs have a digest that differs from
 * that of the bytes. */
kdl_status kdl_digest_check(const kdl_pair *pairs, size_t count, const void *data, size_t size);

/* kdl_writer_add_with_digest for an image reference. */
kdl_status kdl_writer_add_ref_digested(kdl_writer *writer, const kdl_writer_image *image,
                                       kdl_image_ref ref);

#endif
