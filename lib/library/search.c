/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/library/library.h"

#include "lib/container/container.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/loader.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------------------------------ */
/* Names                                                                                        */

typedef struct {
  const char *name;
  char *found;
  char tried[1024];
  kdl_out out; /* over `tried` */
} library_search;

static bool path_exists(const char *path, bool must_be_folder) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode) == must_be_folder;
}

/* Whether a folder has the library, by one of its three names. */
static bool search_one_folder(library_search *state, const char *folder, size_t length) {
  static const struct {
    const char *ending;
    bool is_folder;
  } forms[] = {{"", false}, {".offload", false}, {".d", true}};
  if (length == 0)
    return false;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
    char path[PATH_MAX];
    int used =
        snprintf(path, sizeof path, "%.*s/%s%s", (int)length, folder, state->name, forms[i].ending);
    if (used < 0 || (size_t)used >= sizeof path || !path_exists(path, forms[i].is_folder))
      continue;
    kdl_debug(KDL_DEBUG_FILES, "%s: found %s", state->name, path);
    state->found = strdup(path);
    return true;
  }
  kdl_debug(KDL_DEBUG_FILES, "%s: not in %.*s", state->name, (int)length, folder);
  kdl_out_format(&state->out, "%s%.*s", state->out.used ? ", " : "", (int)length, folder);
  return false;
}

static bool search_folder_list(library_search *state, const char *list) {
  for (const char *at = list; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
    if (search_one_folder(state, at, strcspn(at, ":")))
      return true;
  }
  return false;
}

/* The folder next to libkdl, whose tree may have been moved after installation, and the
 * configured folder. A privileged program trusts only the second: a hard link changes the path
 * of a program. */
void kdl_search_system(bool is_privileged, kdl_search_folders *out_folders) {
  static const char installed[] = KDL_LIBRARY_FOLDER;
  char own[PATH_MAX], folder[PATH_MAX];
  bool is_shared = kdl_loaded_object_folder(installed, folder, sizeof folder);
  out_folders->count = 0;
  if (!is_privileged && folder[0] &&
      snprintf(own, sizeof own, "%s/%s", folder, is_shared ? "kdl" : KDL_LIBRARY_BELOW) <
          (int)sizeof own &&
      realpath(own, out_folders->paths[0]) && strcmp(out_folders->paths[0], installed) != 0)
    ++out_folders->count;
  snprintf(out_folders->paths[out_folders->count++], PATH_MAX, "%s", installed);
}

static bool search_system_folders(library_search *state, bool is_privileged) {
  kdl_search_folders folders;
  bool found = false;
  kdl_search_system(is_privileged, &folders);
  for (size_t i = 0; i < folders.count && !found; ++i)
    found = search_one_folder(state, folders.paths[i], strlen(folders.paths[i]));
  return found;
}

static kdl_status search_no_memory(void) {
  return kdl_fail(KDL_NO_MEMORY, "kdl_open: out of memory");
}

kdl_status kdl_search_check(const char *path) {
  if (path[0] == '/' || !kdl_is_privileged())
    return KDL_OK;
  return kdl_fail(KDL_IO,
                  "%s: cannot open: found a relative path in a program that runs with more rights "
                  "than its user, expected an absolute one or the name of an installed library",
                  path);
}

kdl_status kdl_search(const char *name, const void *caller, char **out_path) {
  bool is_privileged = kdl_is_privileged();
  if (strchr(name, '/')) {
    kdl_status status = kdl_search_check(name);
    if (status != KDL_OK)
      return status;
    *out_path = strdup(name);
    return *out_path ? KDL_OK : search_no_memory();
  }
  library_search state = {.name = name};
  state.out = (kdl_out){state.tried, sizeof state.tried, 0};
  char caller_folder[PATH_MAX] = "";
  if (!is_privileged)
    kdl_loaded_object_folder(caller, caller_folder, sizeof caller_folder);
  if (search_folder_list(&state, kdl_environment(KDL_VARIABLE_LIBRARY_PATH)) ||
      search_one_folder(&state, caller_folder, strlen(caller_folder)) ||
      search_system_folders(&state, is_privileged)) {
    *out_path = state.found;
    return state.found ? KDL_OK : search_no_memory();
  }
  /* If the current folder has the file, the message suggests "./". */
  bool is_here = !is_privileged && (path_exists(name, false) || path_exists(name, true));
  return kdl_fail(KDL_IO,
                  "%s: cannot open: found neither %s, %s.offload nor %s.d in %s; KDL_LIBRARY_PATH "
                  "adds folders%s%s%s",
                  name, name, name, name, state.tried,
                  is_here ? "; the one in the current folder is './" : "", is_here ? name : "",
                  is_here ? "'" : "");
}

/* ------------------------------------------------------------------------------------------ */
/* Folders                                                                                      */

static int is_library_entry(const struct dirent *entry) {
  static const char ending[] = ".offload";
  size_t length = strlen(entry->d_name);
  return entry->d_name[0] != '.' && length >= sizeof ending &&
         strcmp(entry->d_name + length - (sizeof ending - 1), ending) == 0;
}

/* Not alphasort: the order must not depend on the locale. */
static int compare_entry_names(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

kdl_status kdl_search_folder(const char *path, char ***out_files, size_t *out_count) {
  *out_files = NULL;
  *out_count = 0;
  if (!path_exists(path, true))
    return KDL_OK;
  struct dirent **entries;
  int found = scandir(path, &entries, is_library_entry, compare_entry_names);
  if (found < 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot list: %s", path, strerror(errno));
  size_t count = (size_t)found, size = (count + 1) * sizeof(char *);
  for (size_t i = 0; i < count; ++i)
    size += strlen(path) + strlen(entries[i]->d_name) + 2;
  char **files = malloc(size); /* the array, then the texts */
  char *at = (char *)(files + count + 1);
  for (size_t i = 0; i < count; ++i) {
    if (files) {
      files[i] = at;
      at += sprintf(at, "%s/%s", path, entries[i]->d_name) + 1;
    }
    free(entries[i]);
  }
  free(entries);
  if (!files)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", path);
  if (count == 0) {
    free(files);
    return kdl_fail(KDL_IO, "%s: found a folder without *.offload files", path);
  }
  *out_files = files;
  *out_count = count;
  return KDL_OK;
}

kdl_status kdl_search_open(const char *path, const char *name, kdl_container **out_container) {
  char **files;
  size_t count;
  KDL_TRY(kdl_search_folder(path, &files, &count));
  if (!files)
    return kdl_container_open_file(path, name, out_container);
  kdl_status status = kdl_container_open_files((const char *const *)files, count,
                                               name ? name : path, out_container);
  free(files);
  return status;
}
