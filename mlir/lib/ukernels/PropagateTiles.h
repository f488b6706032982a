// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_UKERNEL_PROPAGATE_TILES_H
#define KDL_MLIR_UKERNEL_PROPAGATE_TILES_H

#include "ukernels/Contraction.h"

namespace mlir::kdl {

/// Lets a product take what another one made as it is, in tiles, through the elementwise operations
/// between them: where the rows of both are divided alike, and the first one's columns are whole
/// panels. Then a tile of sums, [m0][n0], is what the microkernel takes as n0 / k0 steps of each
/// row, and no element moves. False, and nothing done, where that is not so.
bool propagateTiles(linalg::LinalgOp product);

} // namespace mlir::kdl

#endif
