/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LLVM's context and modules: reading bitcode, and what LLVM complains about. */
#ifndef KDL_LD_MODULE_H
#define KDL_LD_MODULE_H

#include <kdl/kdl.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include <stdbool.h>

/* Where a function's own attributes are, among those of its parameters; LLVM's name for it is an
 * int and the index is not. */
#define LD_FUNCTION_ATTRIBUTES ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

/* One LLVM context, whose complaints become errors of ours. */
typedef struct ld_context {
  LLVMContextRef llvm;
  bool has_failed;
  char diagnostic[1024]; /* the first error since ld_context_check */
} ld_context;

void ld_context_init(ld_context *context);
void ld_context_free(ld_context *context);

/* KDL_BAD_FILE with the complaint where LLVM had one since the last call; `what` was being done. */
kdl_status ld_context_check(ld_context *context, const char *what);

/* Reads bitcode, which must live as long as the module, checks it, and drops its debug information.
 * `name` is for messages. */
kdl_status ld_module_read(ld_context *context, const void *data, size_t size, const char *name,
                          LLVMModuleRef *out_module);

/* Runs passes; `machine` may be NULL. `name` is for messages, and may be NULL. */
kdl_status ld_module_run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                const char *passes, const char *name);

/* KDL_BAD_FILE where LLVM finds the module broken: "NAME: PROBLEM: ..." */
kdl_status ld_module_verify(LLVMModuleRef module, const char *name, const char *problem);

/* The name of a function or variable. Never NULL; may hold NULs, which nothing matches. */
kdl_string ld_value_name(LLVMValueRef value);

/* Whether a definition of it can be seen from other modules. */
bool ld_value_is_exported(LLVMValueRef value);

/* Whether it is a declaration that is used and not one of LLVM's own functions. */
bool ld_value_is_needed(LLVMValueRef value);

/* A type or value as LLVM writes it, cut to the buffer. */
void ld_type_print(LLVMTypeRef type, char *buffer, size_t size);
void ld_value_print(LLVMValueRef value, char *buffer, size_t size);

/* Calls `visit` with every global value of a module: functions, variables, aliases, ifuncs. What
 * is visited may be deleted. */
void ld_module_each_global(LLVMModuleRef module, void (*visit)(LLVMValueRef value, void *user),
                           void *user);

#endif
