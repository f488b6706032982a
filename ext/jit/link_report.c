/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/link_report.h"

#include "support/base/error.h"
#include "support/json/reader.h"

#include <stdlib.h>
#include <string.h>

enum { longest = 8192 };

typedef struct {
  kdl_json json;
  kdl_link_report *report;
  char room[longest];
} reader;

/* Called for every member of an object, with its key. */
typedef kdl_status read_member(reader *r, const char *key, void *into);

static kdl_status each_member(reader *r, read_member *read, void *into) {
  char key[64];
  bool more;
  kdl_status status = kdl_json_begin(&r->json, KDL_JSON_OBJECT);
  while (status == KDL_OK &&
         (status = kdl_json_next_key(&r->json, key, sizeof key, &more)) == KDL_OK && more)
    status = read(r, key, into);
  return status;
}

/* Calls `read` for every item of an array, each time with a new element of `size` bytes. */
static kdl_status each_item(reader *r, read_member *read, void **items, size_t *count,
                            size_t size) {
  bool more;
  kdl_status status = kdl_json_begin(&r->json, KDL_JSON_ARRAY);
  while (status == KDL_OK && (status = kdl_json_next_item(&r->json, &more)) == KDL_OK && more) {
    char *grown = realloc(*items, (*count + 1) * size);
    if (!grown)
      return kdl_fail(KDL_NO_MEMORY, "out of memory for the linker's report");
    *items = grown;
    memset(grown + *count * size, 0, size);
    status = each_member(r, read, grown + (*count)++ * size);
  }
  return status;
}

static kdl_status parse_text(reader *r, const char **out_text) {
  KDL_TRY(kdl_json_string(&r->json, r->room, sizeof r->room));
  *out_text = kdl_arena_string(&r->report->arena, r->room, strlen(r->room)).data;
  return *out_text ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory for the linker's report");
}

static bool key_is(const char *key, const char *name) {
  return strcmp(key, name) == 0;
}

/* ------------------------------------------------------------------------------------------ */

/* Only the first reason is kept. */
static kdl_status parse_reason(reader *r, const char *key, void *into) {
  kdl_link_candidate *candidate = into;
  if (key_is(key, "code") && !candidate->code)
    return parse_text(r, &candidate->code);
  if (key_is(key, "words") && !candidate->words)
    return parse_text(r, &candidate->words);
  return kdl_json_skip(&r->json);
}

static kdl_status parse_reasons(reader *r, kdl_link_candidate *candidate) {
  bool more;
  kdl_status status = kdl_json_begin(&r->json, KDL_JSON_ARRAY);
  while (status == KDL_OK && (status = kdl_json_next_item(&r->json, &more)) == KDL_OK && more)
    status = each_member(r, parse_reason, candidate);
  return status;
}

static kdl_status parse_candidate(reader *r, const char *key, void *into) {
  kdl_link_candidate *candidate = into;
  if (key_is(key, "library"))
    return parse_text(r, &candidate->library);
  if (key_is(key, "image"))
    return kdl_json_number(&r->json, &candidate->image);
  if (key_is(key, "triple"))
    return parse_text(r, &candidate->triple);
  if (key_is(key, "arch"))
    return parse_text(r, &candidate->arch);
  if (key_is(key, "tag"))
    return parse_text(r, &candidate->tag);
  if (key_is(key, "chosen"))
    return kdl_json_boolean(&r->json, &candidate->chosen);
  if (key_is(key, "reasons"))
    return parse_reasons(r, candidate);
  return kdl_json_skip(&r->json);
}

static kdl_status parse_ukernel(reader *r, const char *key, void *into) {
  kdl_link_ukernel *ukernel = into;
  if (key_is(key, "symbol"))
    return parse_text(r, &ukernel->symbol);
  if (key_is(key, "candidates"))
    return each_item(r, parse_candidate, (void **)&ukernel->candidates, &ukernel->count,
                     sizeof *ukernel->candidates);
  return kdl_json_skip(&r->json);
}

static kdl_status parse_constant(reader *r, const char *key, void *into) {
  kdl_link_constant *constant = into;
  if (key_is(key, "name"))
    return parse_text(r, &constant->name);
  if (key_is(key, "value"))
    return parse_text(r, &constant->value);
  if (key_is(key, "given"))
    return kdl_json_boolean(&r->json, &constant->given);
  return kdl_json_skip(&r->json);
}

