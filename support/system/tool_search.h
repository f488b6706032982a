/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds a program, or a file of data, of another project. Every tool is searched in the same order:
 *
 *     KDL_PTXAS=/opt/ptxas       the tool's variable; where it is set, nothing else is tried
 *     $CUDA_HOME/bin/ptxas       folders that the vendor's variables name
 *     ptxas                      the folders of PATH
 *     /usr/local/cuda/bin/ptxas  well-known folders
 *
 * compiler/toolchain has the tools; llvm-spirv is here because libkdl itself searches it.
 */
#ifndef KDL_SUPPORT_SYSTEM_TOOL_SEARCH_H
#define KDL_SUPPORT_SYSTEM_TOOL_SEARCH_H

#include "support/system/variables.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { KDL_TOOL_MAX_PLACES = 9 };

typedef struct kdl_tool_search {
  const char *name;      /* in messages */
  const char *package;   /* Debian's */
  kdl_variable variable; /* a path, a program's name on PATH, or "none", as if it were absent */
  bool is_file;          /* a file to read, which the variable may name by its folder */
  int newest;            /* the first version that "*" in a place stands for; the last is 14 */
  const struct kdl_tool_search *neighbour; /* "../" in a place begins at the folder of this tool */

  /* Tried in this order; ends at NULL. "$CUDA_HOME/..." is left out where that variable is not set,
   * and a place without '/' is a name on PATH. */
  const char *places[KDL_TOOL_MAX_PLACES + 1];
} kdl_tool_search;

extern const kdl_tool_search kdl_tool_llvm_spirv;

/* Called with every path that is tried, the last of which may be the one found. */
typedef struct kdl_tool_watch {
  void (*tried)(void *user, const char *path); /* may be NULL */
  void *user;
  const char *root; /* before places that begin with '/', for tests; NULL: none */
} kdl_tool_watch;

/* False where there is none. */
bool kdl_tool_find(const kdl_tool_search *tool, char out_path[PATH_MAX]);
bool kdl_tool_find_watched(const kdl_tool_search *tool, const kdl_tool_watch *watch,
                           char out_path[PATH_MAX]);

/* A program: `name` if it contains '/', else the first on PATH. Empty parts of PATH are skipped. */
bool kdl_program_find(const char *name, char out_path[PATH_MAX]);

/* "found no ptxas in KDL_PTXAS=/none" or "found no ptxas in KDL_PTXAS, $CUDA_HOME/bin, PATH or
 * /usr/local/cuda/bin (Debian: nvidia-cuda-toolkit)": the places that the search tries. Returns
 * `text`. */
const char *kdl_tool_format_missing(const kdl_tool_search *tool, char *text, size_t size);

#endif
