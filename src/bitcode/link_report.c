/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bitcode/link_report.h"

#include "base/json_reader.h"
#include "bitcode/identity.h"

#include <limits.h>
#include <string.h>

typedef struct {
  kdl_json json;
  FILE *notes;
  bool *out_is_young;
  kdl_link_report *report;
} reading;

static kdl_status read_object(reading *from, kdl_status (*member)(reading *from, const char *key)) {
  char key[64];
  bool more = false;
  kdl_status status = kdl_json_begin(&from->json, KDL_JSON_OBJECT);
  while (status == KDL_OK &&
         (status = kdl_json_next_key(&from->json, key, sizeof key, &more)) == KDL_OK && more)
    status = member(from, key);
  return status;
}

static kdl_status read_dependency(reading *from) {
  char path[PATH_MAX];
  kdl_status status = kdl_json_string(&from->json, path, sizeof path);
  if (status != KDL_OK)
    return status;
  fprintf(from->notes, "depends ");
  kdl_identity_print(from->notes, path, from->out_is_young);
  fputc('\n', from->notes);
  return KDL_OK;
}

static kdl_status read_dependencies(reading *from) {
  bool more = false;
  kdl_status status = kdl_json_begin(&from->json, KDL_JSON_ARRAY);
  while (status == KDL_OK && (status = kdl_json_next_item(&from->json, &more)) == KDL_OK && more)
    status = read_dependency(from);
  return status;
}

static kdl_status read_output(reading *from, const char *key) {
  if (strcmp(key, "bytes") != 0)
    return kdl_json_skip(&from->json);
  from->report->is_whole = true;
  return kdl_json_number(&from->json, &from->report->output_size);
}

static kdl_status read_member(reading *from, const char *key) {
  if (strcmp(key, "depends") == 0)
    return read_dependencies(from);
  if (strcmp(key, "output") == 0)
    return read_object(from, read_output);
  return kdl_json_skip(&from->json);
}

kdl_status kdl_link_report_read(const char *text, size_t size, FILE *notes, bool *out_is_young,
                                kdl_link_report *out_report) {
  reading from = {.notes = notes, .out_is_young = out_is_young, .report = out_report};
  *out_report = (kdl_link_report){.is_whole = false};
  kdl_json_start(&from.json, "report", text, size);
  kdl_status status = read_object(&from, read_member);
  return status == KDL_OK ? kdl_json_finish(&from.json) : status;
}
