/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "names.h"

#include "base/error.h"
#include "image/image.h"
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

static int compare(kdl_string a, kdl_string b) {
  int order = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);
  return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* Where a name is in the sorted order, or would be. */
static size_t find(const cli_names *names, kdl_string name, bool *out_found) {
  size_t low = 0;
  size_t high = names->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare(names->items[names->sorted[middle]], name);
    if (order == 0) {
      *out_found = true;
      return middle;
    }
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  *out_found = false;
  return low;
}

static bool reserve(cli_names *names) {
  if (names->count < names->capacity)
    return true;
  size_t capacity = names->capacity ? names->capacity * 2 : 16;
  kdl_string *items = realloc(names->items, capacity * sizeof *items);
  if (items)
    names->items = items;
  size_t *sorted = realloc(names->sorted, capacity * sizeof *sorted);
  if (sorted)
    names->sorted = sorted;
  if (!items || !sorted)
    return false;
  names->capacity = capacity;
  return true;
}

bool cli_names_add(cli_names *names, const char *text, size_t length) {
  bool found;
  size_t at = find(names, (kdl_string){text, length}, &found);
  if (found)
    return true;
  kdl_string copy = kdl_arena_string(&names->arena, text, length);
  if (!copy.data || !reserve(names))
    return false;
  memmove(names->sorted + at + 1, names->sorted + at, (names->count - at) * sizeof *names->sorted);
  names->sorted[at] = names->count;
  names->items[names->count++] = copy;
  return true;
}

bool cli_names_has(const cli_names *names, kdl_string name) {
  bool found;
  find(names, name, &found);
  return found;
}

void cli_names_free(cli_names *names) {
  free(names->items);
  free(names->sorted);
  kdl_arena_free(&names->arena);
  *names = (cli_names){.count = 0};
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

typedef struct {
  cli_names *names;
  bool out_of_memory;
} collector;

static int collect(void *user, const char *name, size_t length) {
  collector *kernels = user;
  kernels->out_of_memory = !cli_names_add(kernels->names, name, length);
  return kernels->out_of_memory;
}

static int collect_string(void *user, const kdl_string *name) {
  return collect(user, name->data, name->length);
}

/* An image that is a container has what the images in it have. If one of them does not tell, the
 * list would have gaps, and an index made from it would hide kernels. */
static kdl_status read_nested(const void *data, size_t size, collector *kernels) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = "nested images"};
  kdl_status status = kdl_open_memory(data, size, &opts, &lib);
  if (status != KDL_OK)
    return status;
  for (size_t i = 0; i < kdl_image_count(lib) && status == KDL_OK; ++i) {
    kdl_image_info image = {.size = sizeof image};
    status = kdl_image_get(lib, i, &image);
    if (status == KDL_OK && !cli_image_kind_is_container(image.kind))
      status = kdl_image_kernels(lib, i, collect_string, kernels);
  }
  kdl_close(lib);
  return status;
}

kdl_status cli_names_read_kernels(kdl_image_kind known, const void *data, size_t size,
                                  cli_names *out_names) {
  *out_names = (cli_names){.count = 0};
  collector kernels = {.names = out_names};
  kdl_image_kind kind = cli_image_kind_seen(known, data, size);
  kdl_status status = cli_image_kind_is_container(kind)
                          ? read_nested(data, size, &kernels)
                          : kdl_image_read_kernels(kind, data, size, collect, &kernels);
  if (status == KDL_OK && kernels.out_of_memory)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for %zu kernel names", out_names->count);
  if (status != KDL_OK)
    cli_names_free(out_names);
  return status;
}
