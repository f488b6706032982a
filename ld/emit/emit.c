/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/emit/emit.h"

#include "ld/linker/exact_math.h"
#include "ld/linker/vectorise.h"
#include "lib/inspect/host_objects.h"
#include "lib/inspect/ukernel_passes.h"
#include "support/base/error.h"
#include "support/system/environment.h"
#include "tools/common/memory.h"

#include <llvm-c/BitWriter.h>

/* ------------------------------------------------------------------------------------------ */
/* Optimising                                                                                   */

static kdl_status run_passes(ld_linker *linker, const char *passes) {
  const char *name = linker->request->caller;
  KDL_TRY(ld_module_run_passes(linker->module, linker->target.machine, passes, name));
  return ld_context_check(linker->context, name);
}

kdl_status ld_emit_optimise(ld_linker *linker) {
  KDL_TRY(ld_module_verify(linker->module, linker->request->caller, "broken after linking"));
  ld_inline_raise_width(linker->module);
  KDL_TRY(run_passes(linker, KDL_UKERNEL_INLINE_PASSES));
  KDL_TRY(ld_inline_verify(linker->module));
  KDL_TRY(ld_limit_vectoriser(linker));
  KDL_TRY(run_passes(linker, KDL_UKERNEL_OPTIMISE_PASSES));
  ld_exact_math_restore(linker);
  KDL_TRY(ld_gpu_set_blocks(linker));
  linker->calls_after = ld_inline_count_calls(linker->module, NULL);
  ld_stages_end(&linker->stages, LD_STAGE_OPTIMISE);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Output                                                                                       */

static void set_output_bytes(const void *data, size_t size, const char *kind, ld_output *output) {
  output->kind = kind;
  output->data = memcpy(xmalloc(size), data, size);
  output->size = size;
}

static void set_output_buffer(LLVMMemoryBufferRef buffer, const char *kind, ld_output *output) {
  set_output_bytes(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), kind, output);
  LLVMDisposeMemoryBuffer(buffer);
}

/* For NVIDIA GPUs, assembly is passed through as it is: PTX names no files. This is before kdl-ld
 * adds assembly of its own: LLVM 24 returns that of a module only where it is in one piece. */
static kdl_status check_assembly(const ld_linker *linker) {
  return linker->target.family == KDL_FAMILY_NVPTX ? KDL_OK : ld_assembly_check(linker);
}

static kdl_status compile_module(ld_linker *linker, LLVMCodeGenFileType type, const char *kind,
                                 ld_output *output) {
  char *problem = NULL;
  LLVMMemoryBufferRef buffer;
  if (LLVMTargetMachineEmitToMemoryBuffer(linker->target.machine, linker->module, type, &problem,
                                          &buffer)) {
    kdl_status status = kdl_fail(KDL_UNSUPPORTED, "%s: LLVM: %s", linker->request->caller, problem);
    LLVMDisposeMessage(problem);
    return status;
  }
  set_output_buffer(buffer, kind, output);
  ld_stages_end(&linker->stages, LD_STAGE_COMPILE);
  return ld_context_check(linker->context, linker->request->caller);
}

/* No image can contain thread-local variables; docs/decisions/0009-group-variables.md covers those
 * of CPUs. */
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

static kdl_status emit_image(ld_linker *linker, ld_output *output) {
  bool is_nvidia = linker->target.family == KDL_FAMILY_NVPTX;
  KDL_TRY(refuse_thread_local(linker));
  KDL_TRY(check_assembly(linker));
  if (linker->target.family == KDL_FAMILY_SPIRV)
    return compile_module(linker, LLVMObjectFile, "spirv", output);
  if (!is_nvidia && linker->target.family != KDL_FAMILY_AMDGCN) {
    /* What the image needs, for readers that lack its metadata. */
    char text[KDL_HOST_NOTE_ROOM];
    kdl_out out = {text, sizeof text, 0};
    kdl_out_host_note(&out, linker->target.arch, "");
    LLVMAppendModuleInlineAsm(linker->module, text, out.used);
  }
  KDL_TRY(is_nvidia ? compile_module(linker, LLVMAssemblyFile, "ptx", output)
                    : compile_module(linker, LLVMObjectFile, "object", output));
  KDL_TRY(is_nvidia ? ld_image_from_ptx(linker, output) : ld_image_from_object(linker, output));
  ld_stages_end(&linker->stages, LD_STAGE_PROGRAM);
  return KDL_OK;
}

kdl_status ld_emit_output(ld_linker *linker, ld_output *out_output) {
  *out_output = (ld_output){.kind = ""};
  switch (linker->request->emit) {
  case LD_EMIT_IR: {
    char *text = cli_check_alloc(LLVMPrintModuleToString(linker->module));
    set_output_bytes(text, strlen(text), "ir", out_output);
    LLVMDisposeMessage(text);
    break;
  }
  case LD_EMIT_BITCODE:
    set_output_buffer(LLVMWriteBitcodeToMemoryBuffer(linker->module), "bitcode", out_output);
    break;
  case LD_EMIT_ASM:
    KDL_TRY(check_assembly(linker));
    return compile_module(linker, LLVMAssemblyFile, "asm", out_output);
  case LD_EMIT_IMAGE:
    return emit_image(linker, out_output);
  case LD_EMIT_CHOICE:
  case LD_EMIT_COUNT:
    break;
  }
  return KDL_OK;
}
