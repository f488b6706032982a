/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The form of portable bitcode (docs/portable.md): a module that names no target. `kdl cc` has it
 * made from Clang's IR; every link of such a module checks it again.
 */
#ifndef KDL_COMPILER_IR_PORTABLE_FORM_H
#define KDL_COMPILER_IR_PORTABLE_FORM_H

#include "compiler/ir/linker/module.h"

enum { IR_FORM_VERSION = 1 };

/* Conventions of kernels: of the form, and of targets. */
enum { IR_SPIR_KERNEL = 76, IR_PTX_KERNEL = 71, IR_AMDGPU_KERNEL = 91 };

/* Address spaces of the form. */
enum { IR_SPACE_GENERIC, IR_SPACE_GLOBAL, IR_SPACE_GROUP = 3, IR_SPACE_CONSTANT, IR_SPACE_PRIVATE };

/* What a launch knows of a kernel; stored as an attribute of its function. */
typedef struct ir_form_kernel {
  const char *name;
  uint32_t block[3]; /* 0: the launch decides */
  uint32_t tile[3];
  int bound; /* the parameter that a check `i < n` is about; -1: none */
} ir_form_kernel;

/* Whether the module is portable bitcode, of any version. */
bool ir_form_is(LLVMModuleRef module);

/* Removes the names of the target that a compiler wrote the module for, marks it, and checks it;
 * `name` is for messages. */
kdl_status ir_form_make(LLVMModuleRef module, const ir_form_kernel *kernels, size_t count,
                        const char *name);

/* KDL_UNSUPPORTED for a later version; KDL_BAD_FILE, with the function and where known the line,
 * for what the form does not allow. */
kdl_status ir_form_check(LLVMModuleRef module, const char *name);

/* KDL_BAD_FILE where the module computes in half or double precision and `needs`, the image's
 * metadata of that name, lacks it. */
kdl_status ir_form_check_needs(LLVMModuleRef module, kdl_string needs, const char *name);

/* The attribute of a kernel's function; without one, the launch decides. */
void ir_form_kernel_of(LLVMValueRef function, ir_form_kernel *out_kernel);

/* "X,Y,Z,X,Y,Z,N": block, tile, and the parameter of the bound. */
bool ir_form_kernel_parse(kdl_string text, ir_form_kernel *out_kernel);

#endif
