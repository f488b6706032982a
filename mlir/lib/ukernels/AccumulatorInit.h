// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_LIB_UKERNELS_ACCUMULATORINIT_H
#define KDL_MLIR_LIB_UKERNELS_ACCUMULATORINIT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::kdl {

/// If the accumulator of one tile is initialised just before the product: unrolls that to one store
/// per vector of the microkernel. LLVM then keeps the values in registers.
void unrollAccumulatorInit(RewriterBase &rewriter, linalg::LinalgOp product);

} // namespace mlir::kdl

#endif
