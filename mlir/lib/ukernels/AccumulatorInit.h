// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_UKERNEL_ACCUMULATOR_INIT_H
#define KDL_MLIR_UKERNEL_ACCUMULATOR_INIT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kdl {

/// Where the sums of one tile are written just before a product adds to them: by a store for each
/// vector of the microkernel, without loops. LLVM then passes them on in registers.
void unrollAccumulatorInit(linalg::LinalgOp product);

} // namespace mlir::kdl

#endif
