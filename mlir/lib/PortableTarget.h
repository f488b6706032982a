// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers a gpu.module for `#kdl.portable`: to the form of docs/portable.md, which names no device.
#ifndef KDL_MLIR_LIB_PORTABLETARGET_H
#define KDL_MLIR_LIB_PORTABLETARGET_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::kdl {

/// Before the pipeline: what depends on the device becomes calls of declared functions, group
/// memory becomes variables, and private memory gets an address space of its own, because pointers
/// without one are global. With `barePointers`, kernels take one pointer for each memref of static
/// shape. Fails with an error for what the form does not have.
LogicalResult callPortableFunctions(gpu::GPUModuleOp module, Attribute target, bool barePointers);

/// After the pipeline: private memory is in address space 0.
LogicalResult finishPortable(gpu::GPUModuleOp lowered, Attribute target);

} // namespace mlir::kdl

#endif
