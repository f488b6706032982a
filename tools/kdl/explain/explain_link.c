/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bitcode is linked before it runs: prints with which microkernels, and why not with the others. */
#include "ext/jit/commands/link.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/text.h"
#include "tools/kdl/explain/explain.h"

#include <stdio.h>
#include <string.h>

/* The chosen image, if it is bitcode. */
static bool find_caller(const cli_query *query, const cli_ranking *ranking,
                        kdl_image_info *out_caller) {
  out_caller->size = sizeof *out_caller;
  return ranking->chosen &&
         kdl_image_get(query->input->lib, ranking->chosen->image, out_caller) == KDL_OK &&
         out_caller->kind == KDL_IMAGE_BITCODE;
}

/* A refusal of kdl-ld is part of the answer, not a failure. */
static void choose_ukernels(const cli_query *query, const cli_ranking *ranking, size_t image,
                            cli_link_result *result, char *refusal, size_t size) {
  static const cli_args none = {.setting_count = 0};
  cli_link_job job = {.input = query->input, .args = &none, .emit = "choice"};
  kdl_status status = cli_link_run(&job, image, ranking->device, result);
  snprintf(refusal, size, "%s", status == KDL_OK ? "" : kdl_error_message());
}

/* ------------------------------------------------------------------------------------------ */
/* Text                                                                                         */

static const cli_column columns[] = {
    {.title = "", .right = true, .tint = "1;32"},
    {.title = "MICROKERNEL"},
    {.title = "LIBRARY", .shrinks = 2},
    {.title = "#", .right = true},
    {.title = "ARCH", .shrinks = 1, .tint = "36"},
    {.title = "TAG", .shrinks = 3},
};

static void add_candidate(cli_table *table, const kdl_link_ukernel *ukernel,
                          const kdl_link_candidate *its) {
  cli_table_add(table, kdl_text_of(its->chosen ? "*" : its->words[0] ? "." : "+"));
  cli_table_add(table, kdl_text_of(ukernel->symbol));
  cli_table_add(table, kdl_text_of(basename(its->library)));
  cli_table_add_number(table, its->image);
  cli_table_add(table, kdl_text_of(its->arch));
  cli_table_add(table, kdl_text_of(its->tag));
  if (its->words[0])
    cli_table_add_line(table, its->label, kdl_text_of(its->words));
}

static kdl_status print_ukernels(const kdl_link_report *report, kdl_string triple) {
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  size_t rows = 0;
  for (size_t i = 0; i < report->ukernel_count; ++i) {
    const kdl_link_ukernel *ukernel = &report->ukernels[i];
    for (size_t c = 0; c < ukernel->count; ++c) {
      if (cli_link_candidate_is_near(&ukernel->candidates[c], triple)) {
        add_candidate(table, ukernel, &ukernel->candidates[c]);
        ++rows;
      }
    }
  }
  if (rows)
    putchar('\n');
  kdl_status status = rows ? cli_table_print(table) : KDL_OK;
  cli_table_destroy(table);
  return status;
}

kdl_status cli_explain_link(const cli_query *query, const cli_ranking *ranking) {
  kdl_image_info caller;
  if (!find_caller(query, ranking, &caller))
    return KDL_OK;
  cli_link_result result;
  char refusal[2048];
  choose_ukernels(query, ranking, caller.index, &result, refusal, sizeof refusal);
  if (refusal[0]) {
    fputs("linked  no: ", stdout);
    cli_text_print((kdl_string){refusal, strcspn(refusal, "\n")}, "");
    putchar('\n');
  }
  kdl_status status = print_ukernels(&result.report, caller.triple);
  cli_link_result_free(&result);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* JSON                                                                                         */

static void put_candidate(cli_json *json, const kdl_link_candidate *its) {
  char reason[1024];
  cli_json_begin_object(json);
  cli_json_put_text(json, "library", its->library);
  cli_json_put_number(json, "index", its->image);
  cli_json_put_text(json, "arch", its->arch);
  cli_json_put_text(json, "tag", its->tag);
  cli_json_put_bool(json, "chosen", its->chosen);
  cli_json_put_array(json, "reasons");
  snprintf(reason, sizeof reason, "%s: %s", its->code, its->words);
  if (its->words[0])
    cli_json_text(json, reason);
  cli_json_end_array(json);
  cli_json_end_object(json);
}

void cli_explain_link_json(cli_json *json, const cli_query *query, const cli_ranking *ranking) {
  kdl_image_info caller;
  if (!find_caller(query, ranking, &caller))
    return;
  cli_link_result result;
  char refusal[2048];
  choose_ukernels(query, ranking, caller.index, &result, refusal, sizeof refusal);
  cli_json_put_object(json, "linked");
  cli_json_put_text(json, "error", refusal);
  cli_json_put_array(json, "microkernels");
  for (size_t i = 0; i < result.report.ukernel_count; ++i) {
    const kdl_link_ukernel *ukernel = &result.report.ukernels[i];
    cli_json_begin_object(json);
    cli_json_put_text(json, "symbol", ukernel->symbol);
    cli_json_put_array(json, "candidates");
    for (size_t c = 0; c < ukernel->count; ++c)
      put_candidate(json, &ukernel->candidates[c]);
    cli_json_end_array(json);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
  cli_json_end_object(json);
  cli_link_result_free(&result);
}
