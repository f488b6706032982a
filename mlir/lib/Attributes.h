// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The discardable attributes of the dialect: their names, and what values they take.
#ifndef KDL_MLIR_LIB_ATTRIBUTES_H
#define KDL_MLIR_LIB_ATTRIBUTES_H

#include "mlir/IR/Operation.h"

namespace mlir::kdl {

/// Of a gpu.module: properties of all its objects.
inline constexpr StringLiteral propertiesAttr = "kdl.properties";

/// Of a module that is compiled for one CPU, that of its microkernels.
inline constexpr StringLiteral forTargetAttr = "kdl.for_target";

/// Of a module: a list of `#kdl.object`.
inline constexpr StringLiteral objectsAttr = "kdl.objects";

/// Of a function without a body: the name of the object that defines it; in a gpu.module one or
/// several, each for another target.
inline constexpr StringLiteral objectAttr = "kdl.object";

/// Of such a function: the bitcode itself, or a list of it.
inline constexpr StringLiteral bitcodeAttr = "kdl.bitcode";

/// Of such a function: its name in the object, if different.
inline constexpr StringLiteral functionAttr = "kdl.function";

/// Of a microkernel: the name of its variant.
inline constexpr StringLiteral variantAttr = "kdl.variant";

/// Of a microkernel that takes 16 steps along K at a time, and no other number.
inline constexpr StringLiteral tilesAttr = "kdl.tiles";

/// Of a function whose object calls a microkernel: the declaration of that. It is not inlined, and
/// compiled for the CPU of the microkernel.
inline constexpr StringLiteral callsAttr = "kdl.calls";

/// Of a function without a body, for all iterations of a loop: the function of one iteration.
inline constexpr StringLiteral parallelBodyAttr = "kdl.parallel_body";

/// Of a function without tensors: it frees what it allocates itself, or does not free it.
inline constexpr StringLiteral manualDeallocationAttr = "kdl.frees_by_hand";

/// Of a contraction for which kdl-data-tile found no microkernel and reported that.
inline constexpr StringLiteral noUkernelAttr = "kdl.stays";

/// Of a product in tiles: the layout of its operands, `#kdl.mma_layout`.
inline constexpr StringLiteral layoutAttr = "kdl.mma_layout";

/// Of a module: where its microkernels come from.
inline constexpr StringLiteral providerAttr = "kdl.ukernel_provider";

/// Of a launch: a later operation waits for it.
inline constexpr StringLiteral deferredAttr = "kdl.deferred";

/// Checks the operation and the value of such an attribute.
LogicalResult verifyDiscardable(Operation *op, NamedAttribute attribute);

} // namespace mlir::kdl

#endif
