// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands that are known when the program is compiled: packed then, not when it runs.
#ifndef KDL_MLIR_UKERNEL_PACKED_CONSTANTS_H
#define KDL_MLIR_UKERNEL_PACKED_CONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::kdl {

/// One dimension of a packed constant.
struct PackedDim {
  int64_t size;
  unsigned sourceDim;
  int64_t step; // what one more adds to the index in that dimension; beyond its end is padding
};

/// The elements as linalg.pack would give them, in this order of dimensions, with zeros for
/// padding, each byte changed by `flip`. Null where the value's bytes are not there.
DenseElementsAttr packConstant(ElementsAttr source, ArrayRef<PackedDim> dims, uint8_t flip);

/// Sums over K of signed bytes that are packed as [...][n1][k1][n0][k0]: [...][n1][n0].
DenseElementsAttr sumPackedColumns(DenseElementsAttr packed);

} // namespace mlir::kdl

#endif
