/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The libraries that implement <kdl/math.h>: bitcode from which Clang links what is called.
 *
 *     CPUs      math-x86_64.bc and so on: libclc's functions, installed with kdl
 *     NVIDIA    CUDA's libdevice.10.bc, and math-nvptx64.bc
 *     AMD       ROCm's ocml.bc
 *
 * Macros define which of them exist. If one is missing, the header declares its functions
 * unavailable, so that Clang reports the line of the call.
 */
#ifndef KDL_CC_JOB_MATH_H
#define KDL_CC_JOB_MATH_H

#include "cc/job/job.h"

/* The folder of kdl's own libraries; NULL where it is unknown. */
const char *cc_math_folder(kdl_arena *arena);

/* Options for every compilation. */
void cc_math_define(kdl_string_list *words, const cc_job *job);

/* Whether a function that IR declares is in these libraries. */
bool cc_math_has(const cc_target *target, kdl_string name);

/* Whether an image for the CPU leaves the function to the machine's libm. */
bool cc_math_is_libm(kdl_string name);

/* Prepares linking of the libraries, if the job's source calls them. */
kdl_status cc_math_prepare(cc_job *job);

/* Options for the compilation that links the functions. */
void cc_math_link(kdl_string_list *words, const cc_job *job);

#endif
