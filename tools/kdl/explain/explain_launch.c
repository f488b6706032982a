/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Conditions of images (`when`), and --args: the launch for which they are decided. */
#include "lib/inspect/images.h"
#include "lib/inspect/metadata.h"
#include "lib/inspect/selection.h"
#include "support/base/error.h"
#include "tools/common/images/terms.h"
#include "tools/kdl/explain/explain.h"

#include <kdl/launch.h>

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
  kdl_string text;
  kdl_catalog_find(catalog, image, kdl_text_of(query->kernel), &text);
  return text.data && kdl_kernel_parse(text, out_key, NULL);
}

kdl_string cli_image_condition(const cli_query *query, size_t image) {
  kdl_kernel_key key;
  return read_key(query, image, &key) ? kdl_kernel_field_text(&key, KDL_KERNEL_WHEN)
                                      : (kdl_string){NULL, 0};
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

typedef struct {
  unsigned char bytes[most_params][8];
  const void *values[most_params];
} argument_room;

/* The values as arguments; those that are not given are NULL. */
static kdl_args make_args(const cli_launch *launch, const kdl_kernel_key *key,
                          argument_room *room) {
  kdl_param param;
  size_t at = 0, count = 0;
  memset(room->values, 0, sizeof room->values);
  for (; count < most_params && kdl_signature_next(key->sig, &at, &param, NULL); ++count) {
    if (param.kind != KDL_PARAM_INT && param.kind != KDL_PARAM_UINT)
      continue;
    for (size_t i = 0; i < launch->terms.count && param.size <= 8; ++i) {
      if (kdl_kernel_find_param(key, launch->terms.items[i].key) != (long)count)
        continue;
      store_integer(strtoll(launch->terms.items[i].value.data, NULL, 10), param.size,
                    room->bytes[count]);
      room->values[count] = room->bytes[count];
    }
  }
  return (kdl_args){count, room->values, NULL};
}

static const kdl_extent *launch_items(const cli_launch *launch) {
  return launch->has_items ? &launch->items : NULL;
}

/* Whether a launch with these values uses the image. */
static bool is_for_launch(const cli_launch *launch, const kdl_kernel_key *key) {
  argument_room room;
  const kdl_args args = make_args(launch, key, &room);
  return kdl_kernel_is_for_launch(key, launch_items(launch), &args);
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

/* The image that a handle of the policy adaptive selects, as kdl run does. False where the device
 * cannot be opened: nothing is measured there. */
static bool find_measured(const cli_query *query, kdl_device *device, const cli_ranking *ranking,
                          size_t *out_image) {
  kdl_kernel *kernel, *variant;
  kdl_kernel_key key;
  argument_room room;
  kdl_kernel_info info = {.size = sizeof info};
  if (query->opts.policy != KDL_POLICY_ADAPTIVE || !ranking->count || !ranking->items[0].eligible ||
      !read_key(query, ranking->items[0].image, &key) ||
      kdl_sym(query->input->lib, device, query->kernel, &query->opts, &kernel) != KDL_OK)
    return false;
  const kdl_args args = make_args(query->launch, &key, &room);
  if (kdl_kernel_variant(kernel, launch_items(query->launch), &args, &variant) != KDL_OK ||
      kdl_kernel_get(variant, &info) != KDL_OK)
    return false;
  *out_image = info.image;
  return true;
}

kdl_status cli_launch_choose(const cli_query *query, kdl_device *device, cli_ranking *ranking) {
  bool is_found = false;
  size_t measured;
  KDL_TRY(check_names(query, ranking));
  if (find_measured(query, device, ranking, &measured)) {
    for (size_t i = 0; i < ranking->count; ++i)
      ranking->items[i].chosen = ranking->items[i].image == measured;
    return KDL_OK;
  }
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
