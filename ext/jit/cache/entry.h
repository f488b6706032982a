/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One file of the cache: the link key, as text, and the image.
 *
 *      0  "KDLCACHE"
 *      8  u32 version, 1           12  u32 kind of the image
 *     16  u32 size of the link key 20  u32 size of the notes
 *     24  u64 size of the image
 *     32  the digest of bytes 0 to 31 and 64 to the end
 *     64  link key, notes, image; the file ends where the image does
 *
 * The link key is everything that the image depends on, one `WORD VALUE` per line; its digest names
 * the file. Notes are lines of the same form that are not part of the key. The digest covers every
 * byte and is checked before anything else is used, so that any damage is detected.
 */
#ifndef KDL_EXT_JIT_CACHE_ENTRY_H
#define KDL_EXT_JIT_CACHE_ENTRY_H

#include "support/base/blake2b.h"

#include <kdl/kdl.h>

#include <stdbool.h>

enum {
  KDL_CACHE_VERSION = 1,
  KDL_CACHE_HEADER = 64,
  KDL_CACHE_LIMIT_TEXT = 1 << 20, /* for the link key and for the notes */
};
#define KDL_CACHE_LIMIT_IMAGE ((uint64_t)1 << 30)

typedef struct kdl_cache_entry {
  kdl_string link_key;
  kdl_string notes;
  kdl_image_kind kind;
  const void *image;
  size_t image_size;
} kdl_cache_entry;

/* Parses a file's bytes; the entry points into them. KDL_BAD_FILE names the bad field. */
kdl_status kdl_cache_entry_parse(const void *bytes, size_t size, kdl_cache_entry *out_entry);

/* Serializes an entry into memory that the caller frees with free(). */
kdl_status kdl_cache_entry_serialize(const kdl_cache_entry *entry, void **out_data,
                                     size_t *out_size);

/* The value of the `nth` line that starts with the word; false where there is none. */
bool kdl_cache_field(kdl_string text, const char *word, size_t nth, kdl_string *out_value);

#endif
