// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A product of matrices on tensors, as pack, mmt4d and unpack in the layout of a microkernel.
#ifndef KDL_MLIR_LIB_UKERNELS_TILING_H
#define KDL_MLIR_LIB_UKERNELS_TILING_H

#include "ukernels/Contraction.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::kdl {

/// An operand or the result, with the roles of its dimensions. One without rows or columns has got
/// a unit dimension.
struct Matrix {
  Value value;
  std::optional<unsigned> batch;
  unsigned first = 0, second = 0; // m and k, n and k, or m and n
  bool isUnsigned = false;
  Value zero = nullptr; // i32; null: 0

  int64_t size(unsigned dim) const {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  }
};

struct Product {
  Matrix lhs, rhs, out;
  std::optional<unsigned>
      added; // the unit dimension that was added to the result, to be dropped at the end

  int64_t rows() const { return lhs.size(lhs.first); }
  int64_t columns() const { return rhs.size(rhs.first); }
  int64_t steps() const { return lhs.size(lhs.second); }
};

/// Builds the operations for a product, whose operands get the layout. `left` is the form in which
/// the microkernel takes the left one. Returns the result.
Value buildTiles(OpBuilder &builder, Location where, const Product &product, MmaLayoutAttr layout,
                 LhsForm left);

// Packs constant operands at compile time.

/// One dimension of a packed constant.
struct PackedDim {
  int64_t size;
  unsigned sourceDim;
  int64_t step; // index increment in the source dimension; beyond its end is padding
};

/// The elements in the result of linalg.pack with these dimensions, zeros as padding, each byte
/// xored with `flip`. Null if the value's bytes are not available.
DenseElementsAttr packConstant(ElementsAttr source, ArrayRef<PackedDim> dims, uint8_t flip);

/// Sums over K of signed bytes packed as [...][n1][k1][n0][k0]: [...][n1][n0].
DenseElementsAttr sumPackedColumns(DenseElementsAttr packed);

} // namespace mlir::kdl

#endif
