/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The libraries behind <kdl/math.h>: bitcode that Clang links, taking what is called.
 *
 *     CPUs      math-x86_64.bc and its like, libclc's functions, which come with kdl
 *     NVIDIA    CUDA's libdevice.10.bc, and math-nvptx64.bc
 *     AMD       ROCm's ocml.bc
 *
 * The header is told which of them there are, by macros. Where one is missing, its functions are
 * declared unavailable, so that Clang's message has the line of the call.
 */
#ifndef KDL_TOOL_CC_MATH_H
#define KDL_TOOL_CC_MATH_H

#include "cc/job/job.h"

/* Looks for the libraries, NVIDIA's also beside its assembler; what is not there is NULL. */
void cc_math_find(kdl_arena *arena, const char *ptxas, cc_math_libraries *out_libraries);

/* Words for every compilation. */
void cc_math_define(kdl_string_list *words, const cc_job *job);

/* Whether a function that IR declares is one of these libraries'. */
bool cc_math_has(const cc_target *target, kdl_string name);

/* Whether it is one that an image for the CPU leaves to the machine's libm. */
bool cc_math_is_libm(kdl_string name);

/* Makes what a job needs to link the libraries, if its source calls them. */
kdl_status cc_math_prepare(cc_job *job);

/* Words for the compilation that is to have the functions. */
void cc_math_link(kdl_string_list *words, const cc_job *job);

#endif
