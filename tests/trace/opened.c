/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* opened FILE LIBKDL...: opens each libkdl, opens the file with it, and closes both before it ends.
 */
#include <kdl/kdl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int use(const char *path, const char *file) {
  void *libkdl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  kdl_status (*open)(const char *, const kdl_open_opts *, kdl_library **);
  void (*close)(kdl_library *);
  kdl_library *lib;
  if (!libkdl) {
    fprintf(stderr, "opened: %s\n", dlerror());
    return 1;
  }
  void *symbol = dlsym(libkdl, "kdl_open");
  memcpy(&open, &symbol, sizeof open);
  symbol = dlsym(libkdl, "kdl_close");
  memcpy(&close, &symbol, sizeof close);
  if (open(file, NULL, &lib) != KDL_OK)
    return 1;
  close(lib);
  return dlclose(libkdl);
}

int main(int argc, char **argv) {
  int failed = argc < 3;
  for (int i = 2; i < argc; ++i)
    failed |= use(argv[i], argv[1]);
  return failed;
}
