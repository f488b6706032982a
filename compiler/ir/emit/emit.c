/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/emit/emit.h"

#include "compiler/ir/linker/fold.h"
#include "compiler/ir/linker/ukernel_passes.h"
#include "lib/inspect/host_objects.h"
#include "support/base/error.h"
#include "support/system/environment.h"
#include "tools/common/memory.h"

#include <llvm-c/BitWriter.h>

/* ------------------------------------------------------------------------------------------ */
/* Optimising                                                                                   */

/* `reason` says why a step failed, unless LLVM did. */
static kdl_status check_step(ir_linker *linker, bool is_done, const ir_reason *reason) {
  KDL_TRY(ir_context_check(linker->context, linker->request->caller));
  return is_done ? KDL_OK
                 : kdl_fail(KDL_UNSUPPORTED, "%s: %s", linker->request->caller, reason->text);
}

kdl_status ir_emit_optimise(ir_linker *linker) {
  KDL_TRY(ir_module_verify(linker->module, linker->request->caller, "broken after linking"));
  ir_reason why;
  KDL_TRY(check_step(linker, ir_inline_run(linker->module, linker->target.machine, &why), &why));
  KDL_TRY(ir_limit_vectoriser(linker));
  KDL_TRY(
      check_step(linker, ir_inline_optimise(linker->module, linker->target.machine, &why), &why));
  ir_exact_math_restore(linker);
  KDL_TRY(ir_gpu_set_blocks(linker));
  linker->calls_after = ir_inline_count_calls(linker->module, NULL);
  ir_stages_end(&linker->stages, IR_STAGE_OPTIMISE);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Output                                                                                       */

static void set_output_bytes(const void *data, size_t size, const char *kind, ir_output *output) {
  output->kind = kind;
  output->data = memcpy(xmalloc(size), data, size);
  output->size = size;
}

static void set_output_buffer(LLVMMemoryBufferRef buffer, const char *kind, ir_output *output) {
  set_output_bytes(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), kind, output);
  LLVMDisposeMemoryBuffer(buffer);
}

/* For NVIDIA GPUs, assembly is passed through as it is: PTX names no files. This is before kdl-ld
 * adds assembly of its own: LLVM 24 returns that of a module only where it is in one piece. */
static kdl_status check_assembly(const ir_linker *linker) {
  return linker->target.family == KDL_FAMILY_NVPTX ? KDL_OK : ir_assembly_check(linker);
}

static kdl_status compile_module(ir_linker *linker, LLVMCodeGenFileType type, const char *kind,
                                 ir_output *output) {
  char *problem = NULL;
  LLVMMemoryBufferRef buffer;
  if (LLVMTargetMachineEmitToMemoryBuffer(linker->target.machine, linker->module, type, &problem,
                                          &buffer)) {
    kdl_status status = kdl_fail(KDL_UNSUPPORTED, "%s: LLVM: %s", linker->request->caller, problem);
    LLVMDisposeMessage(problem);
    return status;
  }
  set_output_buffer(buffer, kind, output);
  ir_stages_end(&linker->stages, IR_STAGE_COMPILE);
  return ir_context_check(linker->context, linker->request->caller);
}

/* No image can contain thread-local variables; docs/decisions/0009-group-variables.md covers those
 * of CPUs. */
static kdl_status refuse_thread_local(const ir_linker *linker) {
  for (LLVMValueRef v = LLVMGetFirstGlobal(linker->module); v; v = LLVMGetNextGlobal(v)) {
    if (LLVMIsThreadLocal(v))
      return kdl_fail(
          KDL_UNSUPPORTED,
          "%s: the variable '%.128s' is thread-local, which an image cannot have; where "
          "it is kdl cc's own, compile the kernels again with this version of it",
          linker->request->caller, ir_value_name(v).data);
  }
  return KDL_OK;
}

static kdl_status emit_image(ir_linker *linker, ir_output *output) {
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
  KDL_TRY(is_nvidia ? ir_image_from_ptx(linker, output) : ir_image_from_object(linker, output));
  ir_stages_end(&linker->stages, IR_STAGE_PROGRAM);
  return KDL_OK;
}

kdl_status ir_emit_output(ir_linker *linker, ir_output *out_output) {
  *out_output = (ir_output){.kind = ""};
  switch (linker->request->emit) {
  case IR_EMIT_IR: {
    char *text = cli_check_alloc(LLVMPrintModuleToString(linker->module));
    set_output_bytes(text, strlen(text), "ir", out_output);
    LLVMDisposeMessage(text);
    break;
  }
  case IR_EMIT_BITCODE:
    set_output_buffer(LLVMWriteBitcodeToMemoryBuffer(linker->module), "bitcode", out_output);
    break;
  case IR_EMIT_ASM:
    KDL_TRY(check_assembly(linker));
    return compile_module(linker, LLVMAssemblyFile, "asm", out_output);
  case IR_EMIT_IMAGE:
    return emit_image(linker, out_output);
  case IR_EMIT_CHOICE:
  case IR_EMIT_COUNT:
    break;
  }
  return KDL_OK;
}
