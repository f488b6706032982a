/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A file with names of kernels, one per line, as `kdl trace --launched` writes it: LIST of
 * `--only=LIST`. Empty lines and lines that begin with '#' do not count. */
#ifndef KDL_TOOLS_COMMON_IMAGES_KERNEL_LIST_H
#define KDL_TOOLS_COMMON_IMAGES_KERNEL_LIST_H

#include "tools/common/input.h"

#include <kdl/kdl.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct cli_listed_kernel {
  kdl_string name;
  atomic_bool is_found;
} cli_listed_kernel;

typedef struct cli_kernel_list {
  const char *path;
  cli_bytes bytes;
  cli_listed_kernel *items; /* sorted by name */
  size_t count;
} cli_kernel_list;

/* KDL_BAD_FILE for a file without a name. The caller frees *out_list, also after a failure. */
kdl_status cli_kernel_list_read(const char *path, cli_kernel_list *out_list);
void cli_kernel_list_free(cli_kernel_list *list);

/* Whether the list has the name, which is then found. Any thread. */
bool cli_kernel_list_find(cli_kernel_list *list, kdl_string name);
bool cli_kernel_list_found_any(const cli_kernel_list *list);

/* Warns of the names that were not found, if there are any: "12 of 40 kernels of LIST are in WHERE:
 * a, b". All of them are named if `all` is set. */
void cli_kernel_list_warn(const cli_kernel_list *list, const char *where, bool all);

#endif
