/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the environment says of the cache: KDL_CACHE, KDL_CACHE_DIR, KDL_CACHE_SIZE. */
#ifndef KDL_SYSTEM_CACHE_SETTINGS_H
#define KDL_SYSTEM_CACHE_SETTINGS_H

#include <kdl/kdl.h>

#include <limits.h>
#include <stdint.h>

typedef enum kdl_cache_mode {
  KDL_CACHE_ON,
  KDL_CACHE_READ_ONLY, /* entries are used; none is added, changed or removed */
  KDL_CACHE_OFF,
} kdl_cache_mode;

/* Who else uses a folder. */
typedef enum kdl_cache_sharing {
  KDL_CACHE_PRIVATE, /* this user on this machine */
  KDL_CACHE_SHARED,  /* this user on many machines, over a file system that shows changes late */
  KDL_CACHE_LOWER,   /* filled by this user or by root, and only read here */
} kdl_cache_sharing;

/* One folder. */
typedef struct kdl_cache_settings {
  kdl_cache_mode mode;
  uint64_t limit;     /* bytes that the entries may take together */
  char dir[PATH_MAX]; /* absolute */
  kdl_cache_sharing sharing;
} kdl_cache_settings;

#define KDL_CACHE_DEFAULT_LIMIT ((uint64_t)512 << 20)

/* KDL_BAD_CALL where a variable cannot be read; KDL_NO_MATCH where the cache has no place: neither
 * KDL_CACHE_DIR, XDG_CACHE_HOME nor HOME is an absolute path. In programs that run with more rights
 * than their user the cache is off. */
kdl_status kdl_cache_settings_read(kdl_cache_settings *out_settings);

enum { KDL_CACHE_MAX_TIERS = 4 };

/* The folders behind that one, as KDL_CACHE lists them: entries there have portable keys, which
 * ext/jit/portable.h makes. */
typedef struct kdl_cache_tiers {
  size_t count;
  kdl_cache_settings items[KDL_CACHE_MAX_TIERS];
} kdl_cache_tiers;

/* Fails as kdl_cache_settings_read does. */
kdl_status kdl_cache_tiers_read(kdl_cache_tiers *out_tiers);

#endif
