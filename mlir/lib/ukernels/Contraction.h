// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices in linalg, in any form: what their bodies multiply, and mmt4d with operands
// that the named operation has not.
#ifndef KDL_MLIR_UKERNEL_CONTRACTION_H
#define KDL_MLIR_UKERNEL_CONTRACTION_H

#include "ukernels/UkernelSelection.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kdl {

/// acc + lhs * rhs, with each of both as it is, extended, or extended without a sign.
struct ContractionBody {
  bool lhsUnsigned = false, rhsUnsigned = false;
};
std::optional<ContractionBody> matchContractionBody(linalg::LinalgOp op);

/// Of linalg.mmt4d, linalg.batch_mmt4d, and of a linalg.generic of the same loops whose operands
/// are as a microkernel takes them: unsigned by signed bytes, f32 by f16. In lots, the left operand
/// has several steps of K of a row beside each other, [m1][k1][m0][lot][k0], and the right one is
/// [n1][k1][lot][n0][k0]; without a batch.
struct Mmt4d {
  UkernelKind kind;
  bool hasBatch, inStepBlocks;
};
std::optional<Mmt4d> matchMmt4d(linalg::LinalgOp op);

/// The operation that matchMmt4d takes, for operands as the microkernel takes them. Their ranks
/// tell of a batch and of lots.
linalg::LinalgOp createMmt4d(OpBuilder &builder, Location where, Value lhs, Value rhs, Value acc);

} // namespace mlir::kdl

#endif
