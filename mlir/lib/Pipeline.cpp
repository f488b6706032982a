// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-lower-to-binary: from outlined kernels to a host module for mlir-translate or a JIT.
#include "Passes.h"

#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

struct LowerToBinaryOptions : public PassPipelineOptions<LowerToBinaryOptions> {
  ListOption<std::string> targets{*this, "targets",
                                  llvm::cl::desc("targets, as for kdl-attach-targets")};
  Option<int> optLevel{*this, "O", llvm::cl::desc("optimization level, 0 to 3"), llvm::cl::init(3)};
  Option<std::string> policy{*this, "policy", llvm::cl::desc("best, first, capability or adaptive"),
                             llvm::cl::init("best")};
  Option<std::string> fallback{
      *this, "fallback",
      llvm::cl::desc("error or host; host where a target is one and nothing is said"),
      llvm::cl::init("")};
  Option<std::string> linker{*this, "linker", llvm::cl::desc("ld.lld"), llvm::cl::init("")};
  Option<std::string> cudaToolkit{*this, "cuda-toolkit", llvm::cl::desc("folder with bin/ptxas"),
                                  llvm::cl::init("")};
  Option<std::string> rocmBitcode{*this, "rocm-bitcode", llvm::cl::desc("folder with ockl.bc"),
                                  llvm::cl::init("")};
  Option<bool> ptx{*this, "ptx", llvm::cl::desc("leave code for NVIDIA as PTX"),
                   llvm::cl::init(false)};
  Option<bool> barePointers{
      *this, "bare-pointers",
      llvm::cl::desc("pass memrefs of static shape to kernels as one pointer each"),
      llvm::cl::init(false)};
};

bool isHost(const std::string &target) {
  return target == "host" || target == "portable" || StringRef(target).starts_with("host:");
}

void buildLowerToBinary(OpPassManager &passes, const LowerToBinaryOptions &options) {
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

} // namespace

void kdl::registerPipelines() {
  PassPipelineRegistration<LowerToBinaryOptions>("kdl-lower-to-binary",
                                                 "Compiles gpu.modules for several targets, keeps "
                                                 "all of the objects, and lowers the host code",
                                                 buildLowerToBinary);
}
