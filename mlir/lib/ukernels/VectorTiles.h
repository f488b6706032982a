// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of types without a microkernel: the loop over K in MLIR's vectors, for the same tiles.
#ifndef KDL_MLIR_UKERNEL_VECTOR_TILES_H
#define KDL_MLIR_UKERNEL_VECTOR_TILES_H

#include "ukernels/Contraction.h"
#include "ukernels/UkernelSelection.h"

namespace mlir::kdl {

/// The tile of a product in vectors, and the size of these.
struct VectorTile {
  int64_t rows, columns;
  int64_t vectorBytes;
};

/// The tile that fits in the registers of the target's CPU, which are those of its microkernel for
/// f32; otherwise what is wrong: types that are converted other than by extension, or no such CPU.
FailureOr<VectorTile> findVectorTile(const MmaProduct &product, const UkernelSource &source,
                                     std::string &why);

/// Operands of a tile: pointers, and the offsets of their elements.
struct VectorOperand {
  Value pointer, offset;
  Type element;
};

/// Adds the product of `steps` steps of K to a tile of rows and columns. The accumulators are in
/// registers during the loop.
void buildVectorProduct(OpBuilder &builder, Location where, const VectorOperand &lhs,
                        const VectorOperand &rhs, const VectorOperand &acc, Value steps,
                        VectorTile tile, ContractionBody body);

} // namespace mlir::kdl

#endif
