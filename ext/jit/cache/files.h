/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The files in a folder of the cache (support/system/cache_settings.h):
 *
 *     KEY.kdl          an entry
 *     KEY.SALT.tmp     an entry that is being written, or a stale one of a killed process
 *     KEY.lock         a process is making that entry: ext/jit/cache/claim.h
 *     KEY.lease        a machine is making that entry: ext/jit/cache/lease.h
 *
 * Files with other names are not touched.
 */
#ifndef KDL_EXT_JIT_CACHE_FILES_H
#define KDL_EXT_JIT_CACHE_FILES_H

#include "support/base/blake2b.h"

#include "support/system/cache_settings.h"

#include <kdl/kdl.h>

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

#endif
