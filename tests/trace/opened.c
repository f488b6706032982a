/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* opened LIBKDL FILE: opens libkdl, opens a file with it, and closes both before it ends. */
#include <kdl/kdl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  void *libkdl = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
  kdl_status (*open)(const char *, const kdl_open_opts *, kdl_library **);
  void (*close)(kdl_library *);
  kdl_library *lib;
  if (!libkdl)
    return 2;
  void *symbol = dlsym(libkdl, "kdl_open");
  memcpy(&open, &symbol, sizeof open);
  symbol = dlsym(libkdl, "kdl_close");
  memcpy(&close, &symbol, sizeof close);
  if (open(argv[2], NULL, &lib) != KDL_OK)
    return 1;
  close(lib);
  return dlclose(libkdl);
}
