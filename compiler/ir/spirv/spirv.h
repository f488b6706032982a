/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * SPIR-V modules for OpenCL as callers of a link: a program translates one to LLVM IR, which
 * becomes portable bitcode (compiler/ir/portable/form.h) and is lowered as such (docs/portable.md).
 *
 *   read.c          all of it
 *   translate.c     runs llvm-spirv
 *   make_form.c     address spaces, conventions, group memory that is a parameter
 *   instructions.c  functions that stand for instructions of SPIR-V
 *   atomics.c       atomic operations
 *   subgroups.c     instructions of subgroups
 *   elementwise.c   those that work on each element of a vector: math, integers
 *   opencl.c        definitions of them in C, compiled to portable bitcode when kdl is built
 */
#ifndef KDL_COMPILER_IR_SPIRV_SPIRV_H
#define KDL_COMPILER_IR_SPIRV_SPIRV_H

#include "compiler/ir/linker/linker.h"

/* Whether the bytes are a SPIR-V module. */
bool ir_spirv_is(const void *data, size_t size);

/* Sets linker->module to portable bitcode. An error names the function and what is not
 * translated. */
kdl_status ir_spirv_read(ir_linker *linker, const void *data, size_t size);

/* ------------------------------------------------------------------------------------------ */
/* The parts                                                                                    */

/* The module as LLVM IR; the caller disposes of it. */
kdl_status ir_spirv_translate(ir_linker *linker, const void *data, size_t size,
                              LLVMModuleRef *out_module);

/* Replaces the module by one in the address spaces and conventions of the form. */
kdl_status ir_spirv_make_form(ir_linker *linker, LLVMModuleRef *module);

/* Defines the functions that stand for instructions. `library` has what opencl.c defines; it is
 * not changed. */
kdl_status ir_spirv_define_instructions(const ir_linker *linker, LLVMModuleRef module,
                                        LLVMModuleRef library);

/* ------------------------------------------------------------------------------------------ */
/* A function that is being defined                                                             */

typedef struct ir_instruction {
  LLVMModuleRef module, library;
  LLVMContextRef context;
  LLVMBuilderRef builder; /* at the function's end */
  LLVMValueRef function;
  kdl_string name;  /* "ocl_sin", "ConvertFToS": without the types that follow */
  kdl_string types; /* what follows: "_Rint4_sat_rteDv4_f" */
} ir_instruction;

/* 1 for a type that is no vector. */
unsigned ir_spirv_elements(LLVMTypeRef type);
LLVMTypeRef ir_spirv_element_type(LLVMTypeRef type);

/* Calls a function of opencl.c or of the form, which is declared where it is missing. */
LLVMValueRef ir_spirv_call(const ir_instruction *i, const char *name, LLVMTypeRef result,
                           LLVMValueRef *arguments, unsigned count);

/* Whether opencl.c defines it. */
bool ir_spirv_has(const ir_instruction *i, const char *name);

/* Replaces the calls of an atomic operation; false if the function is none. */
bool ir_spirv_replace_atomics(const ir_instruction *i);

/* Defines an instruction of subgroups; false if it is not translated. */
bool ir_spirv_define_subgroup(const ir_instruction *i);

/* Defines a function of math, integers or numbers for each element; false if there is none of
 * that name. */
bool ir_spirv_define_elementwise(const ir_instruction *i);

#endif
