// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compat.h"

#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#if LLVM_VERSION_MAJOR < 23
#include "llvm/TargetParser/TargetParser.h"
#else
#include "llvm/TargetParser/AMDGPUTargetParser.h"
#endif
#if LLVM_VERSION_MAJOR < 24
#include "mlir/Conversion/ArithCommon/AttrToLLVMConverter.h"
#else
#include "mlir/Conversion/ArithAttrToLLVM/AttrToLLVMConverter.h"
#endif

using namespace mlir;

LLVM::FastmathFlags kdl::convertFastmathFlags(arith::FastMathFlags flags) {
  return arith::convertArithFastMathFlagsToLLVM(flags);
}

bool kdl::hasCPU(const llvm::TargetMachine &machine, StringRef cpu) {
#if LLVM_VERSION_MAJOR < 23
  return machine.getMCSubtargetInfo()->isCPUStringValid(cpu);
#else
  return machine.getMCSubtargetInfo().isCPUStringValid(cpu);
#endif
}

bool kdl::hasFeature(const llvm::MCSubtargetInfo &subtarget, StringRef feature) {
  return llvm::any_of(subtarget.getAllProcessorFeatures(), [&](const auto &known) {
#if LLVM_VERSION_MAJOR < 23
    return feature == known.Key;
#else
    return feature == known.key();
#endif
  });
}

bool kdl::isAMDGPUProcessor(StringRef name) {
  return llvm::AMDGPU::parseArchAMDGCN(name) != llvm::AMDGPU::GK_NONE;
}

std::unique_ptr<llvm::PassBuilder> kdl::makePassBuilder(llvm::LLVMContext &context,
                                                        llvm::TargetMachine *machine,
                                                        const llvm::PipelineTuningOptions &tuning) {
#if LLVM_VERSION_MAJOR < 24
  (void)context;
  return std::make_unique<llvm::PassBuilder>(machine, tuning);
#else
  return std::make_unique<llvm::PassBuilder>(context, machine, tuning);
#endif
}
