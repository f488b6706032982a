// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_DEFER_WAITS_H
#define KDL_MLIR_DEFER_WAITS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::kdl {

/// Attribute of a launch that something behind it waits for.
inline constexpr StringLiteral deferredAttr = "kdl.deferred";

/// Of a launch without a stream under #kdl.runtime_select.
bool isSynchronousLaunch(gpu::LaunchFuncOp launch, SymbolTableCollection &symbols);

/// Of an operation before which launches must have been waited for.
bool canObserveKernels(Operation &op);

} // namespace mlir::kdl

#endif
