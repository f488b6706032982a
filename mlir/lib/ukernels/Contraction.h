// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions in linalg: what their bodies multiply, and mmt4d with operands that the named
// operation does not support.
#ifndef KDL_MLIR_LIB_UKERNELS_CONTRACTION_H
#define KDL_MLIR_LIB_UKERNELS_CONTRACTION_H

#include "Dialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kdl {

/// acc + lhs * rhs, where each of lhs and rhs may be sign-extended or zero-extended.
struct ContractionBody {
  bool lhsUnsigned = false, rhsUnsigned = false;
};
std::optional<ContractionBody> matchContractionBody(linalg::LinalgOp op);

/// A product in tiles: linalg.mmt4d, linalg.batch_mmt4d, or a linalg.generic with the same loops.
/// The attribute `kdl.mma_layout` describes it. Without one, the types decide: those of linalg's
/// own operations have a microkernel by name, and a linalg.generic must have operands in the form
/// of one of libkdl's own, unsigned by signed bytes or f32 by f16. With step blocks, the left
/// operand has several consecutive words of K per row, [m1][k1][m0][steps][k0], and the right one
/// is [n1][k1][steps][n0][k0].
struct Mmt4d {
  MmaKind kind;
  bool hasBatch, inStepBlocks;
  ContractionBody body = {}; // without a microkernel
  int64_t vectorBytes = 0;
};
std::optional<Mmt4d> matchMmt4d(linalg::LinalgOp op);

/// Whether it is one, or an operation of linalg for one of types without a microkernel.
bool isMmt4d(linalg::LinalgOp op);

/// Whether the loops are those of mmt4d, with or without a batch and step blocks, by the ranks.
bool hasMmt4dLoops(linalg::LinalgOp op);

/// Creates a product with the layout, for operands in the microkernel's form. Their ranks imply a
/// batch. By default, bytes are those of libkdl's microkernel.
linalg::LinalgOp createMmt4d(OpBuilder &builder, Location where, Value lhs, Value rhs, Value acc,
                             MmaLayoutAttr layout, ContractionBody body = {/*lhsUnsigned=*/true});

/// A product of the microkernel for the operands of an operation of linalg.
MmaProduct describeProduct(linalg::LinalgOp op);

} // namespace mlir::kdl

#endif
