/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/search.h"

#include "base/environment.h"
#include "base/error.h"
#include "target/text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------------------------------ */
/* Who calls                                                                                    */

/* The file that holds the code at an address. The program itself goes by /proc: what dladdr calls
 * it is what it was started as, which may mean another file here, or none; the loader knows it by
 * an empty name. */
static const char *file_of(const void *address) {
  Dl_info info;
  void *found = NULL;
  if (!dladdr1(address, &info, &found, RTLD_DL_LINKMAP) || !found)
    return "/proc/self/exe";
  const char *name = ((const struct link_map *)found)->l_name;
  return name && name[0] ? name : "/proc/self/exe";
}

void kdl_search_folder_of(const void *address, char *out_folder, size_t size) {
  char path[PATH_MAX];
  const char *slash = NULL;
  if (realpath(file_of(address), path))
    slash = strrchr(path, '/');
  snprintf(out_folder, size, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/* ------------------------------------------------------------------------------------------ */
/* Names                                                                                        */

typedef struct {
  const char *name;
  char *found;
  char tried[1024];
  kdl_out out; /* over `tried` */
} hunt;

static bool is_there(const char *path, bool must_be_folder) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode) == must_be_folder;
}

/* Whether a folder has the library, by one of its three names. */
static bool look_in(hunt *hunting, const char *folder, size_t length) {
  static const struct {
    const char *ending;
    bool is_folder;
  } forms[] = {{"", false}, {".offload", false}, {".d", true}};
  if (length == 0)
    return false;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
    char path[PATH_MAX];
    int used = snprintf(path, sizeof path, "%.*s/%s%s", (int)length, folder, hunting->name,
                        forms[i].ending);
    if (used < 0 || (size_t)used >= sizeof path || !is_there(path, forms[i].is_folder))
      continue;
    kdl_debug(KDL_DEBUG_FILES, "%s: found %s", hunting->name, path);
    hunting->found = strdup(path);
    return true;
  }
  kdl_debug(KDL_DEBUG_FILES, "%s: not in %.*s", hunting->name, (int)length, folder);
  kdl_out_format(&hunting->out, "%s%.*s", hunting->out.used ? ", " : "", (int)length, folder);
  return false;
}

static bool look_along(hunt *hunting, const char *list) {
  for (const char *at = list; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
    if (look_in(hunting, at, strcspn(at, ":")))
      return true;
  }
  return false;
}

kdl_status kdl_search(const char *name, const void *caller, char **out_path) {
  if (!name || strchr(name, '/')) {
    *out_path = strdup(name ? name : file_of(caller));
    return *out_path ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "kdl_open: out of memory");
  }
  hunt hunting = {.name = name};
  hunting.out = (kdl_out){hunting.tried, sizeof hunting.tried, 0};
  char beside[PATH_MAX];
  kdl_search_folder_of(caller, beside, sizeof beside);
  const char *list = kdl_environment("KDL_LIBRARY_PATH");
  if (look_along(&hunting, list) || look_in(&hunting, beside, strlen(beside)) ||
      look_in(&hunting, ".", 1)) {
    *out_path = hunting.found;
    return hunting.found ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "kdl_open: out of memory");
  }
  return kdl_fail(KDL_IO,
                  "%s: cannot open: found neither %s, %s.offload nor %s.d in %s; KDL_LIBRARY_PATH "
                  "adds folders",
                  name, name, name, name, hunting.tried);
}

/* ------------------------------------------------------------------------------------------ */
/* Folders                                                                                      */

static int is_library(const struct dirent *entry) {
  static const char ending[] = ".offload";
  size_t length = strlen(entry->d_name);
  return entry->d_name[0] != '.' && length >= sizeof ending &&
         strcmp(entry->d_name + length - (sizeof ending - 1), ending) == 0;
}

/* Not alphasort: the order must not depend on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

void kdl_search_folder_free(char **files, size_t count) {
  for (size_t i = 0; i < count; ++i)
    free(files[i]);
  free(files);
}

kdl_status kdl_search_folder(const char *path, char ***out_files, size_t *out_count) {
  *out_files = NULL;
  *out_count = 0;
  if (!is_there(path, true))
    return KDL_OK;
  struct dirent **entries;
  int found = scandir(path, &entries, is_library, by_name);
  if (found < 0)
    return kdl_fail(KDL_IO, "%s: cannot list: %s", path, strerror(errno));
  size_t count = (size_t)found;
  char **files = calloc(count + 1, sizeof *files);
  bool whole = files != NULL;
  for (size_t i = 0; i < count; ++i) {
    if (whole && asprintf(&files[i], "%s/%s", path, entries[i]->d_name) < 0) {
      files[i] = NULL;
      whole = false;
    }
    free(entries[i]);
  }
  free(entries);
  if (!whole || count == 0) {
    if (files)
      kdl_search_folder_free(files, count);
    return whole ? kdl_fail(KDL_IO, "%s: found a folder without *.offload files", path)
                 : kdl_fail(KDL_NO_MEMORY, "%s: out of memory", path);
  }
  *out_files = files;
  *out_count = count;
  return KDL_OK;
}
