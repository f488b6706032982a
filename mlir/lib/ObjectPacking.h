// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The objects of a gpu.binary as an OffloadBinary.
#ifndef KDL_MLIR_OBJECT_PACKING_H
#define KDL_MLIR_OBJECT_PACKING_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::kdl {

/// Whether `#kdl.runtime_select` can tell the objects of a binary apart; emits errors where not.
/// Attributes have no say in the verification of the operation that holds them, so the code that
/// meets such a binary asks: the passes that make one, and the translation.
LogicalResult verifyObjects(gpu::BinaryOp binary);

/// Checks the attribute `kdl.properties` of an operation, which goes into objects' properties.
LogicalResult verifyProperties(Operation *op, Attribute properties);

/// All objects in one OffloadBinary, each with its triple, its architecture, what its properties
/// say, a `kdl.kernel.NAME` key per kernel, and its digest.
FailureOr<SmallVector<char, 0>> packObjects(gpu::BinaryOp binary);

/// Checks a launch against the kernel tables of the objects it may run.
LogicalResult verifyLaunch(gpu::LaunchFuncOp launch, gpu::BinaryOp binary);

/// Key in the metadata of a kernel: the block that `known_block_size` of its function says.
inline constexpr StringLiteral knownBlockKey = "known_block_size";

} // namespace mlir::kdl

#endif
