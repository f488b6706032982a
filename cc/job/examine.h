/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What can be read from compiled code: the features it needs, and its undefined functions. */
#ifndef KDL_CC_JOB_EXAMINE_H
#define KDL_CC_JOB_EXAMINE_H

#include "cc/source/kernels.h"
#include "cc/source/target.h"
#include "support/base/arena.h"

#include <kdl/kdl.h>

/* Adds the feature tokens of a SPIR-V module's capabilities. */
kdl_status cc_examine_capabilities(kdl_string module, kdl_feature_set *needs);

/* Sets the block of kernels without one from a SPIR-V module: OpenCL C has its own attribute for
 * it. */
void cc_examine_blocks(kdl_string module, cc_kernels *kernels);

/* Adds the features beyond the target's that functions of LLVM IR for a CPU may use, by their
 * target-features: from attributes of the source, and flags of the command line. */
void cc_examine_functions(kdl_string ir, const cc_target *target, kdl_feature_set *needs);

/* The first function that LLVM IR declares and does not define, and that no compiler provides;
 * empty if there is none. Points into the IR. */
kdl_string cc_examine_undefined(kdl_string ir, const cc_target *target);

/* Whether the IR calls a function of <kdl/math.h>'s libraries, and whether one of libm. */
bool cc_examine_math(kdl_string ir, const cc_target *target, bool *out_calls_libm);

/* Compares the kernels with those in the image, and their signatures with its parameters.
 * KDL_BAD_FILE if they differ, which means that this program misread the source. */
kdl_status cc_examine_kernels(kdl_image_kind kind, kdl_string image, const cc_kernels *kernels);

#endif
