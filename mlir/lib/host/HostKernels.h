// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles a gpu.module to a shared object that follows <kdl/host_abi.h>, in three steps: kernels
// become functions for one work-item (HostKernels.cpp), a pipeline lowers these to the LLVM
// dialect, and in LLVM IR each gets a function for a group around it (HostGroups.cpp).
#ifndef KDL_MLIR_LIB_HOST_HOSTKERNELS_H
#define KDL_MLIR_LIB_HOST_HOSTKERNELS_H

#include "Dialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace mlir::kdl {

struct HostKernel {
  std::string name;
  uint64_t sharedSize = 0;    // bytes of group memory
  SmallVector<int32_t> block; // from known_block_size; empty: any
};

/// Parameters of a work-item's function before the kernel's own. All but the pointers have index
/// type.
enum HostItemParam : unsigned {
  HostGroup = 0,                     // the group, x y z
  HostGroupCount = HostGroup + 3,    // how many groups
  HostBlock = HostGroupCount + 3,    // work-items per group
  HostItem = HostBlock + 3,          // this work-item
  HostShared = HostItem + 3,         // pointer to the group's memory
  HostSharedSize = HostShared + 1,   // its bytes
  HostExchange = HostSharedSize + 1, // pointer to 16 bytes per work-item, for shuffles
  HostState = HostExchange + 1,      // pointer to a byte per work-item: what it waits for
  HostGroupStruct = HostState + 1,   // pointer to the kdl_host_group
  HostItemParamCount = HostGroupStruct + 1,
};

/// Functions without a body that represent a wait of the work-item.
inline constexpr StringLiteral hostBarrier = "kdl.barrier";   // for the group
inline constexpr StringLiteral hostExchange = "kdl.exchange"; // for the subgroup

/// The subgroup size on a CPU: what MLIR's own lowering of reductions assumes.
inline constexpr int64_t hostSubgroupSize = 32;

/// Rewrites the only gpu.module in `module` into functions of `module` itself. Emits an error for
/// operations without a meaning on a CPU.
FailureOr<SmallVector<HostKernel>> lowerKernelsForHost(ModuleOp module);

/// Lowers gpu.printf, and the assertions of kernels to calls that makeHostAssertions replaces.
LogicalResult lowerMessagesForHost(gpu::GPUModuleOp module);
void makeHostAssertions(llvm::Function &item);

/// The passes that lower the result to the LLVM dialect.
StringRef getHostPipeline(bool barePointers);

/// Adds the functions of <kdl/host_abi.h> around those for work-items. The module must have its
/// data layout.
void makeHostGroups(llvm::Module &module, ArrayRef<HostKernel> kernels);

/// Compiles and links `module`, which must be in the LLVM dialect.
FailureOr<SmallVector<char, 0>> compileForHost(ModuleOp module, ArrayRef<HostKernel> kernels,
                                               HostTargetAttr target, StringRef linker);

} // namespace mlir::kdl

#endif
