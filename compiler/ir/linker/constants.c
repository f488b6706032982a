/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/constants.h"

#include "support/base/error.h"
#include "support/base/nearest.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "tools/common/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *constant_name(LLVMValueRef variable) {
  return ir_value_name(variable).data + sizeof IR_CONSTANT_PREFIX - 1;
}

kdl_status ir_constants_agree(LLVMModuleRef into, LLVMModuleRef from, const char *name) {
  for (LLVMValueRef its = LLVMGetFirstGlobal(from); its; its = LLVMGetNextGlobal(its)) {
    LLVMValueRef ours =
        ir_constant_is(its) ? LLVMGetNamedGlobal(into, ir_value_name(its).data) : NULL;
    if (!ours || LLVMGlobalGetValueType(ours) == LLVMGlobalGetValueType(its))
      continue;
    char here[32], there[32];
    ir_type_print(LLVMGlobalGetValueType(ours), here, sizeof here);
    ir_type_print(LLVMGlobalGetValueType(its), there, sizeof there);
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found the constant '%s' as %s, expected %s, as what it is linked with has "
                    "it",
                    name, constant_name(its), there, here);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Values                                                                                       */

static kdl_status fail_constant_value(const char *name, const char *type, const char *text,
                                      const char *expected) {
  return kdl_fail(KDL_BAD_CALL, "--const: bad value '%s=%s': use %s: the constant is %s", name,
                  text, expected, type);
}

/* From -2^(width-1) to 2^width-1: LLVM's types have no sign. */
static bool read_integer(const char *text, unsigned width, uint64_t *out_value) {
  char *end;
  errno = 0;
  bool is_negative = text[0] == '-';
  uint64_t value = is_negative ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
  if (errno || *end || end == text || strspn(text, " \t\n+"))
    return false;
  uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
  uint64_t sign = (uint64_t)1 << (width - 1);
  *out_value = value & mask;
  return is_negative ? value >= (uint64_t)0 - sign : (value & ~mask) == 0;
}

static kdl_status make_value(const char *name, LLVMTypeRef type, const char *type_name,
                             const char *text, LLVMValueRef *out_value) {
  switch (LLVMGetTypeKind(type)) {
  case LLVMIntegerTypeKind: {
    uint64_t value;
    unsigned width = LLVMGetIntTypeWidth(type);
    if (width > 64)
      break;
    if (!read_integer(text, width, &value))
      return fail_constant_value(name, type_name, text, "an integer that fits");
    *out_value = LLVMConstInt(type, value, 0);
    return KDL_OK;
  }
  case LLVMHalfTypeKind:
  case LLVMBFloatTypeKind:
  case LLVMFloatTypeKind:
  case LLVMDoubleTypeKind: {
    char *end;
    double value = strtod(text, &end);
    if (*end || end == text || strspn(text, " \t\n"))
      return fail_constant_value(name, type_name, text, "a number");
    *out_value = LLVMConstReal(type, value);
    return KDL_OK;
  }
  default:
    break;
  }
  return fail_constant_value(
      name, type_name, text,
      "no value at all, since only integers of up to 64 bits and floating-point "
      "numbers can be given");
}

/* ------------------------------------------------------------------------------------------ */
/* Binding                                                                                      */

static const char *find_requested_value(const kdl_string_list *given, const char *name) {
  size_t length = strlen(name);
  for (size_t i = 0; i < given->count; ++i) {
    if (strncmp(given->items[i], name, length) == 0 && given->items[i][length] == '=')
      return given->items[i] + length + 1;
  }
  return NULL;
}

static kdl_status bind_constant(LLVMValueRef variable, const ir_request *request,
                                ir_constant *out) {
  const char *name = constant_name(variable);
  LLVMTypeRef type = LLVMGlobalGetValueType(variable);
  *out = (ir_constant){.is_given = false};
  snprintf(out->name, sizeof out->name, "%s", name);
  ir_type_print(type, out->type, sizeof out->type);
  const char *text = find_requested_value(&request->constants, name);
  if (text) {
    LLVMValueRef value;
    KDL_TRY(make_value(name, type, out->type, text, &value));
    LLVMSetInitializer(variable, value);
    out->is_given = true;
    snprintf(out->value, sizeof out->value, "%s", text);
  } else if (LLVMIsDeclaration(variable)) {
    return kdl_fail(KDL_BAD_CALL,
                    "%s: the constant '%s' (%s) has no default: give its value, as in --const=%s=1",
                    request->caller, name, out->type, name);
  } else {
    char value[96];
    ir_value_print(LLVMGetInitializer(variable), value, sizeof value);
    const char *space = strchr(value, ' '); /* "i32 64" */
    snprintf(out->value, sizeof out->value, "%.63s", space ? space + 1 : value);
  }
  LLVMSetLinkage(variable, LLVMInternalLinkage);
  LLVMSetVisibility(variable, LLVMDefaultVisibility);
  LLVMSetGlobalConstant(variable, 1);
  kdl_debug(KDL_DEBUG_LINK, "constant %s is %s %s%s", name, out->type, out->value,
            out->is_given ? "" : ", by default");
  return KDL_OK;
}

static kdl_status check_used(const ir_request *request, const ir_constants *bound) {
  for (size_t i = 0; i < request->constants.count; ++i) {
    const char *text = request->constants.items[i];
    size_t length = strcspn(text, "=");
    kdl_nearest nearest = kdl_nearest_to((kdl_string){text, length});
    bool is_used = false;
    for (size_t c = 0; c < bound->count && !is_used; ++c) {
      is_used =
          strlen(bound->items[c].name) == length && memcmp(bound->items[c].name, text, length) == 0;
      kdl_nearest_add(&nearest, bound->items[c].name);
    }
    if (!is_used)
      return kdl_fail(KDL_BAD_CALL,
                      "--const: bad value '%s': neither %s nor its microkernels have a constant of "
                      "that name%s%s%s",
                      text, request->caller, nearest.best ? "; did you mean '" : "",
                      nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
  }
  return KDL_OK;
}

kdl_status ir_constants_bind(LLVMModuleRef module, const ir_request *request,
                             ir_constants *out_constants) {
  size_t count = 0;
  for (LLVMValueRef v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
    count += ir_constant_is(v);
  *out_constants = (ir_constants){
      .items = xarena_alloc(request->arena, (count + 1) * sizeof *out_constants->items)};
  for (LLVMValueRef v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v)) {
    if (ir_constant_is(v))
      KDL_TRY(bind_constant(v, request, &out_constants->items[out_constants->count++]));
  }
  if (!request->ignores_unused)
    KDL_TRY(check_used(request, out_constants));
  return KDL_OK;
}
