// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Microkernels for GPUs: functions of a gpu.module with one object or bitcode per target.
#ifndef KDL_MLIR_LIB_UKERNELS_GPUUKERNELS_H
#define KDL_MLIR_LIB_UKERNELS_GPUUKERNELS_H

#include "Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/FileUtilities.h"

#include <memory>

namespace mlir::kdl {

/// The microkernel of the module that a product in a gpu.module calls; otherwise what is wrong. All
/// work-items of a group call it.
func::FuncOp findGpuUkernel(gpu::GPUModuleOp module, Operation *op, const MmaKind &kind,
                            std::string &why);

/// The microkernels that a lowered gpu.module calls, as files that MLIR's compiler for the target
/// links. The files are removed with this object.
class GpuUkernels {
public:
  /// Fails with an error if one has no bitcode for the target.
  LogicalResult collect(gpu::GPUModuleOp lowered, Attribute target);

  ArrayRef<Attribute> paths() const { return names; }

private:
  SmallVector<std::unique_ptr<llvm::FileRemover>> files;
  SmallVector<Attribute> names;
};

} // namespace mlir::kdl

#endif
