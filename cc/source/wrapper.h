/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl cc` adds to a source file. */
#ifndef KDL_TOOL_CC_WRAPPER_H
#define KDL_TOOL_CC_WRAPPER_H

#include "cc/source/kernels.h"
#include "cc/source/target.h"

#include <kdl/kdl.h>

#include <stdio.h>

/* A copy of the source, so that more C can follow it; messages name the source and its lines. */
kdl_status cc_source_copy(FILE *out, const char *path);

/* For the CPU, to be put before the source: the symbols with the kernels' names are wanted for
 * functions that do a group, and so those that do a work-item get others. */
void cc_wrapper_rename(FILE *out, const cc_kernels *kernels);

/* For the CPU: the functions and constants that <kdl/host_abi.h> wants for each kernel that is
 * written for one work-item. */
void cc_wrapper_write(FILE *out, cc_language language, const cc_kernels *kernels);

/* What a compiler calls without being asked: an image that brings these along needs nothing of the
 * program that loads it. memset is there in any case. */
void cc_wrapper_write_memory(FILE *out, cc_language language);

/* ------------------------------------------------------------------------------------------ */
/* Signatures                                                                                   */

/* What the parameters of kernels are, only the compiler for the target knows: a typedef, an enum,
 * the layout of a structure, an address space. So it is asked to put the answers, as constants,
 * into an array. This writes what follows the source in the file that is compiled to IR. */
void cc_signature_write_queries(FILE *out, const cc_target *target, cc_language language,
                                const cc_kernels *kernels);

/* Reads the array from the IR, and sets `sig`, `is_global` and `is_const`. */
kdl_status cc_signature_read(kdl_arena *arena, kdl_string ir, cc_kernels *kernels);

#endif
