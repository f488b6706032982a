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

/* kdl_writer_add, or kdl_writer_add_with_digest, with the bytes of an image of a library, which
 * must stay open until the writer is destroyed; ignores `data`. */
kdl_status kdl_writer_add_copy(kdl_writer *writer, const kdl_writer_image *image, kdl_library *from,
                               uint32_t index, bool with_digest);

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

#endif
