/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl cache: the linked images on disk. */
#include "ext/adaptive/commands/commands.h"
#include "ext/jit/cache/inspect.h"
#include "ext/jit/commands/commands.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/json.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The value of a line of the link key or the notes; "" where there is none. */
static kdl_string field(kdl_string lines, const char *word) {
  kdl_string value = kdl_text_of("");
  kdl_cache_field(lines, word, 0, &value);
  return value;
}

static void format_time(const struct timespec *when, char out[32]) {
  struct tm parts;
  if (!gmtime_r(&when->tv_sec, &parts) || !strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &parts))
    snprintf(out, 32, "%jd", (intmax_t)when->tv_sec);
}

/* ------------------------------------------------------------------------------------------ */
/* ls                                                                                           */

static const cli_column columns[] = {
    {.title = "KEY"},
    {.title = "KIND", .tint = "32"},
    {.title = "SIZE", .right = true},
    {.title = "USED"},
    {.title = "DEVICE", .shrinks = 2, .tint = "36"},
    {.title = "SOURCE", .shrinks = 1},
};
enum { column_count = sizeof columns / sizeof *columns, key_shown = 12 };

typedef struct {
  cli_table *table;
  bool is_long;
} table_listing;

static void add_lines(cli_table *table, kdl_string lines) {
  for (size_t at = 0; at < lines.length;) {
    const char *line = lines.data + at;
    const char *end = memchr(line, '\n', lines.length - at);
    size_t length = end ? (size_t)(end - line) : lines.length - at;
    cli_table_add_line(table, "", (kdl_string){line, length});
    at += length + 1;
  }
}

static kdl_status add_entry_row(void *user, const kdl_cache_checked_entry *checked) {
  const table_listing *listing = user;
  cli_table *table = listing->table;
  const kdl_cache_entry *entry = checked->entry;
  char used[32];
  format_time(&checked->file->used, used);
  cli_table_add(table, (kdl_string){checked->file->name, key_shown});
  cli_table_add(table, kdl_text_of(entry ? kdl_image_kind_name(entry->kind) : "damaged"));
  cli_table_add_number(table, checked->file->size);
  cli_table_add(table, kdl_text_of(used));
  kdl_string device = entry ? field(entry->link_key, "device") : kdl_text_of("");
  char room[KDL_TEXT_SHORT + 1];
  cli_table_add(table, listing->is_long ? device : kdl_text_short(device, room));
  cli_table_add(table, entry ? field(entry->notes, "source") : kdl_text_of(""));
  if (!entry)
    cli_table_add_line(table, "", kdl_text_of(checked->error));
  if (entry && listing->is_long) {
    add_lines(table, entry->link_key);
    add_lines(table, entry->notes);
  }
  return KDL_OK;
}

static kdl_status print_entry_table(const kdl_cache_settings *settings, bool is_long) {
  table_listing listing = {cli_table_create(columns, column_count), is_long};
  kdl_status status = kdl_cache_check_entries(settings, add_entry_row, &listing);
  if (status == KDL_OK)
    status = cli_table_print(listing.table);
  cli_table_destroy(listing.table);
  return status;
}

static kdl_status add_object(void *user, const kdl_cache_checked_entry *checked) {
  cli_json *json = user;
  const kdl_cache_entry *entry = checked->entry;
  char used[32];
  format_time(&checked->file->used, used);
  cli_json_begin_object(json);
  cli_json_put_bytes(json, "key", (kdl_string){checked->file->name, KDL_DIGEST_TEXT - 1});
  cli_json_put_number(json, "size", checked->file->size);
  cli_json_put_text(json, "used", used);
  if (entry) {
    cli_json_put_text(json, "image_kind", kdl_image_kind_name(entry->kind));
    cli_json_put_bytes(json, "device", field(entry->link_key, "device"));
    cli_json_put_bytes(json, "source", field(entry->notes, "source"));
    cli_json_put_bytes(json, "link_key", entry->link_key);
  } else {
    cli_json_put_text(json, "trouble", checked->error);
  }
  cli_json_end_object(json);
  return KDL_OK;
}

/* The tables of measured times, which ext/adaptive stores next to the entries. */
#if KDL_WITH_ADAPTIVE
#define CHOICES(call) KDL_TRY(call)
#else
#define CHOICES(call)
#endif

