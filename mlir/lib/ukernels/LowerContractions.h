// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices as they lie, made by the matmul library's own kernels: its blocks, its
// packing, and no packing where rows are few.
#ifndef KDL_MLIR_UKERNEL_LOWER_CONTRACTIONS_H
#define KDL_MLIR_UKERNEL_LOWER_CONTRACTIONS_H

#include "ukernels/Contraction.h"

#include <kdl/matmul.h>

namespace mlir::kdl {

/// Attribute of a product that kdl-data-tile left for no microkernel at all, and said so.
inline constexpr StringLiteral noUkernelAttr = "kdl.stays";

/// A matrix's dimensions, as indices into those of an operand; none: there is one element. It has
/// those of the batch in the same order as the other operands.
struct UnpackedMatrix {
  std::optional<unsigned> row, column;
  SmallVector<unsigned> batch;
};

struct UnpackedContraction {
  UkernelKind kind;
  kdl_matmul_type type;
  StringLiteral suffix; // of the library's names
  UnpackedMatrix lhs, rhs, out;
  int64_t m, n, k;            // or ShapedType::kDynamic
  SmallVector<int64_t> batch; // so, too

  bool isStatic() const {
    return !ShapedType::isDynamicShape({m, n, k}) && !ShapedType::isDynamicShape(batch);
  }
};

/// Otherwise what is in the way.
FailureOr<UnpackedContraction> matchUnpackedContraction(linalg::LinalgOp op, std::string &why);

/// Whether the library has the product for the target, with the microkernel that will be linked:
/// the module's own, or the library's best.
LogicalResult hasMatmulKernelFor(ModuleOp module, const UnpackedContraction &product,
                                 const UkernelSource &source, std::string &why);

} // namespace mlir::kdl

#endif
