/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The settings of the cache in the environment: KDL_CACHE, KDL_CACHE_DIR, KDL_CACHE_SIZE. */
#ifndef KDL_SUPPORT_SYSTEM_CACHE_SETTINGS_H
#define KDL_SUPPORT_SYSTEM_CACHE_SETTINGS_H

#include <kdl/kdl.h>

#include <limits.h>
#include <stdint.h>

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
 * ext/jit/portable.h makes. */
typedef struct kdl_cache_tiers {
  size_t count;
  kdl_cache_settings items[KDL_CACHE_MAX_TIERS];
} kdl_cache_tiers;

/* Fails as kdl_cache_settings_read does. */
kdl_status kdl_cache_tiers_read(kdl_cache_tiers *out_tiers);

#endif
