/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The files in a folder of the cache (support/system/cache_settings.h):
 *
 *     KEY.kdl          an entry
 *     KEY.SALT.tmp     an entry that is being written, or a stale one of a killed process
 *     KEY.lock         a process is making that entry: ext/jit/cache/claim.h
 *     KEY.lease        a machine is making that entry: ext/jit/cache/claim.h
 *
 * Files with other names are not touched.
 */
#ifndef KDL_EXT_JIT_CACHE_FILES_H
#define KDL_EXT_JIT_CACHE_FILES_H

#include "support/base/blake2b.h"
#include "support/system/cache_settings.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <time.h>

enum { KDL_CACHE_NAME = KDL_DIGEST_TEXT + 32 };

typedef enum kdl_cache_file_kind {
  KDL_CACHE_FILE_OTHER,
  KDL_CACHE_FILE_ENTRY,
  KDL_CACHE_FILE_TEMPORARY,
  KDL_CACHE_FILE_LOCK,
} kdl_cache_file_kind;

typedef struct kdl_cache_file {
  char name[KDL_CACHE_NAME];
  kdl_cache_file_kind kind;
  uint64_t size;
  struct timespec used; /* last use, or when it was written */
} kdl_cache_file;

/* The cache's files in the folder, the least recently used first. The caller frees *out_files. */
kdl_status kdl_cache_files_list(int folder, kdl_cache_file **out_files, size_t *out_count);

/* ------------------------------------------------------------------------------------------ */
/* Entries                                                                                      */

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
