// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packs constant operands at compile time.
#ifndef KDL_MLIR_LIB_UKERNELS_PACKEDCONSTANTS_H
#define KDL_MLIR_LIB_UKERNELS_PACKEDCONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::kdl {

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
