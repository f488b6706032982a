// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What differs between LLVM 22, 23 and 24. Only this file and Compat.cpp ask for the version.
#ifndef KDL_MLIR_LIB_COMPAT_H
#define KDL_MLIR_LIB_COMPAT_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Config/llvm-config.h"

namespace llvm {
class LLVMContext;
class MCSubtargetInfo;
class PassBuilder;
class PipelineTuningOptions;
class TargetMachine;
} // namespace llvm

namespace mlir::kdl {

/// What gpu::TargetAttrInterface serializes to. The interface does not qualify the name.
#if LLVM_VERSION_MAJOR < 23
using SerializedObject = SmallVector<char, 0>;
inline StringRef getBytes(const SerializedObject &object) {
  return {object.data(), object.size()};
}
#else
using gpu::SerializedObject;
inline StringRef getBytes(const SerializedObject &object) {
  return {object.getObject().data(), object.getObject().size()};
}
#endif

/// The format in which #xevm.target serializes to SPIR-V. From MLIR 23 on, "binary" is native code.
inline constexpr gpu::CompilationTarget spirvFormat =
    LLVM_VERSION_MAJOR < 23 ? gpu::CompilationTarget::Binary : gpu::CompilationTarget::Assembly;

/// The attribute of a gpu.func from which a SPIR-V kernel has its size of subgroups. From MLIR 23
/// on, attributes of llvm.func keep their names only with a prefix.
inline constexpr StringLiteral subgroupSizeAttr =
    LLVM_VERSION_MAJOR < 23 ? StringLiteral("intel_reqd_sub_group_size")
                            : StringLiteral("llvm.intel_reqd_sub_group_size");

LLVM::FastmathFlags convertFastmathFlags(arith::FastMathFlags flags);

bool hasCPU(const llvm::TargetMachine &machine, StringRef cpu);
bool hasFeature(const llvm::MCSubtargetInfo &subtarget, StringRef feature);
bool isAMDGPUProcessor(StringRef name);

/// The builder of the passes that run on modules of `context`.
std::unique_ptr<llvm::PassBuilder> makePassBuilder(llvm::LLVMContext &context,
                                                   llvm::TargetMachine *machine,
                                                   const llvm::PipelineTuningOptions &tuning);

} // namespace mlir::kdl

#endif
