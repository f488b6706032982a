/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The code that `kdl cc` adds to a source file. */
#ifndef KDL_CC_SOURCE_WRAPPER_H
#define KDL_CC_SOURCE_WRAPPER_H

#include "cc/source/kernels.h"
#include "cc/source/target.h"

#include <kdl/kdl.h>

#include <stdio.h>

/* Copies the source, so that more C can follow it; messages name the source and its lines. */
kdl_status cc_source_copy(FILE *out, const char *path);

/* For the CPU, before the source: renames the functions that run one work-item, because the
 * functions that run a group have the kernels' names as symbols. */
void cc_wrapper_rename(FILE *out, const cc_kernels *kernels);

/* For the CPU: the functions and constants that <kdl/host_abi.h> requires for each kernel that is
 * written for one work-item. */
void cc_wrapper_write(FILE *out, cc_language language, const cc_kernels *kernels);

/* The one parameter that a check `i < n` can be about, in a block of one dimension; -1: there is
 * none. */
int cc_wrapper_bound_parameter(const cc_kernel *kernel);

/* The functions that compilers call implicitly: with these an image needs nothing from the program
 * that loads it. memset is always included. */
void cc_wrapper_write_memory(FILE *out, cc_language language);

/* ------------------------------------------------------------------------------------------ */
/* Signatures                                                                                   */

/* Only the compiler for the target knows the types of parameters: a typedef, an enum, the layout of
 * a structure, an address space. So Clang writes the answers, as constants, into an array. This
 * writes the queries, which follow the source in the file that is compiled to IR. */
void cc_signature_write_queries(FILE *out, const cc_target *target, cc_language language,
                                const cc_kernels *kernels);

/* Reads the array from the IR, and sets `sig`, `is_global` and `is_const`. */
kdl_status cc_signature_read(kdl_arena *arena, kdl_string ir, cc_kernels *kernels);

#endif
