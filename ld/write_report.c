/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/report.h"

#include "lib/inspect/libraries.h"
#include "tools/common/images/kinds.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"

static void put_string_list(cli_json *json, const char *key, const kdl_string_list *list) {
  cli_json_put_array(json, key);
  for (size_t i = 0; i < list->count; ++i)
    cli_json_text(json, list->items[i]);
  cli_json_end_array(json);
}

static void put_linker(cli_json *json) {
  char llvm[32], build[96];
  ld_version_llvm(llvm, sizeof llvm);
  ld_version_build(build, sizeof build);
  cli_json_put_object(json, "linker");
  cli_json_put_text(json, "version", kdl_version());
  cli_json_put_text(json, "llvm", llvm);
  cli_json_put_text(json, "build", build);
  cli_json_end_object(json);
}

static void put_ukernel_candidate(cli_json *json, const ir_candidate *its) {
  kdl_image_info image = cli_image_at(its->library->lib, its->image);
  const kdl_string *features = kdl_find_value(image.pairs, image.pair_count, "requires_features");
  const kdl_string *tag = kdl_find_value(image.pairs, image.pair_count, "variant_tag");
  const kdl_string none = {"", 0};
  cli_json_begin_object(json);
  cli_json_put_text(json, "library", its->library->name);
  cli_json_put_number(json, "image", its->image);
  cli_json_put_bytes(json, "triple", image.triple);
  cli_json_put_bytes(json, "arch", image.arch);
  cli_json_put_bytes(json, "features", features ? *features : none);
  cli_json_put_bytes(json, "tag", tag ? *tag : none);
  cli_json_put_bool(json, "chosen", its->is_chosen);
  cli_json_put_array(json, "reasons");
  for (size_t i = 0; i < its->explanation.reason_count; ++i) {
    cli_json_begin_object(json);
    cli_json_put_text(json, "code", its->explanation.reasons[i].code);
    cli_json_put_text(json, "words", its->explanation.reasons[i].words);
    cli_json_put_text(json, "fix", its->explanation.reasons[i].fix);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
  cli_json_end_object(json);
}

static void put_microkernels(cli_json *json, const ir_linker *linker) {
  cli_json_put_array(json, "microkernels");
  for (size_t i = 0; i < linker->choice_count; ++i) {
    const ir_choice *choice = &linker->choices[i];
    cli_json_begin_object(json);
    cli_json_put_bytes(json, "symbol", choice->symbol);
    cli_json_put_number(json, "calls", choice->calls);
    cli_json_put_array(json, "candidates");
    for (size_t c = 0; c < choice->count; ++c)
      put_ukernel_candidate(json, &choice->candidates[c]);
    cli_json_end_array(json);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
  cli_json_put_object(json, "calls");
  cli_json_put_number(json, "before", linker->calls_before);
  cli_json_put_number(json, "after", linker->calls_after);
  cli_json_end_object(json);
}

static void put_constants(cli_json *json, const ir_constants *bound) {
  cli_json_put_array(json, "constants");
  for (size_t i = 0; i < bound->count; ++i) {
    cli_json_begin_object(json);
    cli_json_put_text(json, "name", bound->items[i].name);
    cli_json_put_text(json, "type", bound->items[i].type);
    cli_json_put_text(json, "value", bound->items[i].value);
    cli_json_put_bool(json, "given", bound->items[i].is_given);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
}

static void put_output(cli_json *json, const ir_linker *linker, const ir_output *output) {
  cli_json_put_object(json, "output");
  cli_json_put_text(json, "kind", output->kind);
  cli_json_put_text(json, "triple", linker->target.triple);
  cli_json_put_text(json, "arch", linker->target.arch);
  cli_json_put_number(json, "bytes", output->size);
  cli_json_put_text(json, "program", output->program);
  cli_json_end_object(json);
}

static void put_stage_times(cli_json *json, const ir_stages *stages) {
  static const char *const names[IR_STAGE_COUNT] = {
      [IR_STAGE_START] = "start",       [IR_STAGE_PARSE] = "parse",
      [IR_STAGE_CHOOSE] = "choose",     [IR_STAGE_LINK] = "link",
      [IR_STAGE_OPTIMISE] = "optimise", [IR_STAGE_COMPILE] = "compile",
      [IR_STAGE_PROGRAM] = "program",   [IR_STAGE_WRITE] = "write",
  };
  cli_json_put_object(json, "microseconds");
  for (size_t i = 0; i < IR_STAGE_COUNT; ++i)
    cli_json_put_number(json, names[i], stages->microseconds[i]);
  cli_json_end_object(json);
}

char *ld_report_make(const ir_linker *linker, const ir_output *output, const char *error,
                     size_t *out_size) {
  char *text, device[KDL_SPEC_LINE];
  cli_json json = {.file = xtext_stream(&text, out_size)};
  kdl_out out = {device, sizeof device, 0};
  kdl_device_spec_print(&linker->request->spec, &out);
  cli_json_begin_object(&json);
  cli_json_put_number(&json, "report", 1);
  put_linker(&json);
  cli_json_put_text(&json, "caller", linker->request->caller);
  cli_json_put_text(&json, "device", device);
  if (error)
    cli_json_put_text(&json, "error", error);
  put_string_list(&json, "kernels", &linker->kernels);
  put_microkernels(&json, linker);
  put_constants(&json, &linker->constants);
  put_string_list(&json, "undefined", &linker->undefined);
  put_string_list(&json, "depends", &linker->depends);
  if (output)
    put_output(&json, linker, output);
  put_stage_times(&json, &linker->stages);
  cli_json_end_object(&json);
  fputc('\n', json.file);
  xtext_close(json.file);
  return text;
}