static kdl_status parse_depends(reader *r, kdl_string_list *depends) {
  bool more;
  kdl_status status = kdl_json_begin(&r->json, KDL_JSON_ARRAY);
  while (status == KDL_OK && (status = kdl_json_next_item(&r->json, &more)) == KDL_OK && more) {
    status = kdl_json_string(&r->json, r->room, sizeof r->room);
    if (status == KDL_OK)
      kdl_string_list_append(depends, r->room);
  }
  return status == KDL_OK && depends->failed
             ? kdl_fail(KDL_NO_MEMORY, "out of memory for the linker's report")
             : status;
}

static kdl_status parse_output(reader *r, const char *key, void *into) {
  kdl_link_report *report = into;
  if (key_is(key, "bytes")) {
    report->is_complete = true;
    return kdl_json_number(&r->json, &report->output_size);
  }
  if (key_is(key, "kind"))
    return parse_text(r, &report->kind);
  if (key_is(key, "triple"))
    return parse_text(r, &report->triple);
  if (key_is(key, "arch"))
    return parse_text(r, &report->arch);
  return kdl_json_skip(&r->json);
}

static kdl_status parse_report(reader *r, const char *key, void *into) {
  kdl_link_report *report = into;
  if (key_is(key, "error"))
    return parse_text(r, &report->error);
  if (key_is(key, "microkernels"))
    return each_item(r, parse_ukernel, (void **)&report->ukernels, &report->ukernel_count,
                     sizeof *report->ukernels);
  if (key_is(key, "constants"))
    return each_item(r, parse_constant, (void **)&report->constants, &report->constant_count,
                     sizeof *report->constants);
  if (key_is(key, "depends"))
    return parse_depends(r, &report->depends);
  if (key_is(key, "output"))
    return each_member(r, parse_output, report);
  return kdl_json_skip(&r->json);
}

/* ------------------------------------------------------------------------------------------ */

static void default_to_empty(const char **text) {
  if (!*text)
    *text = "";
}

static void fill_missing_strings(kdl_link_report *report) {
  const char **own[] = {&report->error, &report->kind, &report->triple, &report->arch};
  for (size_t i = 0; i < sizeof own / sizeof *own; ++i)
    default_to_empty(own[i]);
  for (size_t i = 0; i < report->constant_count; ++i) {
    default_to_empty(&report->constants[i].name);
    default_to_empty(&report->constants[i].value);
  }
  for (size_t i = 0; i < report->ukernel_count; ++i) {
    kdl_link_ukernel *ukernel = &report->ukernels[i];
    default_to_empty(&ukernel->symbol);
    for (size_t c = 0; c < ukernel->count; ++c) {
      kdl_link_candidate *its = &ukernel->candidates[c];
      const char **texts[] = {&its->library, &its->triple, &its->arch, &its->tag,
                              &its->code,    &its->words,  &its->label};
      if (its->code)
        its->label = kdl_arena_format(&report->arena, "%s:", its->code);
      for (size_t t = 0; t < sizeof texts / sizeof *texts; ++t)
        default_to_empty(texts[t]);
    }
  }
}

kdl_status kdl_link_report_read(const char *text, size_t size, kdl_link_report *out_report) {
  *out_report = (kdl_link_report){.error = NULL};
  reader *r = malloc(sizeof *r);
  if (!r)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the linker's report");
  r->report = out_report;
  out_report->depends.arena = &out_report->arena;
  kdl_json_start(&r->json, "the report of kdl-ld", text, size);
  kdl_status status = each_member(r, parse_report, out_report);
  if (status == KDL_OK)
    status = kdl_json_finish(&r->json);
  free(r);
  out_report->depends.arena = NULL; /* the report may move */
  fill_missing_strings(out_report);
  return status;
}

void kdl_link_report_free(kdl_link_report *report) {
  for (size_t i = 0; i < report->ukernel_count; ++i)
    free(report->ukernels[i].candidates);
  free(report->ukernels);
  free(report->constants);
  kdl_arena_free(&report->arena);
}
