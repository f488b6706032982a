/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl cache: the tables of measured times. */
#include "ext/adaptive/commands/commands.h"
#include "ext/adaptive/model.h"
#include "support/base/error.h"
#include "support/system/cache_folder.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { folder_room = PATH_MAX + 32 };

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
  char folder[folder_room];
  KDL_TRY(kdl_table_folder(folder, sizeof folder));
  return kdl_table_each(folder, list_table, &is_long);
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
  const char *to;
  size_t count;
  kdl_status status;
} transfer;

static kdl_status make_folder(const char *path) {
  int folder = kdl_cache_folder_make(path, KDL_CACHE_PRIVATE);
  if (folder < 0)
    return kdl_error_status();
  close(folder);
  return KDL_OK;
}

static int export_table(void *user, const char *name, kdl_string text) {
  transfer *job = user;
  kdl_model model;
  char path[folder_room + KDL_TABLE_NAME];
  size_t header_size = 0, size = 0;
  kdl_model_parse(text, &model);
  char *header = model.identity.data ? kdl_table_header(model.identity, &header_size) : NULL;
  char *lines = kdl_model_print(&model, &size);
  char *all = header && lines ? realloc(header, header_size + size) : NULL;
  if (all) {
    memcpy(all + header_size, lines, size);
    snprintf(path, sizeof path, "%s/%s", job->to, name);
    job->status = make_folder(job->to);
    if (job->status == KDL_OK)
      job->status = cli_output_save(path, all, header_size + size);
    job->count += job->status == KDL_OK;
  }
  free(all ? all : header);
  free(lines);
  kdl_model_free(&model);
  return job->status != KDL_OK;
}

kdl_status cli_choices_export(const char *folder) {
  char from[folder_room], to[folder_room];
  KDL_TRY(kdl_table_folder(from, sizeof from));
  snprintf(to, sizeof to, "%s/choices", folder);
  transfer job = {.to = to};
  KDL_TRY(kdl_table_each(from, export_table, &job));
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
  char from[folder_room];
  snprintf(from, sizeof from, "%s/choices", folder);
  transfer job = {.to = NULL};
  KDL_TRY(kdl_table_each(from, import_table, &job));
  if (job.count)
    printf("imported %zu table%s of measured times\n", job.count, job.count == 1 ? "" : "s");
  return KDL_OK;
}
