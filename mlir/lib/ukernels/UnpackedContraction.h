// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions on unpacked operands that the matmul library has functions for: its blocks, its
// packing, and no packing for few rows.
#ifndef KDL_MLIR_LIB_UKERNELS_UNPACKEDCONTRACTION_H
#define KDL_MLIR_LIB_UKERNELS_UNPACKEDCONTRACTION_H

#include "matmul/division.h"
#include "ukernels/Contraction.h"
#include "ukernels/UkernelSelection.h"

namespace mlir::kdl {

/// The dimensions of a matrix, as indices into those of an operand; none: one element. All operands
/// have the batch dimensions in the same order.
struct UnpackedMatrix {
  std::optional<unsigned> row, column;
  SmallVector<unsigned> batch;
};

struct UnpackedContraction {
  MmaProduct types;
  MmaKind kind;
  kdl_matmul_type type;
  StringLiteral suffix; // in the library's names
  UnpackedMatrix lhs, rhs, out;
  int64_t m, n, k;            // or ShapedType::kDynamic
  SmallVector<int64_t> batch; // likewise

  bool isStatic() const {
    return !ShapedType::isDynamicShape({m, n, k}) && !ShapedType::isDynamicShape(batch);
  }
};

/// Fails with a reason if it is not one.
FailureOr<UnpackedContraction> matchUnpackedContraction(linalg::LinalgOp op, std::string &why);

/// Whether the library has the product for the target, with the microkernel that will be linked:
/// the module's own, or the library's best.
LogicalResult hasMatmulKernelFor(ModuleOp module, const UnpackedContraction &product,
                                 const UkernelSource &source, std::string &why);

} // namespace mlir::kdl

#endif
