/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Specialization constants, bound at link time: variables kdl_const_NAME, see <kdl/ukernel.h>. */
#ifndef KDL_COMPILER_IR_LINKER_CONSTANTS_H
#define KDL_COMPILER_IR_LINKER_CONSTANTS_H

#include "compiler/ir/linker/module.h"
#include "compiler/ir/linker/request.h"

/* A bound constant. */
typedef struct ir_constant {
  char name[128];
  char type[32];
  char value[64];
  bool is_given; /* set by the request, not a default */
} ir_constant;

typedef struct ir_constants {
  ir_constant *items;
  size_t count;
} ir_constants;

/* Checks that a constant has the same type in both modules. */
kdl_status ir_constants_agree(LLVMModuleRef into, LLVMModuleRef from, const char *name);

/* Sets the value of every constant of the module, and gives it internal linkage. */
kdl_status ir_constants_bind(LLVMModuleRef module, const ir_request *request,
                             ir_constants *out_constants);

#endif
