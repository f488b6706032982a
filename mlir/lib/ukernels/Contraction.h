// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions in linalg: what their bodies multiply, and mmt4d with operands that the named
// operation does not support.
#ifndef KDL_MLIR_UKERNEL_CONTRACTION_H
#define KDL_MLIR_UKERNEL_CONTRACTION_H

#include "ukernels/UkernelSelection.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kdl {

/// acc + lhs * rhs, where each of lhs and rhs may be sign-extended or zero-extended.
struct ContractionBody {
  bool lhsUnsigned = false, rhsUnsigned = false;
};
std::optional<ContractionBody> matchContractionBody(linalg::LinalgOp op);

/// linalg.mmt4d, linalg.batch_mmt4d, or a linalg.generic with the same loops whose operands are in
/// the form of a microkernel: unsigned by signed bytes, f32 by f16. With step blocks, the left
/// operand has several consecutive steps of K per row, [m1][k1][m0][steps][k0], and the right one
/// is [n1][k1][steps][n0][k0]; there is no batch.
struct Mmt4d {
  UkernelKind kind;
  bool hasBatch, inStepBlocks;
  ContractionBody body = {}; // without a microkernel
  int64_t vectorBytes = 0;
};
std::optional<Mmt4d> matchMmt4d(linalg::LinalgOp op);

/// Creates an operation that matchMmt4d accepts, for operands in the microkernel's form. Their
/// ranks imply a batch and step blocks. By default, bytes are those of a microkernel.
linalg::LinalgOp createMmt4d(OpBuilder &builder, Location where, Value lhs, Value rhs, Value acc,
                             ContractionBody body = {/*lhsUnsigned=*/true});

} // namespace mlir::kdl

#endif
