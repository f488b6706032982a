/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Microkernels: what a module that defines some must be, and how it becomes part of its callers.
 * For kdl-ld and for the MLIR plugin, which have errors of their own: a function that returns false
 * has written the reason.
 */
#ifndef KDL_COMPILER_IR_LINKER_UKERNEL_H
#define KDL_COMPILER_IR_LINKER_UKERNEL_H

#include "compiler/ir/linker/value.h"

#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ir_reason {
  char text[1024];
} ir_reason;

/* ------------------------------------------------------------------------------------------ */
/* Before linking (ukernel.c)                                                                   */

/* Whether a definition has the type and the calling convention with which `caller` declares it. */
bool ir_ukernel_has_signature(LLVMValueRef declared, LLVMValueRef defined, const char *caller,
                              ir_reason *why);

/* Whether the operands lie in memory as callers expect. The same parameter types may mean another
 * layout, which a mark names (KDL_UKERNEL_LAYOUT of <kdl/ukernel.h>). `declared` has the caller's
 * mark; without one, or NULL, built-in interfaces alone have a layout. Removes the mark. */
bool ir_ukernel_has_layout(LLVMValueRef declared, LLVMValueRef defined, ir_reason *why);

/* Whether a module has neither variables that may change nor constructors. */
bool ir_ukernel_is_stateless(LLVMModuleRef module, const char *symbol, ir_reason *why);

/* ------------------------------------------------------------------------------------------ */
/* Inlining (inline.c). Functions that cannot be inlined are refused before LLVM tries, since LLVM
 * does not report reasons. After inlining, remaining calls are counted in any case. */

/* Marks every function that a microkernel's module defines as part of the microkernel, to inline;
 * `keeps_calls`: except those that the module itself marks noinline, as libdevice's slow paths. */
bool ir_inline_mark(LLVMModuleRef module, kdl_string symbol, bool keeps_calls, ir_reason *why);

/* Whether all marked functions can be inlined. */
bool ir_inline_check(LLVMModuleRef module, ir_reason *why);

/* The number of calls of a microkernel's functions: of the one with that name, or of all (NULL). */
size_t ir_inline_count_calls(LLVMModuleRef module, const char *symbol);

/* Inlines marked functions. False where one is left, whose caller the reason names. `machine` may
 * be NULL. */
bool ir_inline_run(LLVMModuleRef module, LLVMTargetMachineRef machine, ir_reason *why);

/* Optimises what was inlined into. */
bool ir_inline_optimise(LLVMModuleRef module, LLVMTargetMachineRef machine, ir_reason *why);

#ifdef __cplusplus
}
#endif

#endif
