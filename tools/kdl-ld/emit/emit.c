/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "emit/emit.h"

#include "base/error.h"
#include "bitcode/ukernel_passes.h"
#include "emit/assembly.h"
#include "emit/image_programs.h"
#include "image/host/host_note.h"
#include "linker/inline.h"
#include "system/environment.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Optimising                                                                                   */

static kdl_status run_passes(ld_linker *linker, const char *passes) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(linker->module, passes, linker->target.machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!error)
    return ld_context_check(linker->context, linker->request->caller);
  char *problem = LLVMGetErrorMessage(error);
  kdl_status status = kdl_fail(KDL_BAD_FILE, "%s: LLVM: %s", linker->request->caller, problem);
  LLVMDisposeErrorMessage(problem);
  return status;
}

static kdl_status verify(ld_linker *linker) {
  char *problem = NULL;
  kdl_status status = KDL_OK;
  if (LLVMVerifyModule(linker->module, LLVMReturnStatusAction, &problem))
    status = kdl_fail(KDL_BAD_FILE, "%s: broken after linking: %.*s", linker->request->caller,
                      (int)strcspn(problem, "\n"), problem);
  LLVMDisposeMessage(problem);
  return status;
}

kdl_status ld_emit_optimise(ld_linker *linker) {
  kdl_status status = verify(linker);
  if (status == KDL_OK)
    status = run_passes(linker, KDL_UKERNEL_INLINE_PASSES);
  if (status == KDL_OK)
    status = ld_inline_verify(linker->module);
  if (status == KDL_OK)
    status = run_passes(linker, KDL_UKERNEL_OPTIMISE_PASSES);
  if (status == KDL_OK)
    linker->calls_after = ld_inline_count_calls(linker->module, NULL);
  ld_stages_count(&linker->stages, LD_STAGE_OPTIMISE);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Output                                                                                       */

static kdl_status keep(const void *data, size_t size, const char *kind, ld_output *output) {
  output->kind = kind;
  output->data = malloc(size + 1);
  if (!output->data)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %zu bytes of %s", size, kind);
  memcpy(output->data, data, size);
  output->size = size;
  return KDL_OK;
}

static kdl_status keep_buffer(LLVMMemoryBufferRef buffer, const char *kind, ld_output *output) {
  kdl_status status = keep(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), kind, output);
  LLVMDisposeMemoryBuffer(buffer);
  return status;
}

static kdl_status write_ir(const ld_linker *linker, ld_output *output) {
  char *text = LLVMPrintModuleToString(linker->module);
  if (!text)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the text of the module");
  kdl_status status = keep(text, strlen(text), "ir", output);
  LLVMDisposeMessage(text);
  return status;
}

static kdl_status compile(ld_linker *linker, LLVMCodeGenFileType type, const char *kind,
                          ld_output *output) {
  char *problem = NULL;
  LLVMMemoryBufferRef buffer;
  /* For NVIDIA's GPUs it is passed on as it is: PTX names no files. */
  if (linker->target.family != KDL_FAMILY_NVPTX) {
    kdl_status status = ld_assembly_check(linker);
    if (status != KDL_OK)
      return status;
  }
  if (LLVMTargetMachineEmitToMemoryBuffer(linker->target.machine, linker->module, type, &problem,
                                          &buffer)) {
    kdl_status status = kdl_fail(KDL_UNSUPPORTED, "%s: LLVM: %s", linker->request->caller, problem);
    LLVMDisposeMessage(problem);
    return status;
  }
  kdl_status status = keep_buffer(buffer, kind, output);
  if (status == KDL_OK)
    status = ld_context_check(linker->context, linker->request->caller);
  ld_stages_count(&linker->stages, LD_STAGE_COMPILE);
  return status;
}

/* No image can have them; see docs/decisions/0009-group-variables.md for the CPU's. */
static kdl_status refuse_thread_local(const ld_linker *linker) {
  for (LLVMValueRef v = LLVMGetFirstGlobal(linker->module); v; v = LLVMGetNextGlobal(v)) {
    if (LLVMIsThreadLocal(v))
      return kdl_fail(
          KDL_UNSUPPORTED,
          "%s: the variable '%.128s' is thread-local, which an image cannot have; where "
          "it is kdl cc's own, compile the kernels again with this version of it",
          linker->request->caller, ld_value_name(v).data);
  }
  return KDL_OK;
}

/* What the image needs, for those who have it without its metadata. */
static void add_note(const ld_linker *linker) {
  char text[KDL_HOST_NOTE_ROOM];
  kdl_out out = {text, sizeof text, 0};
  kdl_out_host_note(&out, linker->target.arch, "");
  LLVMAppendModuleInlineAsm(linker->module, text, out.used);
}

static kdl_status make_image(ld_linker *linker, ld_output *output) {
  bool is_nvidia = linker->target.family == KDL_FAMILY_NVPTX;
  bool is_amd = linker->target.family == KDL_FAMILY_AMDGCN;
  kdl_status status = refuse_thread_local(linker);
  if (status == KDL_OK && !is_nvidia && !is_amd)
    add_note(linker);
  if (status == KDL_OK)
    status = is_nvidia ? compile(linker, LLVMAssemblyFile, "ptx", output)
                       : compile(linker, LLVMObjectFile, "object", output);
  if (status == KDL_OK)
    status = is_nvidia ? ld_image_from_ptx(linker, output) : ld_image_from_object(linker, output);
  ld_stages_count(&linker->stages, LD_STAGE_PROGRAM);
  return status;
}

kdl_status ld_emit_output(ld_linker *linker, ld_output *out_output) {
  *out_output = (ld_output){.kind = ""};
  switch (linker->request->emit) {
  case LD_EMIT_IR:
    return write_ir(linker, out_output);
  case LD_EMIT_BITCODE:
    return keep_buffer(LLVMWriteBitcodeToMemoryBuffer(linker->module), "bitcode", out_output);
  case LD_EMIT_ASM:
    return compile(linker, LLVMAssemblyFile, "asm", out_output);
  case LD_EMIT_IMAGE:
    return make_image(linker, out_output);
  case LD_EMIT_CHOICE:
  case LD_EMIT_COUNT:
    break;
  }
  return KDL_OK;
}
