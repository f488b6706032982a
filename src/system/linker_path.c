/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "system/linker_path.h"

#include "system/environment.h"
#include "system/loaded_object.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path) {
  struct stat info;
  return access(path, X_OK) == 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool try_place(const char *root, const char *below, char out_path[PATH_MAX]) {
  int used = snprintf(out_path, PATH_MAX, "%s%s/kdl-ld", root, below);
  return used > 0 && used < PATH_MAX && is_program(out_path);
}

/* The folder of libkdl, or of the program it is part of. */
static pthread_once_t folder_once = PTHREAD_ONCE_INIT;
static char folder[PATH_MAX];

static void find_folder(void) {
  kdl_loaded_object_folder(folder, folder, sizeof folder);
}

bool kdl_linker_path(char out_path[PATH_MAX]) {
  const char *given = kdl_environment("KDL_LD");
  if (kdl_is_privileged())
    return false;
  if (given)
    return snprintf(out_path, PATH_MAX, "%s", given) < PATH_MAX && is_program(out_path);
  pthread_once(&folder_once, find_folder);
  static const char *const below[] = {"", "/../bin",
                                      "/../../bin"}; /* the last from LIB/MULTIARCH */
  for (size_t i = 0; folder[0] && i < sizeof below / sizeof *below; ++i) {
    if (try_place(folder, below[i], out_path))
      return true;
  }
  return try_place(KDL_LD_FOLDER, "", out_path);
}
