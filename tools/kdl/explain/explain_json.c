/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/adaptive/commands/commands.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"
#include "tools/kdl/explain/explain.h"

#include <stdio.h>

static void put_reasons(cli_json *json, const kdl_verdict *verdict) {
  cli_json_put_array(json, "reasons");
  for (size_t i = 0; i < verdict->reason_count; ++i) {
    char reason[1024];
    snprintf(reason, sizeof reason, "%s: %s", verdict->reasons[i].code, verdict->reasons[i].words);
    cli_json_text(json, reason);
  }
  cli_json_end_array(json);
}

static void put_fixes(cli_json *json, const kdl_verdict *verdict) {
  cli_json_put_array(json, "fixes");
  for (size_t i = 0; i < verdict->reason_count; ++i) {
    if (verdict->reasons[i].fix[0])
      cli_json_text(json, verdict->reasons[i].fix);
  }
  cli_json_end_array(json);
}

static void put_verdict(cli_json *json, const cli_query *query, const kdl_verdict *verdict) {
  kdl_image_info image = cli_image_at(query->input->lib, verdict->image);
  cli_json_begin_object(json);
  cli_json_put_number(json, "index", verdict->image);
  cli_json_put_number(json, "module", image.module);
  cli_json_put_bool(json, "chosen", verdict->chosen);
  cli_json_put_bool(json, "eligible", verdict->eligible);
  cli_json_put_number(json, "rank", verdict->rank);
  put_reasons(json, verdict);
  cli_json_put_text(json, "image_kind", kdl_image_kind_name(image.kind));
  cli_json_put_bytes(json, "arch", image.arch);
  cli_json_put_number(json, "priority", verdict->priority);
  cli_json_put_text(json, "fit", verdict->eligible ? verdict->fit : "");
  put_fixes(json, verdict);
  kdl_string when = cli_image_condition(query, verdict->image);
  if (when.data)
    cli_json_put_bytes(json, "when", when);
  cli_json_end_object(json);
}

static void put_coverage(cli_json *json, const cli_query *query, const kdl_coverage *coverage) {
  cli_json_key(json, "coverage");
  if (!query->inventory) {
    cli_json_null(json);
    return;
  }
  cli_json_begin_object(json);
  cli_json_put_number(json, "modules", coverage->modules);
  cli_json_put_number(json, "modules_run", coverage->modules_run);
  cli_json_put_number(json, "kernels", coverage->kernels);
  cli_json_put_number(json, "kernels_run", coverage->kernels_run);
  cli_json_put_number(json, "kernels_hollow", coverage->kernels_hollow);
  cli_json_put_number(json, "unreadable", coverage->unreadable);
  cli_json_end_object(json);
}

static void put_answer(cli_json *json, const cli_query *query, const cli_ranking *ranking) {
  cli_json_put_known(json, "chosen", ranking->chosen, ranking->chosen ? ranking->chosen->image : 0);
  if (query->kernel)
    cli_json_put_bool(json, "hollow", ranking->is_hollow);
  put_coverage(json, query, &ranking->coverage);
  cli_json_put_array(json, "images");
  for (size_t i = 0; i < ranking->count; ++i)
    put_verdict(json, query, &ranking->items[i]);
  cli_json_end_array(json);
}

void cli_explain_json(cli_json *json, const cli_query *query, const cli_ranking *ranking) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "kernel", query->kernel);
  cli_json_put_text(json, "device", ranking->device);
  cli_json_put_text(json, "policy", kdl_policy_names[query->opts.policy]);
  put_answer(json, query, ranking);
  cli_explain_link_json(json, query, ranking);
#if KDL_WITH_ADAPTIVE
  if (query->kernel && query->opts.policy == KDL_POLICY_ADAPTIVE) {
    cli_json_key(json, "measured");
    (void)cli_choices_json(query->input->lib, query->kernel, json); /* else it is cut short */
  }
#endif
  cli_json_end_object(json);
}

kdl_status cli_explain_matrix_json(const cli_query *query, const cli_devices *devices,
                                   bool *out_fits) {
  cli_json json = {.file = stdout};
  cli_json_begin_object(&json);
  cli_json_put_text(&json, "kernel", query->kernel);
  cli_json_put_text(&json, "policy", kdl_policy_names[query->opts.policy]);
  cli_json_put_array(&json, "devices");
  for (size_t i = 0; i < devices->count; ++i) {
    cli_ranking ranking;
    kdl_status status = cli_ranking_make(query, devices->items[i].device, &ranking);
    if (status == KDL_OK) {
      cli_json_begin_object(&json);
      cli_json_put_text(&json, "name", devices->items[i].name);
      cli_json_put_text(&json, "device", ranking.device);
      put_answer(&json, query, &ranking);
      cli_json_end_object(&json);
      *out_fits |= ranking.fits;
    }
    cli_ranking_free(&ranking);
    KDL_TRY(status);
  }
  cli_json_end_array(&json);
  cli_json_end_object(&json);
  return KDL_OK;
}
