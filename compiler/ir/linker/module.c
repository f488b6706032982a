/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/module.h"

#include "lib/inspect/formats.h"
#include "support/base/error.h"
#include "tools/common/memory.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Diagnostics                                                                                  */

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
  ir_context *context = user;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || context->has_failed)
    return;
  char *text = LLVMGetDiagInfoDescription(info);
  snprintf(context->diagnostic, sizeof context->diagnostic, "%s", text);
  LLVMDisposeMessage(text);
  context->has_failed = true;
}

void ir_context_init(ir_context *context) {
  *context = (ir_context){.llvm = LLVMContextCreate()};
  LLVMContextSetDiagnosticHandler(context->llvm, on_diagnostic, context);
}

void ir_context_free(ir_context *context) {
  LLVMContextDispose(context->llvm);
}

kdl_status ir_context_check(ir_context *context, const char *what) {
  if (!context->has_failed)
    return KDL_OK;
  context->has_failed = false;
  return kdl_fail(KDL_BAD_FILE, "%s: LLVM: %s", what, context->diagnostic);
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

/* LLVM reads bitcode of older versions. Of newer ones it refuses some and may misread others. */
static kdl_status check_producer(const void *data, size_t size, const char *name) {
  char producer[64];
  unsigned major, minor, patch;
  kdl_bitcode_producer(data, size, producer, sizeof producer);
  LLVMGetVersion(&major, &minor, &patch);
  if (strncmp(producer, "LLVM", 4) != 0 || strtoul(producer + 4, NULL, 10) <= major)
    return KDL_OK;
  return kdl_fail(KDL_UNSUPPORTED,
                  "%s: found bitcode of LLVM %s, expected that of LLVM %u.%u.%u, which this kdl-ld "
                  "is built with, or older: compile it with that, or use a newer kdl-ld",
                  name, producer + 4, major, minor, patch);
}

kdl_status ir_module_verify(LLVMModuleRef module, const char *name, const char *problem) {
  char *found = NULL;
  kdl_status status = KDL_OK;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &found))
    status =
        kdl_fail(KDL_BAD_FILE, "%s: %s: %.*s", name, problem, (int)strcspn(found, "\n"), found);
  LLVMDisposeMessage(found);
  return status;
}

kdl_status ir_module_run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                const char *passes, const char *name) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!error)
    return KDL_OK;
  char *problem = LLVMGetErrorMessage(error);
  kdl_status status =
      kdl_fail(KDL_BAD_FILE, "%s%sLLVM: %s", name ? name : "", name ? ": " : "", problem);
  LLVMDisposeErrorMessage(problem);
  return status;
}

kdl_status ir_module_read(ir_context *context, const void *data, size_t size, const char *name,
                          LLVMModuleRef *out_module) {
  KDL_TRY(check_producer(data, size, name));
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(data, size, name, 0);
  LLVMModuleRef module = NULL;
  bool failed = LLVMParseBitcodeInContext2(context->llvm, buffer, &module);
  LLVMDisposeMemoryBuffer(buffer);
  kdl_status status = ir_context_check(context, name);
  if (status == KDL_OK && failed)
    status = kdl_fail(KDL_BAD_FILE, "%s: found bitcode that LLVM cannot read", name);
  if (status == KDL_OK)
    status = ir_module_verify(module, name, "found bitcode that LLVM calls broken");
  if (status != KDL_OK) {
    if (module)
      LLVMDisposeModule(module);
    return status;
  }
  LLVMStripModuleDebugInfo(module);
  *out_module = module;
  return KDL_OK;
}

kdl_status ir_module_read_text(ir_context *context, const void *data, size_t size, const char *name,
                               LLVMModuleRef *out_module) {
  KDL_TRY(check_producer(data, size, name));
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(data, size, name);
  char *problem = NULL;
  bool failed = LLVMParseIRInContext2(context->llvm, buffer, out_module, &problem);
  LLVMDisposeMemoryBuffer(buffer);
  kdl_status status = ir_context_check(context, name);
  if (failed && status == KDL_OK)
    status = kdl_fail(KDL_BAD_FILE, "%s: found IR that LLVM cannot read: %s", name,
                      problem ? problem : "");
  LLVMDisposeMessage(problem);
  return status;
}

void ir_copy_attributes(LLVMValueRef from, LLVMValueRef to, LLVMAttributeIndex index) {
  unsigned count = LLVMGetAttributeCountAtIndex(from, index);
  LLVMAttributeRef *attributes = xmalloc((count + 1) * sizeof(LLVMAttributeRef));
  LLVMGetAttributesAtIndex(from, index, attributes);
  for (unsigned i = 0; i < count; ++i)
    LLVMAddAttributeAtIndex(to, index, attributes[i]);
  free(attributes);
}
