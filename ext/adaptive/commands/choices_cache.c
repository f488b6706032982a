/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl cache: the tables of measured times. */
#include "ext/adaptive/commands/commands.h"
#include "ext/adaptive/model.h"
#include "support/base/error.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int list_table(void *user, const char *name, kdl_string text) {
  const bool *is_long = user;
  kdl_model model;
  uint64_t trials = 0;
  size_t classes = 0;
  kdl_model_parse(text, &model);
  for (size_t i = 0; i < model.count; ++i) {
    classes += model.classes[i].unit != 0;
    for (size_t k = 0; k < model.classes[i].count; ++k)
      trials += model.classes[i].variants[k].count;
  }
  kdl_string identity = model.identity.data ? model.identity : kdl_text_of("(no header)");
  char room[2048];
  if (!*is_long)
    identity = cli_text_short_words(identity, room, sizeof room);
  cli_text_printf(stdout, "%.12s  times   %zu classes, %" PRIu64 " trials, %zu bytes%s  %.*s\n",
                  name, classes, trials, text.length, model.damaged ? ", damaged lines" : "",
                  (int)identity.length, identity.data);
  kdl_model_free(&model);
  return 0;
}

kdl_status cli_choices_list(bool is_long) {
  kdl_cache_settings own;
  KDL_TRY(kdl_table_settings(&own));
  return kdl_table_each(&own, list_table, &is_long);
}

kdl_status cli_choices_clear(void) {
  size_t files;
  uint64_t bytes;
  KDL_TRY(kdl_table_clear(&files, &bytes));
  if (files)
    printf("removed %zu table%s of measured times, %" PRIu64 " bytes\n", files,
           files == 1 ? "" : "s", bytes);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* export and import                                                                            */

typedef struct {
  kdl_cache_settings to;
  size_t count;
  kdl_status status;
} transfer;

/* A folder given on the command line. */
static kdl_status folder_settings(const char *folder, kdl_cache_sharing sharing,
                                  kdl_cache_settings *out_settings) {
  *out_settings = (kdl_cache_settings){.mode = KDL_CACHE_ON, .sharing = sharing};
  if (snprintf(out_settings->dir, sizeof out_settings->dir, "%s", folder) >= PATH_MAX)
    return kdl_fail(KDL_BAD_CALL, "%.60s...: the path is too long", folder);
  return KDL_OK;
}

static int export_table(void *user, const char *name, kdl_string text) {
  transfer *job = user;
  kdl_model model;
  size_t header_size = 0, size = 0;
  kdl_model_parse(text, &model);
  char *header = model.identity.data ? kdl_table_header(model.identity, &header_size) : NULL;
  char *lines = kdl_model_print(&model, &size);
  char *all = header && lines ? realloc(header, header_size + size) : NULL;
  if (all) {
    memcpy(all + header_size, lines, size);
    job->status = kdl_table_save(&job->to, name, all, header_size + size);
    job->count += job->status == KDL_OK;
  }
  free(all ? all : header);
  free(lines);
  kdl_model_free(&model);
  return job->status != KDL_OK;
}

kdl_status cli_choices_export(const char *folder) {
  kdl_cache_settings own;
  transfer job = {.count = 0};
  KDL_TRY(kdl_table_settings(&own));
  KDL_TRY(folder_settings(folder, KDL_CACHE_SHARED, &job.to));
  KDL_TRY(kdl_table_each(&own, export_table, &job));
  KDL_TRY(job.status);
  if (job.count)
    printf("exported %zu table%s of measured times\n", job.count, job.count == 1 ? "" : "s");
  return KDL_OK;
}

/* The lines are added to what this machine has measured. */
static int import_table(void *user, const char *name, kdl_string text) {
  transfer *job = user;
  kdl_model model;
  char expected[KDL_TABLE_NAME];
  kdl_table_file file = {.fd = -1};
  size_t size = 0;
  kdl_model_parse(text, &model);
  char *lines = model.identity.data ? kdl_model_print(&model, &size) : NULL;
  if (model.identity.data)
    kdl_table_name(model.identity, expected);
  if (!lines || strcmp(expected, name) != 0)
    cli_warning("%s: passed over: it is no table of measured times, or is damaged", name);
  else if (kdl_table_append(&file, name, model.identity, lines, size))
    ++job->count;
  else
    cli_warning("%s: passed over: it could not be stored", name);
  kdl_table_close(&file);
  free(lines);
  kdl_model_free(&model);
  return 0;
}

kdl_status cli_choices_import(const char *folder) {
  kdl_cache_settings from;
  transfer job = {.count = 0};
  KDL_TRY(folder_settings(folder, KDL_CACHE_LOWER, &from));
  KDL_TRY(kdl_table_each(&from, import_table, &job));
  if (job.count)
    printf("imported %zu table%s of measured times\n", job.count, job.count == 1 ? "" : "s");
  return KDL_OK;
}
