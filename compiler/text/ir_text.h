/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Textual LLVM IR, edited line by line where a backend of LLVM lacks something. `kdl cc` does so
 * where no kdl-ld is installed too, so these are no passes over LLVM (decision 9).
 */
#ifndef KDL_COMPILER_TEXT_IR_TEXT_H
#define KDL_COMPILER_TEXT_IR_TEXT_H

#include "support/base/arena.h"

#include <stdbool.h>

/* ------------------------------------------------------------------------------------------ */
/* __bf16 (bf16.c)                                                                              */

/*
 * For targets whose backend lacks the type. SPIR-V has it as an extension that drivers lack: values
 * become 16-bit integers, and arithmetic is done in float and rounded to nearest after each
 * operation. For x86 and RISC-V, LLVM calls a library function to round one number; with integer
 * operations instead, loops are vectorised.
 */
typedef enum ir_bf16_form {
  IR_BF16_INTEGERS, /* the target has no such type */
  IR_BF16_ROUNDING  /* it has the type, but no instruction that rounds to it */
} ir_bf16_form;

/* Whether the IR has the type. */
bool ir_text_has_bf16(kdl_string ir);

/* IR without the type, from unoptimised IR of Clang; in the arena. Unknown operations stay, and the
 * backend refuses them. */
kdl_string ir_text_lower_bf16(kdl_arena *arena, kdl_string ir, ir_bf16_form form);

/* ------------------------------------------------------------------------------------------ */
/* Addresses of atomics (atomic_addresses.c)                                                    */

/* Whether IR for SPIR-V, optimised or not, may have addresses that LLVM's backend gets wrong: it
 * has atomics, and group variables. */
bool ir_text_may_have_atomic_addresses(kdl_string ir);

/* Gives each such address an instruction; in the arena. */
kdl_string ir_text_lower_atomic_addresses(kdl_arena *arena, kdl_string ir);

#endif
