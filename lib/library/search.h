/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where kdl_open looks; the rules are in <kdl/kdl.h>. */
#ifndef KDL_LIBRARY_SEARCH_H
#define KDL_LIBRARY_SEARCH_H

#include "lib/container/container.h"

#include <kdl/kdl.h>

#include <limits.h>
#include <stdbool.h>

/* The file or folder that `name` means to the code at address `caller`. The caller frees *out_path.
 * KDL_IO, with every place that was tried, where there is none. */
kdl_status kdl_search(const char *name, const void *caller, char **out_path);

/* Refuses a relative path in a program that runs with more rights than its user. */
kdl_status kdl_search_check(const char *path);

/* The folders of the libraries that come with libkdl; fewer for a program that is privileged. */
typedef struct kdl_search_folders {
  size_t count;
  char paths[2][PATH_MAX];
} kdl_search_folders;

void kdl_search_system(bool is_privileged, kdl_search_folders *out_folders);

/* The *.offload files of a folder, sorted by name; *out_files is NULL where `path` is no folder, or
 * is not there. KDL_IO for a folder without any. */
kdl_status kdl_search_folder(const char *path, char ***out_files, size_t *out_count);
void kdl_search_folder_free(char **files, size_t count);

/* Opens a file, or all of a folder as one library; `name` is for messages, NULL: the path. */
kdl_status kdl_search_open(const char *path, const char *name, kdl_container **out_container);

#endif
