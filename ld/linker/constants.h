/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Constants that are bound when code is linked: variables kdl_const_NAME, see <kdl/ukernel.h>. */
#ifndef KDL_LD_CONSTANTS_H
#define KDL_LD_CONSTANTS_H

#include "ld/linker/module.h"
#include "ld/linker/request.h"

#define LD_CONSTANT_PREFIX "kdl_const_"

bool ld_constant_is(LLVMValueRef variable);

/* One that was bound. */
typedef struct ld_constant {
  char name[128];
  char type[32];
  char value[64];
  bool is_given; /* by the request, not by default */
} ld_constant;

typedef struct ld_constants {
  ld_constant *items;
  size_t count;
} ld_constants;

/* Checks that what two modules call by one name has one type. */
kdl_status ld_constants_agree(LLVMModuleRef into, LLVMModuleRef from, const char *name);

/* Gives every constant of the module its value, and makes it the module's own. */
kdl_status ld_constants_bind(LLVMModuleRef module, const ld_request *request,
                             ld_constants *out_constants);

#endif
