/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Keeps LLVM from computing with constants what the device computes with other roundings:
 *
 *   - functions of math whose result is not the nearest number (exp, pow, ...) are not evaluated,
 *     and not replaced by others, as pow(x, 2) by x * x;
 *   - a multiply-add that may round once or twice is made the one that the device has
 *     (multiply_add.h).
 *
 * LLVM evaluates some of these in the kernel without constants too, where literals decide. So its
 * passes that simplify run first; what they leave is what the device computes.
 *
 * Fails where code allows LLVM to choose the roundings (fast-math), or has instructions that LLVM
 * evaluates more exactly than the device.
 */
#ifndef KDL_COMPILER_IR_LINKER_EXACT_MATH_H
#define KDL_COMPILER_IR_LINKER_EXACT_MATH_H

#include "compiler/ir/linker/linker.h"

kdl_status ir_exact_math_keep(const ir_linker *linker);

/* Undoes, after LLVM's passes, what hid functions of math from them. */
void ir_exact_math_restore(const ir_linker *linker);

#endif
