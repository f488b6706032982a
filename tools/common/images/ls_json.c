/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/ls_json.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"

#include <stdlib.h>
#include <string.h>

static int compare_pairs(const void *left, const void *right) {
  const kdl_pair *const *a = left;
  const kdl_pair *const *b = right;
  int order = kdl_text_compare((*a)->key, (*b)->key);
  return order ? order : (*a > *b) - (*a < *b);
}

/* Flags the last pair of each key: a JSON object can hold only one, and LLVM too uses the last. */
static bool *find_last_of_each(const kdl_pair *pairs, size_t count) {
  bool *last = xcalloc(count, sizeof *last);
  const kdl_pair **sorted = xcalloc(count, sizeof *sorted);
  for (size_t i = 0; i < count; ++i)
    sorted[i] = &pairs[i];
  qsort(sorted, count, sizeof *sorted, compare_pairs);
  for (size_t i = 0; i < count; ++i) {
    bool repeated = i + 1 < count && kdl_text_equal(sorted[i]->key, sorted[i + 1]->key);
    last[sorted[i] - pairs] = !repeated;
  }
  free(sorted);
  return last;
}

static void put_metadata(cli_json *json, const kdl_image_info *image) {
  bool *last = find_last_of_each(image->pairs, image->pair_count);
  cli_json_put_object(json, "metadata");
  for (size_t i = 0; i < image->pair_count; ++i) {
    if (!last[i])
      continue;
    cli_json_key_bytes(json, image->pairs[i].key);
    cli_json_bytes(json, image->pairs[i].value);
  }
  cli_json_end_object(json);
  free(last);
}

typedef struct {
  cli_json *json;
  cli_demangler *demangler; /* NULL: as in the file */
} names;

static int put_kernel_name(void *user, const kdl_string *name) {
  const names *to = user;
  cli_json_bytes(to->json, cli_demangle(to->demangler, *name));
  return 0;
}

/* Running out of memory ends the listing; it is not the file's fault. */
static kdl_status put_kernels(cli_json *json, kdl_library *lib, const kdl_image_info *image,
                              cli_demangler *demangler) {
  cli_json_put_array(json, "kernels");
  kdl_status status = kdl_image_kernels(lib, image->index, put_kernel_name, &(names){json, NULL});
  cli_json_end_array(json);
  if (status == KDL_OK && demangler) {
    cli_json_put_array(json, "demangled");
    status = kdl_image_kernels(lib, image->index, put_kernel_name, &(names){json, demangler});
    cli_json_end_array(json);
  }
  bool holds_some = !cli_image_kind_is_container(image->kind) && image->kind != KDL_IMAGE_SEQUENCE;
  if (status != KDL_OK && holds_some)
    cli_json_put_text(json, "kernels_error", kdl_error_message());
  return status == KDL_NO_MEMORY ? status : KDL_OK;
}

typedef struct {
  cli_json *json;
  const cli_resources *resources;
  size_t image;
} resource_writer;

static int put_kernel_resources(void *user, const kdl_string *kernel,
                                const kdl_kernel_resources *uses) {
  const resource_writer *to = user;
  cli_json_begin_object(to->json);
  cli_json_put_bytes(to->json, "kernel", *kernel);
  cli_resources_json(to->json, to->resources, to->image, uses);
  cli_json_end_object(to->json);
  return 0;
}

static kdl_status put_resources(cli_json *json, kdl_library *lib, const kdl_image_info *image,
                                const cli_resources *resources) {
  if (cli_image_kind_is_container(image->kind) || image->kind == KDL_IMAGE_SEQUENCE)
    return KDL_OK;
  cli_json_put_array(json, "resources");
  kdl_status status = kdl_image_resources(lib, image->index, put_kernel_resources,
                                          &(resource_writer){json, resources, image->index});
  cli_json_end_array(json);
  if (status != KDL_OK)
    cli_json_put_text(json, "resources_error", kdl_error_message());
  return status == KDL_NO_MEMORY ? status : KDL_OK;
}

static kdl_status put_listed_image(cli_json *json, kdl_library *lib, size_t index,
                                   const cli_ls_details *details) {
  kdl_image_info image = cli_image_at(lib, index);
  char room[CLI_KIND_ROOM];
  cli_json_begin_object(json);
  cli_json_put_number(json, "index", image.index);
  cli_json_put_known(json, "parent", image.parent != KDL_NO_PARENT, image.parent);
  cli_json_put_number(json, "module", image.module);
  if (image.problem.length)
    cli_json_put_bytes(json, "problem", image.problem);
  cli_json_put_text(json, "image_kind", kdl_image_kind_name(image.kind));
  cli_json_put_number(json, "declared_kind", image.declared_kind);
  cli_json_put_text(json, "offload_kind", cli_offload_kind_name(image.offload_kind, room));
  cli_json_put_number(json, "flags", image.flags);
  cli_json_put_bytes(json, "triple", image.triple);
  cli_json_put_bytes(json, "arch", image.arch);
  cli_json_put_number(json, "size", image.byte_count);
  cli_json_put_number(json, "stored_size", image.stored_count);
  cli_json_put_number(json, "offset", image.header_offset);
  cli_json_put_bytes(json, "container", image.container);
  put_metadata(json, &image);
  kdl_status status = KDL_OK;
  if (details->kernels)
    status = put_kernels(json, lib, &image, details->demangler);
  if (status == KDL_OK && details->resources)
    status = put_resources(json, lib, &image, details->resources);
  cli_json_end_object(json);
  return status;
}

kdl_status cli_ls_json_file(cli_json *json, const char *path, kdl_library *lib,
                            const cli_ls_details *details) {
  kdl_status status = KDL_OK;
  cli_json_begin_object(json);
  cli_json_put_text(json, "file", path);
  cli_json_put_array(json, "images");
  for (size_t i = 0; i < kdl_image_count(lib) && status == KDL_OK; ++i)
    status = put_listed_image(json, lib, i, details);
  cli_json_end_array(json);
  cli_json_end_object(json);
  return status;
}

void cli_ls_json_error(cli_json *json, const char *path, const char *message) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "file", path);
  cli_json_put_text(json, "error", message);
  cli_json_end_object(json);
}
