// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_LIB_UKERNELS_FUSEELEMENTWISE_H
#define KDL_MLIR_LIB_UKERNELS_FUSEELEMENTWISE_H

#include "ukernels/Contraction.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kdl {

/// The one operation that uses a value's elements; null if there are more. Other operations may
/// query its sizes.
Operation *onlyUser(Value value);

/// Whether the operation has no reductions and reads the value where it writes its result.
bool isElementwiseOn(linalg::LinalgOp op, Value value);

/// Fuses two operations without reductions if the second is the only user of the first one's
/// result. MLIR's own pass would also fuse the first into a contraction, where it would run many
/// times and no microkernel would match any more.
void fuseElementwise(Operation *root);

/// Lets a product use the result of another one in tiles, through the elementwise operations
/// between them. The rows of both must be divided alike, and the first one's columns must be full
/// panels. Then the microkernel reads a result tile, [m0][n0], as n0 / k0 steps of each row, and no
/// element moves. Otherwise returns false and changes nothing.
bool propagateTiles(linalg::LinalgOp product);

} // namespace mlir::kdl

#endif
