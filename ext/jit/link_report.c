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

/* Calls `read` for every member of an object, with its key. */
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

/* Calls `read` for every item of an array, whose items grow by one of `size` bytes each. */
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

static kdl_status read_text(reader *r, const char **out_text) {
  KDL_TRY(kdl_json_string(&r->json, r->room, sizeof r->room));
  *out_text = kdl_arena_string(&r->report->arena, r->room, strlen(r->room)).data;
  return *out_text ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory for the linker's report");
}

static bool is(const char *key, const char *name) {
  return strcmp(key, name) == 0;
}

/* ------------------------------------------------------------------------------------------ */

/* Of several reasons the first is kept. */
static kdl_status read_reason(reader *r, const char *key, void *into) {
  kdl_link_candidate *candidate = into;
  if (is(key, "code") && !candidate->code)
    return read_text(r, &candidate->code);
  if (is(key, "words") && !candidate->words)
    return read_text(r, &candidate->words);
  return kdl_json_skip(&r->json);
}

static kdl_status read_reasons(reader *r, kdl_link_candidate *candidate) {
  bool more;
  kdl_status status = kdl_json_begin(&r->json, KDL_JSON_ARRAY);
  while (status == KDL_OK && (status = kdl_json_next_item(&r->json, &more)) == KDL_OK && more)
    status = each_member(r, read_reason, candidate);
  return status;
}

static kdl_status read_candidate(reader *r, const char *key, void *into) {
  kdl_link_candidate *candidate = into;
  if (is(key, "library"))
    return read_text(r, &candidate->library);
  if (is(key, "image"))
    return kdl_json_number(&r->json, &candidate->image);
  if (is(key, "triple"))
    return read_text(r, &candidate->triple);
  if (is(key, "arch"))
    return read_text(r, &candidate->arch);
  if (is(key, "tag"))
    return read_text(r, &candidate->tag);
  if (is(key, "chosen"))
    return kdl_json_boolean(&r->json, &candidate->chosen);
  if (is(key, "reasons"))
    return read_reasons(r, candidate);
  return kdl_json_skip(&r->json);
}

static kdl_status read_ukernel(reader *r, const char *key, void *into) {
  kdl_link_ukernel *ukernel = into;
  if (is(key, "symbol"))
    return read_text(r, &ukernel->symbol);
  if (is(key, "candidates"))
    return each_item(r, read_candidate, (void **)&ukernel->candidates, &ukernel->count,
                     sizeof *ukernel->candidates);
  return kdl_json_skip(&r->json);
}

static kdl_status read_constant(reader *r, const char *key, void *into) {
  kdl_link_constant *constant = into;
  if (is(key, "name"))
    return read_text(r, &constant->name);
  if (is(key, "value"))
    return read_text(r, &constant->value);
  if (is(key, "given"))
    return kdl_json_boolean(&r->json, &constant->given);
  return kdl_json_skip(&r->json);
}

static kdl_status read_depends(reader *r, kdl_words *depends) {
  bool more;
  kdl_status status = kdl_json_begin(&r->json, KDL_JSON_ARRAY);
  while (status == KDL_OK && (status = kdl_json_next_item(&r->json, &more)) == KDL_OK && more) {
    status = kdl_json_string(&r->json, r->room, sizeof r->room);
    if (status == KDL_OK)
      kdl_words_add(depends, r->room);
  }
  return status == KDL_OK && depends->failed
             ? kdl_fail(KDL_NO_MEMORY, "out of memory for the linker's report")
             : status;
}

static kdl_status read_output(reader *r, const char *key, void *into) {
  kdl_link_report *report = into;
  if (is(key, "bytes")) {
    report->is_whole = true;
    return kdl_json_number(&r->json, &report->output_size);
  }
  if (is(key, "kind"))
    return read_text(r, &report->kind);
  if (is(key, "triple"))
    return read_text(r, &report->triple);
  if (is(key, "arch"))
    return read_text(r, &report->arch);
  return kdl_json_skip(&r->json);
}

static kdl_status read_report(reader *r, const char *key, void *into) {
  kdl_link_report *report = into;
  if (is(key, "error"))
    return read_text(r, &report->error);
  if (is(key, "microkernels"))
    return each_item(r, read_ukernel, (void **)&report->ukernels, &report->ukernel_count,
                     sizeof *report->ukernels);
  if (is(key, "constants"))
    return each_item(r, read_constant, (void **)&report->constants, &report->constant_count,
                     sizeof *report->constants);
  if (is(key, "depends"))
    return read_depends(r, &report->depends);
  if (is(key, "output"))
    return each_member(r, read_output, report);
  return kdl_json_skip(&r->json);
}

/* ------------------------------------------------------------------------------------------ */

static void fill(const char **text) {
  if (!*text)
    *text = "";
}

static void fill_gaps(kdl_link_report *report) {
  const char **own[] = {&report->error, &report->kind, &report->triple, &report->arch};
  for (size_t i = 0; i < sizeof own / sizeof *own; ++i)
    fill(own[i]);
  for (size_t i = 0; i < report->constant_count; ++i) {
    fill(&report->constants[i].name);
    fill(&report->constants[i].value);
  }
  for (size_t i = 0; i < report->ukernel_count; ++i) {
    kdl_link_ukernel *ukernel = &report->ukernels[i];
    fill(&ukernel->symbol);
    for (size_t c = 0; c < ukernel->count; ++c) {
      kdl_link_candidate *its = &ukernel->candidates[c];
      const char **texts[] = {&its->library, &its->triple, &its->arch, &its->tag,
                              &its->code,    &its->words,  &its->label};
      if (its->code)
        its->label = kdl_arena_format(&report->arena, "%s:", its->code);
      for (size_t t = 0; t < sizeof texts / sizeof *texts; ++t)
        fill(texts[t]);
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
  kdl_status status = each_member(r, read_report, out_report);
  if (status == KDL_OK)
    status = kdl_json_finish(&r->json);
  free(r);
  out_report->depends.arena = NULL; /* the report may move */
  fill_gaps(out_report);
  return status;
}

void kdl_link_report_free(kdl_link_report *report) {
  for (size_t i = 0; i < report->ukernel_count; ++i)
    free(report->ukernels[i].candidates);
  free(report->ukernels);
  free(report->constants);
  kdl_arena_free(&report->arena);
}
