/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The cache's folder: made with mode 0700, used only where it belongs to the user and no other user
 * may write to it. What lies in it:
 *
 *     KEY.kdl          an entry
 *     KEY.SALT.tmp     one that is being written, or that a killed process left
 *     KEY.lock         held while a process makes that entry: ext/jit/cache/claim.h
 *     KEY.lease        the same among machines: ext/jit/cache/lease.h
 *
 * Files of any other name are not touched. Every call opens the folder anew, so that one that
 * vanishes, or appears, is no state of this process.
 */
#ifndef KDL_CACHE_FOLDER_H
#define KDL_CACHE_FOLDER_H

#include "support/base/blake2b.h"

#include "ext/jit/cache/settings.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

enum { KDL_CACHE_NAME = KDL_DIGEST_TEXT + 32 };

/* Files and folders of other users are not used, but of root in a lower layer. */
bool kdl_cache_owner_is_trusted(kdl_cache_sharing sharing, uid_t owner);

/* A descriptor of the folder, or -1 with the reason recorded; KDL_NO_MATCH is recorded where it is
 * not there. */
int kdl_cache_folder_open(const char *path, kdl_cache_sharing sharing);

/* The same, but makes it, and the folders above it, where they are not there. */
int kdl_cache_folder_make(const char *path, kdl_cache_sharing sharing);

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
  struct timespec used; /* when it was last used, or written */
} kdl_cache_file;

/* The cache's files in the folder, the least recently used first. The caller frees *out_files. */
kdl_status kdl_cache_folder_list(int folder, kdl_cache_file **out_files, size_t *out_count);

#endif
