/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/spirv/spirv.h"

#include "lib/inspect/libraries.h"
#include "support/base/error.h"

#include <llvm-c/Linker.h>

/* What opencl.c defines, of portable.offload. Definitions that nothing uses are not linked. */
static kdl_status read_library(ir_linker *linker, LLVMModuleRef *out_library) {
  ir_choice choice;
  const void *data;
  size_t size;
  const ir_candidate *chosen =
      ir_choose_ukernel(&linker->libraries, KDL_TEXT("kdl_cl_library"), linker->context, &choice);
  if (!chosen)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found no functions for SPIR-V, expected them in %s: SPIR-V is not "
                    "translated",
                    linker->request->caller,
                    linker->portable ? linker->portable
                                     : "portable.offload, which is not installed");
  KDL_TRY(kdl_library_bytes(chosen->library->lib, chosen->image, KDL_BYTES_VERIFIED, &data, &size));
  KDL_TRY(ir_module_read(linker->context, data, size, chosen->library->name, out_library));
  for (LLVMValueRef f = LLVMGetFirstFunction(*out_library); f; f = LLVMGetNextFunction(f)) {
    if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) != LLVMInternalLinkage)
      LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
  }
  return KDL_OK;
}

/* They are the module's own now. */
static void hide_definitions(LLVMModuleRef module) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (LLVMGetLinkage(f) == LLVMLinkOnceODRLinkage) {
      LLVMSetLinkage(f, LLVMInternalLinkage);
      LLVMSetVisibility(f, LLVMDefaultVisibility);
    }
  }
}

static kdl_status link_library(ir_linker *linker, LLVMModuleRef module, LLVMModuleRef library) {
  bool failed = LLVMLinkModules2(module, library); /* consumes the library */
  KDL_TRY(ir_context_check(linker->context, linker->request->caller));
  if (failed)
    return kdl_fail(KDL_BAD_FILE, "%s: LLVM cannot link the functions for SPIR-V",
                    linker->request->caller);
  hide_definitions(module);
  return ir_module_verify(module, linker->request->caller, "broken when it was translated");
}

kdl_status ir_spirv_read(ir_linker *linker, const void *data, size_t size) {
  LLVMModuleRef library;
  KDL_TRY(ir_spirv_translate(linker, data, size, &linker->module));
  KDL_TRY(ir_spirv_make_form(linker, &linker->module));
  KDL_TRY(read_library(linker, &library));
  kdl_status status = ir_spirv_define_instructions(linker, linker->module, library);
  if (status == KDL_OK)
    return link_library(linker, linker->module, library);
  LLVMDisposeModule(library);
  return status;
}
