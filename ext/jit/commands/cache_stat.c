/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl cache stat: the folders of the cache, the machine's own and those behind it. */
#include "ext/jit/commands/cache.h"

#include "ext/jit/cache/inspect.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const char *const mode_names[] = {
    [KDL_CACHE_ON] = "on", [KDL_CACHE_READ_ONLY] = "ro", [KDL_CACHE_OFF] = "off"};

/* A folder behind the own one. */
typedef struct {
  const kdl_cache_settings *settings;
  bool is_usable; /* else the trouble */
  kdl_cache_totals totals;
  char trouble[512];
} layer;

/* One that cannot be used is no error of the program that has it: it is passed over. */
static void look_at_layer(const kdl_cache_settings *settings, layer *out) {
  *out = (layer){.settings = settings};
  int folder = kdl_cache_folder_open(settings->dir, settings->sharing);
  if (folder >= 0) {
    close(folder);
    out->is_usable = kdl_cache_count(settings, &out->totals) == KDL_OK;
  }
  if (!out->is_usable)
    snprintf(out->trouble, sizeof out->trouble, "%s", kdl_error_message());
}

static void print_layer(const layer *it) {
  printf("%s   %s: ", it->settings->sharing == KDL_CACHE_SHARED ? "shared" : "lower ",
         it->settings->dir);
  if (it->is_usable)
    printf("%zu entr%s, %" PRIu64 " bytes\n", it->totals.entries,
           it->totals.entries == 1 ? "y" : "ies", it->totals.bytes);
  else
    printf("not used: %s\n", it->trouble);
}

static void print_layer_json(cli_json *json, const layer *it) {
  const char *dir = it->settings->dir;
  cli_json_begin_object(json);
  cli_json_put_bytes(json, "folder", kdl_text_of(dir));
  cli_json_put_text(json, "sharing",
                    it->settings->sharing == KDL_CACHE_SHARED ? "shared" : "lower");
  if (it->is_usable) {
    cli_json_put_number(json, "entries", it->totals.entries);
    cli_json_put_number(json, "bytes", it->totals.bytes);
    cli_json_put_number(json, "temporary_files", it->totals.other);
    cli_json_put_number(json, "temporary_bytes", it->totals.other_bytes);
  } else {
    cli_json_put_bytes(json, "trouble", kdl_text_of(it->trouble));
  }
  cli_json_end_object(json);
}

static void print_text(const kdl_cache_settings *settings, const kdl_cache_totals *totals,
                       const kdl_cache_layers *layers) {
  printf("folder   %s\n", settings->dir);
  printf("mode     %s\n", mode_names[settings->mode]);
  printf("entries  %zu\n", totals->entries);
  printf("bytes    %" PRIu64 " of at most %" PRIu64 "\n", totals->bytes, settings->limit);
  for (size_t i = 0; i < layers->count; ++i) {
    layer it;
    look_at_layer(&layers->items[i], &it);
    print_layer(&it);
  }
  if (totals->other)
    printf("other    %zu temporary file%s, %" PRIu64 " bytes\n", totals->other,
           totals->other == 1 ? "" : "s", totals->other_bytes);
}

static void print_json(const kdl_cache_settings *settings, const kdl_cache_totals *totals,
                       const kdl_cache_layers *layers) {
  cli_json json = {.file = stdout};
  cli_json_begin_object(&json);
  cli_json_put_bytes(&json, "folder", kdl_text_of(settings->dir));
  cli_json_put_text(&json, "mode", mode_names[settings->mode]);
  cli_json_put_number(&json, "entries", totals->entries);
  cli_json_put_number(&json, "bytes", totals->bytes);
  cli_json_put_number(&json, "limit", settings->limit);
  cli_json_put_number(&json, "temporary_files", totals->other);
  cli_json_put_number(&json, "temporary_bytes", totals->other_bytes);
  cli_json_put_array(&json, "layers");
  for (size_t i = 0; i < layers->count; ++i) {
    layer it;
    look_at_layer(&layers->items[i], &it);
    print_layer_json(&json, &it);
  }
  cli_json_end_array(&json);
  cli_json_end_object(&json);
}

kdl_status cli_cache_stat(const kdl_cache_settings *settings, const cli_args *args) {
  kdl_cache_totals totals;
  kdl_cache_layers layers;
  KDL_TRY(kdl_cache_count(settings, &totals));
  KDL_TRY(kdl_cache_layers_read(&layers));
  (cli_args_has(args, "json") ? print_json : print_text)(settings, &totals, &layers);
  return KDL_OK;
}
