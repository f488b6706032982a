/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The JSON report; docs/cli.md has the fields. */
#include "pack/check/check.h"
#include "support/base/text.h"
#include "tools/common/json.h"
#include "tools/common/output.h"

#include <stdio.h>

static void write_gap_json(cli_json *json, const check *c, const check_gap *gap) {
  char reason[1024];
  snprintf(reason, sizeof reason, "%s: %s", gap->code, gap->words);
  cli_json_begin_object(json);
  cli_json_put_number(json, "kernels", gap->kernels);
  cli_json_put_number(json, "modules", gap->modules);
  cli_json_put_text(json, "image_kind", kdl_image_kind_name(gap->kind));
  cli_json_put_text(json, "arch", gap->arch);
  cli_json_put_text(json, "reason", reason);
  cli_json_put_text(json, "fix", gap->fix);
  cli_json_put_array(json, "names");
  for (size_t i = 0; i < gap->name_count; ++i)
    cli_json_bytes(json, gap->names[i]);
  cli_json_end_array(json);
  if (c->demangler) {
    cli_json_put_array(json, "demangled");
    for (size_t i = 0; i < gap->name_count; ++i)
      cli_json_bytes(json, cli_demangle(c->demangler, gap->names[i]));
    cli_json_end_array(json);
  }
  cli_json_end_object(json);
}

static void write_verdict_json(cli_json *json, const check *c, const check_library *library,
                               size_t device) {
  const check_verdict *verdict = &library->verdicts[device];
  const kdl_coverage *coverage = &verdict->coverage;
  const check_counts counts = check_count(verdict);
  check_answer answer = check_answer_of(c, library, device);
  cli_json_begin_object(json);
  cli_json_put_text(json, "device", kdl_device_spec_text(c->devices.items[device].device));
  cli_json_put_text(json, "runs", check_outcome_name(verdict->outcome));
  cli_json_put_text(json, "verdict", check_answer_name(answer));
  cli_json_put_text(json, "condition", verdict->condition);
  cli_json_put_bool(json, "is_alternative", verdict->has_better_alternative);
  cli_json_put_bool(json, "fails", check_fails(c, library, device));
  cli_json_put_text(json, "conflict", verdict->conflict);
  cli_json_put_text(json, "runtime", check_runtime_compat_name(verdict->runtime));
  cli_json_put_bool(json, "host_fits", !verdict->is_for_other_host);
  cli_json_put_number(json, "modules", coverage->modules);
  cli_json_put_number(json, "modules_run", coverage->modules_run);
  cli_json_put_number(json, "kernels", coverage->kernels);
  cli_json_put_number(json, "kernels_native", coverage->kernels_native);
  cli_json_put_number(json, "kernels_jit", coverage->kernels_run - coverage->kernels_native);
  cli_json_put_number(json, "kernels_hollow", coverage->kernels_hollow);
  cli_json_put_number(json, "kernels_missing", coverage->kernels ? counts.missing : 0);
  cli_json_put_number(json, "kernels_other", counts.other);
  cli_json_put_number(json, "kernels_best", coverage->kernels ? verdict->best : 0);
  cli_json_put_number(json, "unreadable", coverage->unreadable);
  cli_json_put_array(json, "missing");
  for (size_t i = 0; i < verdict->gap_count; ++i)
    write_gap_json(json, c, &verdict->gaps[i]);
  cli_json_end_array(json);
  cli_json_put_number(json, "missing_untold", verdict->unlisted_kernels);
  cli_json_end_object(json);
}

static void write_library_json(cli_json *json, const check *c, const check_library *library) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "file", library->path);
  cli_json_put_text(json, "member", library->member);
  cli_json_put_text(json, "package", library->package);
  cli_json_put_number(json, "images", library->images);
  cli_json_put_array(json, "needs");
  for (size_t i = 0; i < library->dependency_count; ++i) {
    const check_dependency *need = &library->dependencies[i];
    char version[16];
    snprintf(version, sizeof version, "%u.%u", (unsigned)(need->version >> 16),
             (unsigned)(need->version & 0xffff));
    cli_json_begin_object(json);
    cli_json_put_text(json, "library", need->library);
    cli_json_put_text(json, "runtime", check_runtime_name(need->runtime));
    cli_json_put_text(json, "version", need->version ? version : NULL);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
  cli_json_put_array(json, "devices");
  for (size_t i = 0; i < c->devices.count; ++i)
    write_verdict_json(json, c, library, i);
  cli_json_end_array(json);
  cli_json_end_object(json);
}

kdl_status check_print_json(check *c) {
  cli_json json = {.file = stdout};
  cli_json_begin_object(&json);
  cli_json_put_number(&json, "files", c->files);
  cli_json_put_array(&json, "libraries");
  for (size_t i = 0; i < c->library_count; ++i)
    write_library_json(&json, c, &c->libraries[i]);
  cli_json_end_array(&json);
  cli_json_put_array(&json, "unreadable");
  for (size_t i = 0; i < c->error_count; ++i) {
    cli_json_begin_object(&json);
    cli_json_put_text(&json, "file", c->errors[i].path);
    cli_json_put_text(&json, "error", c->errors[i].message);
    cli_json_end_object(&json);
  }
  cli_json_end_array(&json);
  cli_json_end_object(&json);
  return cli_output_flush();
}
