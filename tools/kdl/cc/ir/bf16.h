/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * __bf16 where the backend of a target lacks it. In SPIR-V it is an extension that drivers do not
 * have: there numbers become 16-bit integers, and arithmetic that of float, rounded to the nearest
 * behind every operation. For x86 and RISC-V LLVM calls a library function to round one number;
 * with integer operations in place of it, loops are vectorised.
 */
#ifndef KDL_TOOL_CC_BF16_H
#define KDL_TOOL_CC_BF16_H

#include "base/arena.h"

#include <kdl/kdl.h>

#include <stdbool.h>

typedef enum cc_bf16_form {
  CC_BF16_INTEGERS, /* there is no such type */
  CC_BF16_ROUNDING  /* there is, but no instruction that rounds to it */
} cc_bf16_form;

/* Whether the text of LLVM IR has the type. */
bool cc_bf16_is_in(kdl_string ir);

/* The text of a module with the type, from one that Clang wrote before any pass. Operations that
 * are not known stay as they are, for the backend to refuse. */
kdl_status cc_bf16_lower(kdl_arena *arena, kdl_string ir, cc_bf16_form form, kdl_string *out_ir);

#endif
