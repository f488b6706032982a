/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The dlsym of the C library, for libraries that are loaded before a program and have their own. */
#ifndef KDL_TESTS_REAL_DLSYM_H
#define KDL_TESTS_REAL_DLSYM_H

#include <dlfcn.h>
#include <string.h>

typedef void *lookup(void *handle, const char *name);

static inline lookup *real_dlsym(void) {
  static lookup *found;
  if (!found) {
    void *symbol = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    symbol = symbol ? symbol : dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    memcpy(&found, &symbol, sizeof found);
  }
  return found;
}

#endif
