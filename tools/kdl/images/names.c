/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "images/names.h"

#include "base/array.h"
#include "base/error.h"
#include "image/image.h"
#include "images/kinds.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right) {
  const kdl_string *a = left;
  const kdl_string *b = right;
  int order = memcmp(a->data, b->data, a->length < b->length ? a->length : b->length);
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

static bool append(cli_names *names, kdl_string name) {
  kdl_string *items =
      kdl_array_grow(names->items, names->count, &names->capacity, 16, sizeof *items);
  if (!items)
    return false;
  names->items = items;
  names->items[names->count++] = name;
  return true;
}

bool cli_names_add(cli_names *names, const char *text, size_t length) {
  kdl_string name = {text, length};
  if (cli_names_has(names, name))
    return true;
  kdl_string *copy = kdl_arena_alloc(&names->arena, sizeof *copy);
  if (!copy)
    return false;
  *copy = kdl_arena_string(&names->arena, text, length);
  return copy->data && append(names, *copy) && tsearch(copy, &names->tree, compare);
}

bool cli_names_has(const cli_names *names, kdl_string name) {
  return tfind(&name, &names->tree, compare) != NULL;
}

/* The names lie in the arena. */
static void free_nothing(void *name) {
  (void)name;
}

void cli_names_free(cli_names *names) {
  tdestroy(names->tree, free_nothing);
  free(names->items);
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
