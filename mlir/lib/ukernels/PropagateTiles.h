// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_LIB_UKERNELS_PROPAGATETILES_H
#define KDL_MLIR_LIB_UKERNELS_PROPAGATETILES_H

#include "ukernels/Contraction.h"

namespace mlir::kdl {

/// Lets a product use the result of another one in tiles, through the elementwise operations
/// between them. The rows of both must be divided alike, and the first one's columns must be full
/// panels. Then the microkernel reads a result tile, [m0][n0], as n0 / k0 steps of each row, and no
/// element moves. Otherwise returns false and changes nothing.
bool propagateTiles(linalg::LinalgOp product);

} // namespace mlir::kdl

#endif
