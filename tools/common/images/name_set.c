/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/name_set.h"

#include "lib/inspect/images.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *left, const void *right) {
  return kdl_text_compare(*(const kdl_string *)left, *(const kdl_string *)right);
}

void cli_name_set_add(cli_name_set *names, const char *text, size_t length) {
  if (cli_name_set_has(names, (kdl_string){text, length}))
    return;
  kdl_string *copy = xarena_alloc(&names->arena, sizeof *copy);
  *copy = xarena_string(&names->arena, text, length);
  names->items = xgrow(names->items, names->count, &names->capacity, 16, sizeof *names->items);
  names->items[names->count++] = *copy;
  cli_check_alloc(tsearch(copy, &names->tree, compare_names));
}

bool cli_name_set_has(const cli_name_set *names, kdl_string name) {
  return tfind(&name, &names->tree, compare_names) != NULL;
}

/* The names are in the arena. */
static void free_nothing(void *name) {
  (void)name;
}

void cli_name_set_free(cli_name_set *names) {
  tdestroy(names->tree, free_nothing);
  free(names->items);
  kdl_arena_free(&names->arena);
  *names = (cli_name_set){.count = 0};
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

static int collect_name(void *names, const char *name, size_t length) {
  cli_name_set_add(names, name, length);
  return 0;
}

static int collect_string(void *names, const kdl_string *name) {
  cli_name_set_add(names, name->data, name->length);
  return 0;
}

/* A container has the kernels of its images. Fails if one of them does not list its kernels: an
 * index with gaps would hide kernels. */
static kdl_status read_nested(const void *data, size_t size, cli_name_set *names) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = "nested images"};
  KDL_TRY(kdl_open_memory(data, size, &opts, &lib));
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < kdl_image_count(lib) && status == KDL_OK; ++i) {
    if (!cli_image_kind_is_container(cli_image_at(lib, i).kind))
      status = kdl_image_kernels(lib, i, collect_string, names);
  }
  kdl_close(lib);
  return status;
}

kdl_status cli_name_set_read_kernels(kdl_image_kind known, const void *data, size_t size,
                                     cli_name_set *out_names) {
  *out_names = (cli_name_set){.count = 0};
  kdl_image_kind kind = cli_image_kind_seen(known, data, size);
  kdl_status status = cli_image_kind_is_container(kind)
                          ? read_nested(data, size, out_names)
                          : kdl_image_read_kernels(kind, data, size, collect_name, out_names);
  if (status != KDL_OK)
    cli_name_set_free(out_names);
  return status;
}
