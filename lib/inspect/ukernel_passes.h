/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What LLVM does to a module whose microkernels were linked in, in the words of its pass builder:
 * one text for kdl-ld and for MLIR's translation, so that both make the same code of a microkernel.
 */
#ifndef KDL_BITCODE_UKERNEL_PASSES_H
#define KDL_BITCODE_UKERNEL_PASSES_H

/* Inlining comes first and alone: what cannot be inlined is told before time is spent, and the
 * other passes then see constants where the microkernels had parameters. Before it, parameters must
 * be in registers: only then does inlining know that an array whose size is a parameter has a
 * constant size here, and gives it a place in the frame, from where the others take it apart into
 * registers. */
#define KDL_UKERNEL_INLINE_PASSES "function(simplifycfg,sroa,early-cse),always-inline,globaldce"

#define KDL_UKERNEL_OPTIMISE_PASSES "default<O3>"

#endif
