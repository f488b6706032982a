/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * llvm.fmuladd: a product and sum that rounds once or twice, as the device prefers. LLVM evaluates
 * it with one rounding where all operands are constant, and with two where the factors are, on
 * every device.
 */
#ifndef KDL_COMPILER_IR_LINKER_MULTIPLY_ADD_H
#define KDL_COMPILER_IR_LINKER_MULTIPLY_ADD_H

#include "compiler/ir/linker/linker.h"

/* What LLVM's code generator makes of the types, as far as it was asked. */
typedef struct ir_multiply_adds {
  struct {
    LLVMTypeRef type; /* NULL: unused */
    bool is_fused;
  } known[4];
} ir_multiply_adds;

/* Replaces a call of llvm.fmuladd by llvm.fma or by a product and a sum, as code for the device has
 * it. False where neither has the same results, as for half precision that is computed in single.
 */
bool ir_multiply_add_decide(const ir_linker *linker, ir_multiply_adds *adds, LLVMValueRef call);

#endif
