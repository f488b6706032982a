// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of types without a microkernel: the loop over K in MLIR's vectors, for the same tiles.
#ifndef KDL_MLIR_LIB_UKERNELS_VECTORTILES_H
#define KDL_MLIR_LIB_UKERNELS_VECTORTILES_H

#include "ukernels/Contraction.h"
#include "ukernels/UkernelSelection.h"

namespace mlir::kdl {

/// The tile of a product in vectors, and the size of these.
struct VectorTile {
  int64_t rows, columns;
  int64_t vectorBytes;
};

/// Whether vectors can compute a product of these types: operands are extended to the
/// accumulator's, and each lies in a vector as in memory.
bool canBeVectors(const MmaProduct &product);

/// Whether the columns of a tile are whole vectors of accumulators.
bool isWholeVectors(Type acc, int64_t columns, int64_t vectorBytes);

/// libkdl's own microkernel for f32, which stands for the registers and the features of the CPU.
FailureOr<MmaUkernel> findRegisters(MLIRContext *context, const UkernelSource &source,
                                    std::string &why);

/// The tile that fits in the registers of the target's CPU; otherwise what is wrong.
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
