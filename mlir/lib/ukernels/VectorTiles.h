// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of types without a microkernel: the loop over K in MLIR's vectors, for the same tiles.
#ifndef KDL_MLIR_UKERNEL_VECTOR_TILES_H
#define KDL_MLIR_UKERNEL_VECTOR_TILES_H

#include "ukernels/Contraction.h"

namespace mlir::kdl {

/// The tile of a product in vectors, and the size of these.
struct VectorTile {
  UkernelTile tile;
  int64_t vectorBytes;
};

/// The tile that fits in the registers of the target's CPU, which are those of its microkernel for
/// f32; otherwise what is wrong: types that are converted other than by extension, or no such CPU.
FailureOr<VectorTile> findVectorTile(Type lhs, Type rhs, Type acc, const UkernelSource &source,
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
                        UkernelTile tile, ContractionBody body, int64_t vectorBytes);

} // namespace mlir::kdl

#endif
