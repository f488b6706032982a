/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Textual LLVM IR: what is read from it, and how it is edited, line by line.
 *
 * This header is all that others see of that, so that passes over LLVM can take the place of these
 * functions one by one.
 */
#ifndef KDL_TOOL_CC_IR_TEXT_H
#define KDL_TOOL_CC_IR_TEXT_H

#include "cc/source/kernels.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* Reading: functions and what they use (uses.c)                                                */

/* A name of a function's code. */
typedef struct cc_ir_use {
  size_t user;     /* the index of the function */
  kdl_string name; /* as IR has it: in quotes where it needs them */
  kdl_string line;
  bool is_call; /* it is the first name of a line with a call */
} cc_ir_use;

typedef struct cc_ir_uses {
  kdl_string *functions; /* the names of those that are defined */
  size_t function_count;
  cc_ir_use *items;
  size_t count;
} cc_ir_uses;

/* All of it lies in the IR and in the arena. */
cc_ir_uses cc_ir_read_uses(kdl_arena *arena, kdl_string ir);

/* The next name with an '@' from *at on, outside of strings and comments; *at is then behind it.
 * Names that need quotes keep them. */
bool cc_ir_next_name(kdl_string line, size_t *at, kdl_string *out_name);

/* The next function that is declared and not defined; false behind the last. */
bool cc_ir_next_declared(kdl_string *rest, kdl_string *out_name);

/* For CPUs: sets `waits` of kernels that call kdl_cc_barrier (<kdl/kernel/host.h>), or a function
 * that does, and `has_atomics`. In C++ what waits may be a member, a lambda or an instance of a
 * template. */
void cc_ir_find_barriers(kdl_arena *arena, kdl_string ir, cc_kernels *kernels);

/* ------------------------------------------------------------------------------------------ */
/* Reading: places in the source, by line tables (places.c). They lie in the IR                 */

/* Where the first call of a function is, or else its first use. */
cc_location cc_ir_location_of_use(kdl_string ir, kdl_string function);

/* Where a line of the IR comes from. */
cc_location cc_ir_location_of_line(kdl_string ir, kdl_string line);

/* Where a type is first used. */
cc_location cc_ir_location_of_type(kdl_string ir, const char *type);

/* Where a function is defined, or a variable first used. */
cc_location cc_ir_location_of_symbol(kdl_string ir, kdl_string name);

/* ------------------------------------------------------------------------------------------ */
/* Editing: variables of a group (group_variables.c)                                            */

/*
 * For CPUs: which work-item runs (kdl_item of <kdl/kernel/host.h>), and KDL_LOCAL. Sources see them
 * as variables of the file; they must be the group's own, since several threads run groups at once.
 *
 * In C they are thread-local variables of a section of their own. In Clang's IR before it is
 * optimised, each becomes a local variable of the function that runs a group, and a parameter of
 * every function below that needs it. Nothing thread-local is left, and in a kernel that is inlined
 * into the loop over its work-items the index is the loop's counter.
 *
 * KDL_BAD_FILE where that cannot be, as for thread-local variables of the source's own: the message
 * names them, and *out_cause is their name in the IR.
 */
kdl_status cc_ir_write_group_variables(kdl_arena *arena, kdl_string ir, const cc_kernels *kernels,
                                       FILE *out, kdl_string *out_cause);

/* ------------------------------------------------------------------------------------------ */
/* Editing: __bf16 (bf16.c)                                                                     */

/*
 * Where the backend of a target lacks the type. In SPIR-V it is an extension that drivers do not
 * have: there numbers become 16-bit integers, and arithmetic that of float, rounded to the nearest
 * behind every operation. For x86 and RISC-V LLVM calls a library function to round one number;
 * with integer operations in place of it, loops are vectorised.
 */
typedef enum cc_bf16_form {
  CC_BF16_INTEGERS, /* there is no such type */
  CC_BF16_ROUNDING  /* there is, but no instruction that rounds to it */
} cc_bf16_form;

/* Whether the IR has the type. */
bool cc_ir_has_bf16(kdl_string ir);

/* IR without the type, from IR that Clang wrote before any pass; in the arena. Operations that are
 * not known stay as they are, for the backend to refuse. */
kdl_string cc_ir_lower_bf16(kdl_arena *arena, kdl_string ir, cc_bf16_form form);

/* ------------------------------------------------------------------------------------------ */
/* Editing: addresses of atomics (atomic_places.c)                                              */

/* Whether IR for SPIR-V, optimised or not, may have addresses that LLVM's backend takes wrongly:
 * atomics, and variables of a group. */
bool cc_ir_may_have_atomic_addresses(kdl_string ir);

/* Gives each such address an instruction; in the arena. */
kdl_string cc_ir_lower_atomic_addresses(kdl_arena *arena, kdl_string ir);

#endif
