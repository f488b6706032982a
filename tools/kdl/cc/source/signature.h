/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the parameters of kernels are. Only the compiler for the target knows: a typedef,
 * an enum, the layout of a structure, an address space. So it is asked to put the answers, as
 * constants, into an array, and the array is read from the IR it writes.
 */
#ifndef KDL_TOOL_CC_SIGNATURE_H
#define KDL_TOOL_CC_SIGNATURE_H

#include "cc/source/kernels.h"
#include "cc/source/language.h"
#include "cc/source/target.h"

#include <stdio.h>

/* Writes what follows the source in the file that is compiled to IR. */
void cc_signature_ask(FILE *out, const cc_target *target, cc_language language,
                      const cc_kernels *kernels);

/* Reads the answers and sets `sig`, `is_global` and `is_const`. */
kdl_status cc_signature_read(kdl_arena *arena, kdl_string ir, cc_kernels *kernels);

#endif
