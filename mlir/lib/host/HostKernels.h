// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A gpu.module as a shared object that follows <kdl/host_abi.h>, in three steps: kernels become
// functions for one work-item (HostKernels.cpp), a pipeline lowers these to the LLVM dialect, and
// in LLVM IR a function for a whole group is put around each (HostObject.cpp).
#ifndef KDL_MLIR_HOST_KERNELS_H
#define KDL_MLIR_HOST_KERNELS_H

#include "Dialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Module;
} // namespace llvm

namespace mlir::kdl {

struct HostKernel {
  std::string name;
  uint64_t sharedSize = 0;    // bytes of group memory
  SmallVector<int32_t> block; // as known_block_size says; empty: any
};

/// What a work-item's function takes before the kernel's own parameters. All but the pointers are
/// of index type.
enum HostItemParam : unsigned {
  HostGroup = 0,                     // the group, x y z
  HostGroupCount = HostGroup + 3,    // of so many
  HostBlock = HostGroupCount + 3,    // work-items in a group
  HostItem = HostBlock + 3,          // this one
  HostShared = HostItem + 3,         // pointer to the group's memory
  HostSharedSize = HostShared + 1,   // its bytes
  HostExchange = HostSharedSize + 1, // pointer to 16 bytes per work-item, for shuffles
  HostState = HostExchange + 1,      // pointer to a byte per work-item: why it waits
  HostItemParamCount = HostState + 1,
};

/// Functions without a body that stand for a wait of the work-item.
inline constexpr StringLiteral hostBarrier = "kdl.barrier";   // for the group
inline constexpr StringLiteral hostExchange = "kdl.exchange"; // for the subgroup

/// Subgroups on a CPU are what MLIR's own lowering of reductions assumes.
inline constexpr int64_t hostSubgroupSize = 32;

/// Rewrites the only gpu.module in `module` into functions of `module` itself. Emits an error for
/// what has no meaning on a CPU.
FailureOr<SmallVector<HostKernel>> lowerKernelsForHost(ModuleOp module);

/// The passes that take the result to the LLVM dialect.
StringRef getHostPipeline(bool barePointers);

/// Puts the functions of <kdl/host_abi.h> around those for work-items. The module has its data
/// layout.
void makeHostGroups(llvm::Module &module, ArrayRef<HostKernel> kernels);

/// Compiles and links `module`, which is in the LLVM dialect by now.
FailureOr<SmallVector<char, 0>> compileForHost(ModuleOp module, ArrayRef<HostKernel> kernels,
                                               HostTargetAttr target, StringRef linker);

} // namespace mlir::kdl

#endif
