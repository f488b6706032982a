// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_DEFER_WAITS_H
#define KDL_MLIR_DEFER_WAITS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::kdl {

/// Attribute of a launch with a later wait.
inline constexpr StringLiteral deferredAttr = "kdl.deferred";

/// Whether it is a launch without a stream under #kdl.runtime_select.
bool isSynchronousLaunch(gpu::LaunchFuncOp launch, SymbolTableCollection &symbols);

/// Whether pending launches must complete before the operation.
bool canObserveKernels(Operation &op);

} // namespace mlir::kdl

#endif
