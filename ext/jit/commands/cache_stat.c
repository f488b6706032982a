/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl cache stat: the machine's own folder and the cache tiers. */
#include "ext/jit/commands/commands.h"

#include "ext/jit/cache/inspect.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/json.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const char *const mode_names[] = {
    [KDL_CACHE_ON] = "on", [KDL_CACHE_READ_ONLY] = "ro", [KDL_CACHE_OFF] = "off"};

/* A cache tier. */
typedef struct {
  const kdl_cache_settings *settings;
  bool is_usable; /* else `error` has the reason */
  kdl_cache_totals totals;
  char error[512];
} tier;

/* An unusable tier is not an error: programs skip it. */
static void inspect_tier(const kdl_cache_settings *settings, tier *out) {
  *out = (tier){.settings = settings};
  int folder = kdl_cache_folder_open(settings->dir, settings->sharing);
  if (folder >= 0) {
    close(folder);
    out->is_usable = kdl_cache_count(settings, &out->totals) == KDL_OK;
  }
  if (!out->is_usable)
    snprintf(out->error, sizeof out->error, "%s", kdl_error_message());
}

static void print_tier(const tier *it) {
  cli_text_printf(stdout,
                  "%s   %s: ", it->settings->sharing == KDL_CACHE_SHARED ? "shared" : "lower ",
                  it->settings->dir);
  if (it->is_usable)
    printf("%zu entr%s, %" PRIu64 " bytes\n", it->totals.entries,
           it->totals.entries == 1 ? "y" : "ies", it->totals.bytes);
  else
    cli_text_printf(stdout, "not used: %s\n", it->error);
}

static void print_tier_json(cli_json *json, const tier *it) {
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
    cli_json_put_bytes(json, "trouble", kdl_text_of(it->error));
  }
  cli_json_end_object(json);
}

static void print_stat_text(const kdl_cache_settings *settings, const kdl_cache_totals *totals,
                            const kdl_cache_tiers *tiers) {
  cli_text_printf(stdout, "folder   %s\n", settings->dir);
  printf("mode     %s\n", mode_names[settings->mode]);
  printf("entries  %zu\n", totals->entries);
  printf("bytes    %" PRIu64 " of at most %" PRIu64 "\n", totals->bytes, settings->limit);
  for (size_t i = 0; i < tiers->count; ++i) {
    tier it;
    inspect_tier(&tiers->items[i], &it);
    print_tier(&it);
  }
  if (totals->other)
    printf("other    %zu temporary file%s, %" PRIu64 " bytes\n", totals->other,
           totals->other == 1 ? "" : "s", totals->other_bytes);
}

static void print_stat_json(const kdl_cache_settings *settings, const kdl_cache_totals *totals,
                            const kdl_cache_tiers *tiers) {
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
  for (size_t i = 0; i < tiers->count; ++i) {
    tier it;
    inspect_tier(&tiers->items[i], &it);
    print_tier_json(&json, &it);
  }
  cli_json_end_array(&json);
  cli_json_end_object(&json);
}

kdl_status cli_cache_stat(const kdl_cache_settings *settings, const cli_args *args) {
  kdl_cache_totals totals;
  kdl_cache_tiers tiers;
  KDL_TRY(kdl_cache_count(settings, &totals));
  KDL_TRY(kdl_cache_tiers_read(&tiers));
  (cli_args_has(args, "json") ? print_stat_json : print_stat_text)(settings, &totals, &tiers);
  return KDL_OK;
}
