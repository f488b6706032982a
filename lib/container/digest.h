/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The key kdl.digest: what an image's bytes were when it was written (docs/metadata.md). */
#ifndef KDL_CONTAINER_DIGEST_H
#define KDL_CONTAINER_DIGEST_H

#include "lib/container/writer.h"
#include "support/base/blake2b.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

#define KDL_DIGEST_KEY "kdl.digest"
#define KDL_DIGEST_METHOD "blake2b-256:"

/* "blake2b-256:" and 64 hexadecimal digits, with a NUL. */
enum { KDL_DIGEST_VALUE = sizeof KDL_DIGEST_METHOD - 1 + KDL_DIGEST_TEXT };

/* Whether a value can be read; else the position of what is wrong. */
bool kdl_digest_is_readable(kdl_string value, size_t *out_position);

/* KDL_BAD_FILE with the key, what was found and what was expected, where the pairs have a digest
 * that the bytes do not have. */
kdl_status kdl_digest_check(const kdl_pair *pairs, size_t count, const void *data, size_t size);

/* kdl_writer_add_digested for bytes that are lent. */
kdl_status kdl_writer_add_lent_digested(kdl_writer *writer, const kdl_writer_image *image,
                                        kdl_lender lender);

#endif
