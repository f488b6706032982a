/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A folder of the cache. It is created with mode 0700, and used only where it belongs to the user
 * and no other user may write to it. Links in its path are followed as by
 * support/system/path_resolve.h. Every call opens it again, so that folders may appear and vanish
 * while the process runs. */
#ifndef KDL_SUPPORT_SYSTEM_CACHE_FOLDER_H
#define KDL_SUPPORT_SYSTEM_CACHE_FOLDER_H

#include "support/system/cache_settings.h"

#include <stdbool.h>
#include <sys/types.h>

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
