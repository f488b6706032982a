// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What passes on gpu.modules and their launches share.
#ifndef KDL_MLIR_LIB_GPUMODULES_H
#define KDL_MLIR_LIB_GPUMODULES_H

#include "Attributes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::kdl {

/// The address space of group memory in LLVM's GPU targets.
inline constexpr unsigned workgroupSpace = 3;

bool isWorkgroupMemory(MemRefType type);

/// Sets the memory space of every memref below `root` by `map`; null is the default one.
void mapMemorySpaces(Operation *root, function_ref<Attribute(Attribute)> map);

/// Turns group memory into module variables, as OpenCL kernels have it. MLIR would turn each
/// attribution into a parameter, for which no launch has an argument.
void convertAttributionsToGlobals(gpu::GPUModuleOp module);

/// Whether an NVIDIA GPU reduces numbers of 32 bits by an instruction.
bool hasRedux(StringRef chip);

/// Lowers gpu.subgroup_reduce to shuffles among the lanes that the target's subgroups have, but for
/// what an instruction does. Keeps those of SPIR-V's kernels whose lanes the device decides.
LogicalResult lowerSubgroups(gpu::GPUModuleOp module, Attribute target);

/// Whether it is a launch without a stream under #kdl.runtime_select.
bool isSynchronousLaunch(gpu::LaunchFuncOp launch, SymbolTableCollection &symbols);

/// Whether pending launches must complete before the operation.
bool canObserveKernels(Operation &op);

// Lowers a gpu.module for `#xevm.target`.

/// Before the pipeline.
LogicalResult prepareForSpirv(gpu::GPUModuleOp module, Attribute target);
LogicalResult checkShuffles(gpu::GPUModuleOp module, Attribute target);

/// After the pipeline. `source` is the module before it.
void demandSubgroups(gpu::GPUModuleOp lowered, gpu::GPUModuleOp source);

// Lowers a gpu.module for `#kdl.portable`: to the form of docs/portable.md, which names no device.

/// Before the pipeline: what depends on the device becomes calls of declared functions, group
/// memory becomes variables, and private memory gets an address space of its own, because pointers
/// without one are global. With `barePointers`, kernels take one pointer for each memref of static
/// shape. Fails with an error for what the form does not have.
LogicalResult callPortableFunctions(gpu::GPUModuleOp module, Attribute target, bool barePointers);

/// After the pipeline: private memory is in address space 0.
LogicalResult finishPortable(gpu::GPUModuleOp lowered, Attribute target);

} // namespace mlir::kdl

#endif
