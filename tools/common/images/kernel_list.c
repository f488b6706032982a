/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/kernel_list.h"

#include "support/base/error.h"
#include "tools/common/memory.h"
#include "tools/common/report.h"

#include <stdlib.h>
#include <string.h>

enum { most_shown = 8 };

static int compare_names(const void *left, const void *right) {
  kdl_string a = ((const cli_listed_kernel *)left)->name;
  kdl_string b = ((const cli_listed_kernel *)right)->name;
  int order = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);
  return order ? order : (a.length > b.length) - (a.length < b.length);
}

static void add_line(cli_kernel_list *list, size_t *capacity, const char *line, size_t length) {
  while (length && (line[length - 1] == '\r' || line[length - 1] == ' '))
    --length;
  if (!length || line[0] == '#')
    return;
  list->items = xgrow(list->items, list->count, capacity, 64, sizeof *list->items);
  list->items[list->count++] = (cli_listed_kernel){.name = {line, length}};
}

kdl_status cli_kernel_list_read(const char *path, cli_kernel_list *out_list) {
  *out_list = (cli_kernel_list){.path = path};
  KDL_TRY(cli_bytes_read(path, &out_list->bytes));
  const char *text = out_list->bytes.data;
  size_t size = out_list->bytes.size, capacity = 0;
  for (size_t at = 0, length; at < size; at += length + 1) {
    const char *end = memchr(text + at, '\n', size - at);
    length = end ? (size_t)(end - (text + at)) : size - at;
    add_line(out_list, &capacity, text + at, length);
  }
  if (!out_list->count)
    return kdl_fail(KDL_BAD_FILE, "%s: found no name, expected names of kernels, one per line",
                    path);
  qsort(out_list->items, out_list->count, sizeof *out_list->items, compare_names);
  size_t kept = 1;
  for (size_t i = 1; i < out_list->count; ++i) {
    if (compare_names(&out_list->items[i], &out_list->items[kept - 1]) != 0)
      out_list->items[kept++].name = out_list->items[i].name;
  }
  out_list->count = kept;
  return KDL_OK;
}

void cli_kernel_list_free(cli_kernel_list *list) {
  free(list->items);
  cli_bytes_free(&list->bytes);
}

bool cli_kernel_list_find(cli_kernel_list *list, kdl_string name) {
  const cli_listed_kernel key = {.name = name};
  cli_listed_kernel *found =
      bsearch(&key, list->items, list->count, sizeof *list->items, compare_names);
  if (found)
    atomic_store_explicit(&found->is_found, true, memory_order_relaxed);
  return found != NULL;
}

static size_t count_found(const cli_kernel_list *list) {
  size_t count = 0;
  for (size_t i = 0; i < list->count; ++i)
    count += atomic_load_explicit(&list->items[i].is_found, memory_order_relaxed);
  return count;
}

bool cli_kernel_list_found_any(const cli_kernel_list *list) {
  return count_found(list) != 0;
}

void cli_kernel_list_warn(const cli_kernel_list *list, const char *where, bool all) {
  size_t missing = list->count - count_found(list), shown = 0, size;
  if (!missing)
    return;
  char *names;
  FILE *out = xtext_stream(&names, &size);
  for (size_t i = 0; i < list->count && (all || shown < most_shown); ++i) {
    kdl_string name = list->items[i].name;
    if (!list->items[i].is_found)
      fprintf(out, "%s%.*s", shown++ ? ", " : "", (int)name.length, name.data);
  }
  if (shown < missing)
    fprintf(out, " and %zu more", missing - shown);
  xtext_close(out);
  cli_warning("%zu of %zu kernels of %s are in %s: %s", missing, list->count, list->path, where,
              names);
  free(names);
}