static kdl_status run_ls(const kdl_cache_settings *settings, const cli_args *args) {
  if (!cli_args_has(args, "json")) {
    bool is_long = cli_args_has(args, "long");
    KDL_TRY(print_entry_table(settings, is_long));
    CHOICES(cli_choices_list(is_long));
    return KDL_OK;
  }
  cli_json json = {.file = stdout};
  cli_json_begin_array(&json);
  kdl_status status = kdl_cache_check_entries(settings, add_object, &json);
  cli_json_end_array(&json);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* clear and verify                                                                             */

static kdl_status run_clear(const kdl_cache_settings *settings, const cli_args *args) {
  (void)args;
  kdl_cache_totals gone;
  KDL_TRY(kdl_cache_clear(settings, &gone));
  printf("removed %zu entr%s, %" PRIu64 " bytes\n", gone.entries, gone.entries == 1 ? "y" : "ies",
         gone.bytes);
  CHOICES(cli_choices_clear());
  return KDL_OK;
}

typedef struct {
  const char *dir;
  size_t good, bad;
} verification;

static kdl_status verify_one(void *user, const kdl_cache_checked_entry *checked) {
  verification *made = user;
  if (checked->entry) {
    ++made->good;
    return KDL_OK;
  }
  ++made->bad;
  cli_warning("%s/%s: %s", made->dir, checked->file->name, checked->error);
  return KDL_OK;
}

static kdl_status run_verify(const kdl_cache_settings *settings, const cli_args *args) {
  (void)args;
  verification made = {.dir = settings->dir};
  KDL_TRY(kdl_cache_check_entries(settings, verify_one, &made));
  printf("%zu good, %zu damaged\n", made.good, made.bad);
  if (made.bad)
    return kdl_fail(KDL_BAD_FILE, "%s: %zu of %zu entries %s damaged; %s made anew when needed",
                    settings->dir, made.bad, made.good + made.bad, made.bad == 1 ? "is" : "are",
                    made.bad == 1 ? "it is" : "they are");
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* warm, export and import                                                                      */

static kdl_status run_warm(const kdl_cache_settings *settings, const cli_args *args) {
  if (settings->mode != KDL_CACHE_ON && !cli_args_has(args, "into"))
    return kdl_fail(KDL_BAD_CALL,
                    "KDL_CACHE: the cache is not to be written to: use on, or --into=FOLDER");
  return cli_cache_warm(args, args->operands[1]);
}

static kdl_status run_export(const kdl_cache_settings *settings, const cli_args *args) {
  KDL_TRY(cli_cache_export(settings, args->operands[1]));
  CHOICES(cli_choices_export(args->operands[1]));
  return KDL_OK;
}

static kdl_status run_import(const kdl_cache_settings *settings, const cli_args *args) {
  KDL_TRY(cli_cache_import(settings, args->operands[1]));
  CHOICES(cli_choices_import(args->operands[1]));
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

typedef struct {
  const char *name;
  kdl_status (*run)(const kdl_cache_settings *settings, const cli_args *args);
  const char *operand; /* its operand; NULL: none */
} action;

static const action actions[] = {
    {"ls", run_ls, NULL},
    {"stat", cli_cache_stat, NULL},
    {"clear", run_clear, NULL},
    {"verify", run_verify, NULL},
    {"warm", run_warm, "a FILE to link"},
    {"export", run_export, "a FOLDER to write to"},
    {"import", run_import, "a FOLDER that was exported"},
};

static kdl_status check_usage(const action *wanted, const cli_args *args) {
  static const char *const of_warm[] = {"for", "into"};
  if (wanted->operand && args->operand_count < 2)
    return kdl_fail(KDL_BAD_CALL, "%s: missing operand: use %s", wanted->name, wanted->operand);
  if (!wanted->operand && args->operand_count > 1)
    return kdl_fail(KDL_BAD_CALL, "%s: unexpected operand '%s'", wanted->name, args->operands[1]);
  for (size_t i = 0; i < sizeof of_warm / sizeof *of_warm; ++i) {
    if (cli_args_has(args, of_warm[i]) && wanted->run != run_warm)
      return kdl_fail(KDL_BAD_CALL, "--%s is for warm alone", of_warm[i]);
  }
  return KDL_OK;
}

static kdl_status run_action(const cli_args *args) {
  const char *wanted = args->operand_count ? args->operands[0] : "stat";
  kdl_cache_settings settings;
  for (size_t i = 0; i < sizeof actions / sizeof *actions; ++i) {
    if (strcmp(actions[i].name, wanted) != 0)
      continue;
    KDL_TRY(check_usage(&actions[i], args));
    KDL_TRY(kdl_cache_settings_read(&settings));
    return actions[i].run(&settings, args);
  }
  return kdl_fail(KDL_BAD_CALL,
                  "unknown subcommand '%s': use ls, stat, clear, verify, warm, export or import",
                  wanted);
}

int cli_run_cache(const cli_args *args) {
  return cli_report_status(run_action(args));
}
