/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Values of a launch that become constants of the kernel (--fold): arguments, by their bits, the
 * block, and the alignment of pointers. Parameters stay: a launch passes all arguments as before,
 * and the caller of libkdl's entry guarantees that they have these values.
 *
 * Results do not change by a bit, except the sign and payload of NaNs. So bitcode with fast-math
 * flags is refused, functions of math keep their calls although their arguments are constant, and
 * multiply-add is folded with the roundings that the device has.
 */
#ifndef KDL_COMPILER_IR_LINKER_FOLD_H
#define KDL_COMPILER_IR_LINKER_FOLD_H

#include "compiler/ir/linker/linker.h"

/* After everything is linked, before it is optimised. Nothing without --fold. */
kdl_status ir_fold(ir_linker *linker);

/* ------------------------------------------------------------------------------------------ */
/* Exact math                                                                                   */

/*
 * Keeps LLVM from computing with constants what the device computes with other roundings:
 *
 *   - functions of math whose result is not the nearest number (exp, pow, ...) are not evaluated,
 *     and not replaced by others, as pow(x, 2) by x * x;
 *   - a multiply-add that may round once or twice is made the one that the device has
 *     (llvm.fmuladd).
 *
 * LLVM evaluates some of these in the kernel without constants too, where literals decide. So its
 * passes that simplify run first; what they leave is what the device computes.
 *
 * Fails where code allows LLVM to choose the roundings (fast-math), or has instructions that LLVM
 * evaluates more exactly than the device.
 */

kdl_status ir_exact_math_keep(const ir_linker *linker);

/* Undoes, after LLVM's passes, what hid functions of math from them. */
void ir_exact_math_restore(const ir_linker *linker);

#endif
