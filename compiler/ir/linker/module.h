/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LLVM's context and modules: reading bitcode, and LLVM's diagnostics. */
#ifndef KDL_COMPILER_IR_LINKER_MODULE_H
#define KDL_COMPILER_IR_LINKER_MODULE_H

#include "compiler/ir/linker/value.h"

#include <llvm-c/TargetMachine.h>

#include <stdbool.h>

/* An LLVM context whose diagnostics become our errors. */
typedef struct ir_context {
  LLVMContextRef llvm;
  bool has_failed;
  char diagnostic[1024]; /* the first error since ir_context_check */
} ir_context;

void ir_context_init(ir_context *context);
void ir_context_free(ir_context *context);

/* KDL_BAD_FILE with LLVM's error since the last call, if any; the message names `what`. */
kdl_status ir_context_check(ir_context *context, const char *what);

/* Reads and verifies bitcode, which must outlive the module, and drops its debug information.
 * `name` is for messages. */
kdl_status ir_module_read(ir_context *context, const void *data, size_t size, const char *name,
                          LLVMModuleRef *out_module);

/* Reads IR as text or bitcode that this project's programs made, with its debug information. */
kdl_status ir_module_read_text(ir_context *context, const void *data, size_t size, const char *name,
                               LLVMModuleRef *out_module);

/* Runs passes; `machine` may be NULL. `name` is for messages, and may be NULL. */
kdl_status ir_module_run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                const char *passes, const char *name);

/* KDL_BAD_FILE where LLVM finds the module invalid: "NAME: PROBLEM: ..." */
kdl_status ir_module_verify(LLVMModuleRef module, const char *name, const char *problem);

/* For a function that takes the place of another. */
void ir_copy_attributes(LLVMValueRef from, LLVMValueRef to, LLVMAttributeIndex index);

#endif
