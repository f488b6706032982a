/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The LLVM pass pipelines for a module with linked microkernels, shared by kdl-ld and MLIR's
 * translation, so that both generate the same code.
 */
#ifndef KDL_COMPILER_IR_LINKER_UKERNEL_PASSES_H
#define KDL_COMPILER_IR_LINKER_UKERNEL_PASSES_H

#include "compiler/ir/linker/linker.h"

/* Inlining runs first and alone: failures are reported before time is spent, and the other passes
 * then see constants instead of parameters. Before it, parameters must be in registers: only then
 * does the inliner know that an array whose size is a parameter has a constant size, and allocates
 * it in the frame, where later passes split it into registers. */
#define KDL_UKERNEL_INLINE_PASSES "function(simplifycfg,sroa,early-cse),always-inline,globaldce"

#define KDL_UKERNEL_OPTIMISE_PASSES "default<O3>"

/* The first half of them: inlining, constants, loops of a known length; no vectors yet, and loops
 * of unknown length as they are. */
#define KDL_UKERNEL_SIMPLIFY_PASSES "thinlto-pre-link<O3>"

/*
 * Leaves a module's loops as they are where LLVM's passes would not see their end.
 *
 * LLVM 23 asks of each value in a loop that it may vectorise whether more than the first lane of it
 * is used, and of each user of it the same, again for each way on which it gets there. A function
 * of math with a few dozen selections, as sin or pow, has more ways than it can follow in days.
 */
kdl_status ir_limit_vectoriser(const ir_linker *linker);

#endif
