// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_LIB_WORKGROUPMEMORY_H
#define KDL_MLIR_LIB_WORKGROUPMEMORY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::kdl {

/// The address space of group memory in LLVM's GPU targets.
inline constexpr unsigned workgroupSpace = 3;

bool isWorkgroupMemory(MemRefType type);

/// Sets the memory space of every memref below `root` by `map`; null is the default one.
void mapMemorySpaces(Operation *root, function_ref<Attribute(Attribute)> map);

/// Turns group memory into module variables, as OpenCL kernels have it. MLIR would turn each
/// attribution into a parameter, for which no launch has an argument.
void convertAttributionsToGlobals(gpu::GPUModuleOp module);

} // namespace mlir::kdl

#endif
