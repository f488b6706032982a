/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions and variables of a module. */
#ifndef KDL_COMPILER_IR_LINKER_VALUE_H
#define KDL_COMPILER_IR_LINKER_VALUE_H

#include <kdl/kdl.h>

#include <llvm-c/Core.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The index of a function's own attributes; LLVM's constant is an int and the index type is not. */
#define IR_FUNCTION_ATTRIBUTES ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

/* The name of a function or variable. Never NULL; may contain NULs, which match nothing. */
kdl_string ir_value_name(LLVMValueRef value);

/* Whether other modules can see its definition. */
bool ir_value_is_exported(LLVMValueRef value);

/* Whether it is a specialization constant, bound at link time (constants.h). */
#define IR_CONSTANT_PREFIX "kdl_const_"
bool ir_constant_is(LLVMValueRef variable);

/* Whether it is a used declaration that is not an LLVM intrinsic. */
bool ir_value_is_needed(LLVMValueRef value);

/* Prints a type or value in LLVM's syntax, truncated to the buffer. */
void ir_type_print(LLVMTypeRef type, char *buffer, size_t size);
void ir_value_print(LLVMValueRef value, char *buffer, size_t size);

/* Calls `visit` for every global value of a module: functions, variables, aliases, ifuncs. `visit`
 * may delete the value. */
void ir_module_each_global(LLVMModuleRef module, void (*visit)(LLVMValueRef value, void *user),
                           void *user);

/* Hides a definition from other modules. */
void ir_internalize(LLVMValueRef value);

#ifdef __cplusplus
}
#endif

#endif
