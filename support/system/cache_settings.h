/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The settings of the cache in the environment: KDL_CACHE, KDL_CACHE_DIR, KDL_CACHE_SIZE. */
#ifndef KDL_SUPPORT_SYSTEM_CACHE_SETTINGS_H
#define KDL_SUPPORT_SYSTEM_CACHE_SETTINGS_H

#include <kdl/kdl.h>

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum kdl_cache_mode {
  KDL_CACHE_ON,
  KDL_CACHE_READ_ONLY, /* entries are used; none is added, changed or removed */
  KDL_CACHE_OFF,
} kdl_cache_mode;

/* Who uses a folder. */
typedef enum kdl_cache_sharing {
  KDL_CACHE_PRIVATE, /* this user on this machine */
  KDL_CACHE_SHARED,  /* this user on many machines, over a file system that shows changes late */
  KDL_CACHE_LOWER,   /* filled by this user or by root, only read */
} kdl_cache_sharing;

/* One folder. */
typedef struct kdl_cache_settings {
  kdl_cache_mode mode;
  uint64_t limit;     /* bytes that all entries may take */
  char dir[PATH_MAX]; /* absolute */
  kdl_cache_sharing sharing;
} kdl_cache_settings;

#define KDL_CACHE_DEFAULT_LIMIT ((uint64_t)512 << 20)

/* KDL_BAD_CALL for a variable with a bad value; KDL_NO_MATCH where no folder is known: neither
 * KDL_CACHE_DIR, XDG_CACHE_HOME nor HOME is an absolute path. The cache is off in programs that run
 * with more rights than their user. */
kdl_status kdl_cache_settings_read(kdl_cache_settings *out_settings);

enum { KDL_CACHE_MAX_TIERS = 4 };

/* The further folders that KDL_CACHE lists. Their entries have portable keys, which
 * ext/jit/identity.h makes. */
typedef struct kdl_cache_tiers {
  size_t count;
  kdl_cache_settings items[KDL_CACHE_MAX_TIERS];
} kdl_cache_tiers;

/* Fails as kdl_cache_settings_read does. */
kdl_status kdl_cache_tiers_read(kdl_cache_tiers *out_tiers);

/* ------------------------------------------------------------------------------------------ */
/* Folders                                                                                      */

/* A folder of the cache. It is created with mode 0700, and used only where it belongs to the user
 * and no other user may write to it. Links in its path are followed as by
 * support/system/path_resolve.h. Every call opens it again, so that folders may appear and vanish
 * while the process runs. */

/* Files and folders of other users are not used, except for root's in a lower tier. */
bool kdl_cache_owner_is_trusted(kdl_cache_sharing sharing, uid_t owner);

/* Opens the folder; -1 with errno, and the reason recorded: KDL_NO_MATCH where it does not exist.
 */
int kdl_cache_folder_open(const char *path, kdl_cache_sharing sharing);

/* The same, but creates the folder and its parents where they do not exist. */
int kdl_cache_folder_make(const char *path, kdl_cache_sharing sharing);

/* The same for the folder `name` in it, where both are checked; `name` is no link. */
int kdl_cache_subfolder_open(const char *path, const char *name, kdl_cache_sharing sharing);
int kdl_cache_subfolder_make(const char *path, const char *name, kdl_cache_sharing sharing);

#endif
