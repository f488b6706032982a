// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_LIB_HOSTFUNCTIONS_H
#define KDL_MLIR_LIB_HOSTFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::kdl {

/// What a pass on functions runs on: the function that it is for, or those of a module, without the
/// functions of its gpu.modules.
inline SmallVector<func::FuncOp> getHostFunctions(Operation *op) {
  if (auto function = dyn_cast<func::FuncOp>(op))
    return {function};
  SmallVector<func::FuncOp> found;
  for (Region &region : op->getRegions())
    llvm::append_range(found, region.getOps<func::FuncOp>());
  return found;
}

} // namespace mlir::kdl

#endif
