/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A folder of the cache: made with mode 0700, used only where it belongs to the user and no other
 * user may write to it. Every call opens it anew, so that one that vanishes, or appears, is no
 * state of this process. */
#ifndef KDL_SYSTEM_CACHE_FOLDER_H
#define KDL_SYSTEM_CACHE_FOLDER_H

#include "support/system/cache_settings.h"

#include <stdbool.h>
#include <sys/types.h>

/* Files and folders of other users are not used, but of root in a lower tier. */
bool kdl_cache_owner_is_trusted(kdl_cache_sharing sharing, uid_t owner);

/* A descriptor of the folder, or -1 with the reason recorded; KDL_NO_MATCH is recorded where it is
 * not there. */
int kdl_cache_folder_open(const char *path, kdl_cache_sharing sharing);

/* The same, but makes it, and the folders above it, where they are not there. */
int kdl_cache_folder_make(const char *path, kdl_cache_sharing sharing);

#endif
