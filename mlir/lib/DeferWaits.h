// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_LIB_DEFERWAITS_H
#define KDL_MLIR_LIB_DEFERWAITS_H

#include "Attributes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::kdl {

/// Whether it is a launch without a stream under #kdl.runtime_select.
bool isSynchronousLaunch(gpu::LaunchFuncOp launch, SymbolTableCollection &symbols);

/// Whether pending launches must complete before the operation.
bool canObserveKernels(Operation &op);

} // namespace mlir::kdl

#endif
