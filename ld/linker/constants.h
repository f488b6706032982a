/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Specialisation constants, bound at link time: variables kdl_const_NAME, see <kdl/ukernel.h>. */
#ifndef KDL_LD_CONSTANTS_H
#define KDL_LD_CONSTANTS_H

#include "ld/linker/module.h"
#include "ld/linker/request.h"

#define LD_CONSTANT_PREFIX "kdl_const_"

bool ld_constant_is(LLVMValueRef variable);

/* A bound constant. */
typedef struct ld_constant {
  char name[128];
  char type[32];
  char value[64];
  bool is_given; /* set by the request, not a default */
} ld_constant;

typedef struct ld_constants {
  ld_constant *items;
  size_t count;
} ld_constants;

/* Checks that a constant has the same type in both modules. */
kdl_status ld_constants_agree(LLVMModuleRef into, LLVMModuleRef from, const char *name);

/* Sets the value of every constant of the module, and gives it internal linkage. */
kdl_status ld_constants_bind(LLVMModuleRef module, const ld_request *request,
                             ld_constants *out_constants);

#endif
