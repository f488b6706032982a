/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/commands.h"

#include "lib/inspect/devices.h"
#include "support/base/error.h"
#include "tools/common/memory.h"

static const char *const emit_names[IR_EMIT_COUNT] = {
    [IR_EMIT_IMAGE] = "image", [IR_EMIT_IR] = "ir",         [IR_EMIT_BITCODE] = "bitcode",
    [IR_EMIT_ASM] = "asm",     [IR_EMIT_CHOICE] = "choice",
};

static kdl_status read_emit(const char *text, ir_emit *out_emit) {
  *out_emit = IR_EMIT_IMAGE;
  for (ir_emit emit = IR_EMIT_IMAGE; text && emit < IR_EMIT_COUNT; ++emit) {
    if (strcmp(text, emit_names[emit]) == 0) {
      *out_emit = emit;
      return KDL_OK;
    }
  }
  return text ? kdl_fail(KDL_BAD_CALL,
                         "--emit: bad value '%s': use image, ir, bitcode, asm or choice", text)
              : KDL_OK;
}

static kdl_status read_unused(const char *text, bool *out_ignores) {
  *out_ignores = text && strcmp(text, "ignore") == 0;
  if (text && !*out_ignores && strcmp(text, "error") != 0)
    return kdl_fail(KDL_BAD_CALL, "--unused-constants: bad value '%s': use error or ignore", text);
  return KDL_OK;
}

static kdl_string_list collect_option_values(const cli_args *args, kdl_arena *arena,
                                             const char *option) {
  kdl_string_list words = {.arena = arena};
  size_t cursor = 0;
  for (const char *word; (word = cli_args_next(args, option, &cursor));)
    xstring_list_append(&words, word);
  return words;
}

static kdl_status check_constants(const kdl_string_list *constants) {
  for (size_t i = 0; i < constants->count; ++i) {
    size_t name = strcspn(constants->items[i], "=");
    if (name == 0 || !constants->items[i][name] || !constants->items[i][name + 1])
      return kdl_fail(KDL_BAD_CALL, "--const: bad value '%s': use NAME=VALUE", constants->items[i]);
    for (size_t before = 0; before < i; ++before) {
      if (strncmp(constants->items[before], constants->items[i], name + 1) == 0)
        return kdl_fail(KDL_BAD_CALL, "--const: '%s' is given after '%s': give each constant once",
                        constants->items[i], constants->items[before]);
    }
  }
  return KDL_OK;
}

static kdl_status parse_device_option(const char *text, ir_request *request) {
  kdl_device_routes routes;
  KDL_TRY(kdl_device_routes_resolve(text, &routes));
  request->spec = routes.specs[0];
  KDL_TRY(kdl_select_device_create(&request->spec, &request->device, &request->traits));
  kdl_out label = {request->device_label, sizeof request->device_label, 0};
  kdl_device_spec_label(&request->spec, &label);
  return KDL_OK;
}

static kdl_status check_protocol(const char *text) {
  if (!text)
    return kdl_fail(KDL_BAD_CALL, "missing option: use --protocol=1");
  if (strcmp(text, "1") != 0)
    return kdl_fail(KDL_BAD_CALL,
                    "--protocol: bad value '%s': use 1, the only one this kdl-ld knows: libkdl "
                    "and kdl-ld are of different versions",
                    text);
  return KDL_OK;
}

static kdl_status require_option(const cli_args *args, const char *option, const char **out_value) {
  *out_value = cli_args_value(args, option);
  if (*out_value && **out_value)
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL, "missing option: use --%s", option);
}

kdl_status ld_request_read(const cli_args *args, kdl_arena *arena, ir_request *out_request) {
  ir_request *request = out_request;
  const char *device;
  *request = (ir_request){.arena = arena,
                          .has_builtin = !cli_args_has(args, "no-builtin"),
                          .is_checked = cli_args_has(args, "checked"),
                          .report = cli_args_value(args, "report"),
                          .kernels = collect_option_values(args, arena, "kernel"),
                          .libraries = collect_option_values(args, arena, "ukernels"),
                          .constants = collect_option_values(args, arena, "const"),
                          .folds = collect_option_values(args, arena, "fold")};
  KDL_TRY(check_protocol(cli_args_value(args, "protocol")));
  KDL_TRY(read_emit(cli_args_value(args, "emit"), &request->emit));
  KDL_TRY(read_unused(cli_args_value(args, "unused-constants"), &request->ignores_unused));
  KDL_TRY(require_option(args, "caller", &request->path));
  KDL_TRY(require_option(args, "for", &device));
  if (request->emit != IR_EMIT_CHOICE)
    KDL_TRY(require_option(args, "output", &request->output));
  request->caller = cli_args_has(args, "name") ? cli_args_value(args, "name") : request->path;
  KDL_TRY(check_constants(&request->constants));
  kdl_status status = parse_device_option(device, request);
  if (status != KDL_OK)
    kdl_error_prefix("--for");
  return status;
}
