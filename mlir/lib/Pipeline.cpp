// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-lower-to-binary: from outlined kernels to a host module for mlir-translate or a JIT.
#include "Passes.h"

#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

bool isHost(const std::string &target) {
  return target == "host" || target == "portable" || StringRef(target).starts_with("host:");
}

} // namespace

void kdl::buildLowerToBinaryPipeline(OpPassManager &passes,
                                     const LowerToBinaryPipelineOptions &options) {
  KdlAttachTargetsOptions attach;
  llvm::append_range(attach.targets, options.targets);
  attach.optLevel = options.optLevel;
  passes.addPass(createKdlAttachTargets(attach));

  KdlCompileTargetsOptions compile;
  compile.linker = options.linker;
  compile.cudaToolkit = options.cudaToolkit;
  compile.rocmBitcode = options.rocmBitcode;
  compile.ptx = options.ptx;
  compile.barePointers = options.barePointers;
  passes.addPass(createKdlCompileTargets(compile));
  passes.addPass(createGpuModuleToBinaryPass());

  KdlMarkRuntimeSelectOptions mark;
  mark.policy = options.policy;
  mark.fallback = !options.fallback.empty()               ? options.fallback.getValue()
                  : llvm::any_of(options.targets, isHost) ? "host"
                                                          : "error";
  mark.minObjects = 1;
  passes.addPass(createKdlMarkRuntimeSelect(mark));

  passes.addPass(createKdlAsyncMemory());
  std::string host = "convert-vector-to-scf,convert-scf-to-cf,expand-strided-metadata,lower-affine,"
                     "gpu-to-llvm{use-bare-pointers-for-kernels=";
  host += options.barePointers ? "1" : "0";
  host += "},convert-math-to-llvm,convert-vector-to-llvm,convert-to-llvm,"
          "reconcile-unrealized-casts";
  if (failed(parsePassPipeline(host, passes)))
    llvm::report_fatal_error("kdl-lower-to-binary: MLIR's own passes are not registered");
  passes.addPass(createKdlDeferWaits());
}

void kdl::registerPipelines() {
  PassPipelineRegistration<LowerToBinaryPipelineOptions>(
      "kdl-lower-to-binary",
      "Compiles gpu.modules for several targets, keeps "
      "all of the objects, and lowers the host code",
      buildLowerToBinaryPipeline);
}
