/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Conditions of images (`when`), and --args: the launch for which they are decided. */
#include "lib/inspect/catalog.h"
#include "lib/inspect/conditions.h"
#include "lib/inspect/images.h"
#include "lib/inspect/metadata.h"
#include "support/base/error.h"
#include "tools/common/images/terms.h"
#include "tools/kdl/explain/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char grammar[] =
    "NAME=NUMBER,NAME=NUMBER, with names of parameters or items.x, items.y, items.z";

/* The parsed key of the kernel in an image; false where it has none. */
static bool read_key(const cli_query *query, size_t image, kdl_kernel_key *out_key) {
  kdl_catalog *catalog;
  if (!query->kernel || kdl_library_catalog(query->input->lib, &catalog) != KDL_OK)
    return false;
  kdl_string text = kdl_catalog_kernel_key(catalog, image, kdl_text_of(query->kernel));
  return text.data && kdl_kernel_parse(text, out_key, NULL);
}

kdl_string cli_image_condition(const cli_query *query, size_t image) {
  kdl_kernel_key key;
  return read_key(query, image, &key) ? kdl_kernel_condition(&key) : (kdl_string){NULL, 0};
}

/* ------------------------------------------------------------------------------------------ */
/* --args                                                                                       */

static uint64_t *items_axis(kdl_extent *items, kdl_string name) {
  return kdl_text_is(name, "items.x")   ? &items->x
         : kdl_text_is(name, "items.y") ? &items->y
         : kdl_text_is(name, "items.z") ? &items->z
                                        : NULL;
}

kdl_status cli_launch_parse(const char *text, cli_launch *out_launch) {
  *out_launch = (cli_launch){.text = text, .items = {1, 1, 1}};
  KDL_TRY(cli_terms_parse("args", grammar, text, &out_launch->terms));
  for (size_t i = 0; i < out_launch->terms.count; ++i) {
    const cli_term *term = &out_launch->terms.items[i];
    char *end;
    errno = 0;
    int64_t value = strtoll(term->value.data, &end, 10);
    uint64_t *axis = items_axis(&out_launch->items, term->key);
    if (errno || !term->value.length || *end || (axis && value < 0))
      return cli_terms_fail(&out_launch->terms, term->position + term->key.length + 1,
                            "expected a number");
    out_launch->has_items |= axis != NULL;
    if (axis)
      *axis = (uint64_t)value;
  }
  return KDL_OK;
}

void cli_launch_free(cli_launch *launch) {
  cli_terms_free(&launch->terms);
}

/* The value as an argument of that size, in `out_bytes`. */
static void store_integer(int64_t value, uint32_t size, unsigned char out_bytes[8]) {
  const int8_t one = (int8_t)value;
  const int16_t two = (int16_t)value;
  const int32_t four = (int32_t)value;
  const void *from = size == 1 ? (const void *)&one : size == 2 ? (const void *)&two : &four;
  memcpy(out_bytes, size == 8 ? (const void *)&value : from, size);
}

enum { most_params = 256 };

/* Whether a launch with these values uses the image. */
static bool is_for_launch(const cli_launch *launch, const kdl_kernel_key *key) {
  unsigned char bytes[most_params][8];
  const void *values[most_params];
  kdl_param param;
  size_t at = 0, count = 0;
  memset(values, 0, sizeof values);
  for (; count < most_params && kdl_signature_next(key->sig, &at, &param, NULL); ++count) {
    if (param.kind != KDL_PARAM_INT && param.kind != KDL_PARAM_UINT)
      continue;
    for (size_t i = 0; i < launch->terms.count && param.size <= 8; ++i) {
      if (kdl_kernel_find_param(key, launch->terms.items[i].key) != (long)count)
        continue;
      store_integer(strtoll(launch->terms.items[i].value.data, NULL, 10), param.size, bytes[count]);
      values[count] = bytes[count];
    }
  }
  const kdl_args args = {count, values, NULL};
  return kdl_kernel_is_for_launch(key, launch->has_items ? &launch->items : NULL, &args);
}

/* A name that no image has is a mistake. */
static kdl_status check_names(const cli_query *query, const cli_ranking *ranking) {
  cli_launch *launch = query->launch;
  for (size_t i = 0; i < launch->terms.count; ++i) {
    const cli_term *term = &launch->terms.items[i];
    bool is_known = items_axis(&launch->items, term->key) != NULL;
    for (size_t k = 0; k < ranking->count && !is_known; ++k) {
      kdl_kernel_key key;
      is_known = read_key(query, ranking->items[k].image, &key) &&
                 kdl_kernel_find_param(&key, term->key) >= 0;
    }
    if (!is_known)
      return cli_terms_fail(&launch->terms, term->position,
                            "no image of %s has a parameter with that name", query->kernel);
  }
  return KDL_OK;
}

kdl_status cli_launch_choose(const cli_query *query, cli_ranking *ranking) {
  bool is_found = false;
  KDL_TRY(check_names(query, ranking));
  for (size_t i = 0; i < ranking->count; ++i) {
    kdl_verdict *verdict = &ranking->items[i];
    kdl_kernel_key key;
    verdict->chosen =
        verdict->eligible && !is_found &&
        (!read_key(query, verdict->image, &key) || is_for_launch(query->launch, &key));
    is_found |= verdict->chosen;
  }
  return KDL_OK;
}
