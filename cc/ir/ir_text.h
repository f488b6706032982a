/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Textual LLVM IR, read and edited line by line. With compiler/text, these alone depend on the
 * text.
 *
 * What reads it decides what a compile needs, and names lines of it in messages: `kdl cc` does that
 * where no kdl-ld is installed too, so these are no passes over LLVM. The one edit is no pass for
 * the same reason: every image for a CPU has it, and only kernels with barriers need kdl-ld
 * (cc/job/lower_groups.c, decision 9).
 */
#ifndef KDL_CC_IR_IR_TEXT_H
#define KDL_CC_IR_IR_TEXT_H

#include "cc/source/kernels.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* Reading: functions and what they use (uses.c)                                                */

/* A name that a function's code uses. */
typedef struct cc_ir_use {
  size_t user;     /* the index of the using function */
  kdl_string name; /* as in IR: in quotes if it needs them */
  kdl_string line;
  bool is_call; /* the first name in a line with a call */
} cc_ir_use;

typedef struct cc_ir_uses {
  kdl_string *functions; /* the names of the defined functions */
  size_t function_count;
  cc_ir_use *items;
  size_t count;
} cc_ir_uses;

/* The results are in the IR and in the arena. */
cc_ir_uses cc_ir_read_uses(kdl_arena *arena, kdl_string ir);

/* The next name with '@' from *at on, outside of strings and comments; moves *at past it. Names
 * that need quotes keep them. */
bool cc_ir_next_name(kdl_string line, size_t *at, kdl_string *out_name);

/* The next function that is declared and not defined; false after the last. */
bool cc_ir_next_declared(kdl_string *rest, kdl_string *out_name);

/* For CPUs: sets `has_barrier` of kernels that call kdl_cc_barrier (<kdl/kernel/host.h>) directly
 * or indirectly, and `has_atomics`. In C++ the caller may be a member, a lambda or a template
 * instance. */
void cc_ir_find_barriers(kdl_arena *arena, kdl_string ir, cc_kernels *kernels);

/* ------------------------------------------------------------------------------------------ */
/* Reading: source locations, from line tables (debug_locations.c). They are in the IR          */

/* The location of the first call of a function, else of its first use. */
cc_location cc_ir_location_of_use(kdl_string ir, kdl_string function);

/* The location of a line of the IR. */
cc_location cc_ir_location_of_line(kdl_string ir, kdl_string line);

/* The location of the first use of a type. */
cc_location cc_ir_location_of_type(kdl_string ir, const char *type);

/* The location of a function's definition, or of a variable's first use. */
cc_location cc_ir_location_of_symbol(kdl_string ir, kdl_string name);

/* ------------------------------------------------------------------------------------------ */
/* Editing: variables of a group (group_variables.c)                                            */

/*
 * For CPUs: the current work-item (kdl_item of <kdl/kernel/host.h>), and KDL_LOCAL. Sources see
 * them as file-scope variables; each group must have its own, because several threads run groups in
 * parallel.
 *
 * In C they are thread-local variables in a section of their own. This edits Clang's unoptimised
 * IR: each one becomes a local variable of the function that runs a group, and a parameter of every
 * function below that needs it. No thread-local variable remains, and in a kernel that is inlined
 * into the loop over its work-items the index is the loop counter.
 *
 * KDL_BAD_FILE if that is not possible, as for the source's own thread-local variables: the message
 * names them, and *out_cause is their name in the IR.
 */
kdl_status cc_ir_write_group_variables(kdl_arena *arena, kdl_string ir, const cc_kernels *kernels,
                                       FILE *out, kdl_string *out_cause);

#endif
