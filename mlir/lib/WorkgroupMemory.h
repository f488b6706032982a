// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_WORKGROUP_MEMORY_H
#define KDL_MLIR_WORKGROUP_MEMORY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::kdl {

/// The number that LLVM's GPU targets have for memory of a group.
inline constexpr unsigned workgroupSpace = 3;

bool isWorkgroupMemory(MemRefType type);

/// Gives every memref below `root` the memory space that `map` says; null is the default one.
void mapMemorySpaces(Operation *root, function_ref<Attribute(Attribute)> map);

/// Group memory as OpenCL's kernels have it: variables of the module. MLIR would make a parameter
/// of each attribution, which no launch has an argument for.
void convertAttributionsToGlobals(gpu::GPUModuleOp module);

} // namespace mlir::kdl

#endif
