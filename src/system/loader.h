/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The dynamic loader, kept from being half way through when the process forks: glibc's copy in the
 * child would refuse everything from then on ("Inconsistency detected by ld.so"). */
#ifndef KDL_SYSTEM_LOADER_H
#define KDL_SYSTEM_LOADER_H

#include "system/lock.h"

#include <dlfcn.h>

static inline void *kdl_dlopen(const char *path, int flags) {
  kdl_fork_hold();
  void *library = dlopen(path, flags);
  kdl_fork_release();
  return library;
}

static inline void kdl_dlclose(void *library) {
  kdl_fork_hold();
  dlclose(library);
  kdl_fork_release();
}

#endif
