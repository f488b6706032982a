// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_LIB_PASSES_H
#define KDL_MLIR_LIB_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir {
class DialectRegistry;
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace mlir::kdl {

#define GEN_PASS_DECL
#include "KdlPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "KdlPasses.h.inc"

/// Registers the dialect in tools that link it; plugins register themselves.
void registerDialect(DialectRegistry &registry);

/// Registers every pass and pipeline; may be called twice.
void registerPasses();

struct LowerToBinaryPipelineOptions : public PassPipelineOptions<LowerToBinaryPipelineOptions> {
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

/// kdl-lower-to-binary: compiles gpu.modules for several targets, keeps all of the objects, and
/// lowers the host code. MLIR's own passes must be registered, as for other pipelines in text.
void buildLowerToBinaryPipeline(OpPassManager &passes, const LowerToBinaryPipelineOptions &options);

struct LowerLinalgPipelineOptions : public PassPipelineOptions<LowerLinalgPipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("the CPU, as for kdl-data-tile; or GPUs, as "
                                            "for kdl-lower-mmt4d-to-ukernels"),
                             llvm::cl::init("")};
  Option<std::string> library{*this, "library", llvm::cl::desc("a library of microkernels"),
                              llvm::cl::init("")};
  Option<bool> noSilentFallback{
      *this, "no-silent-fallback",
      llvm::cl::desc("a product of matrices without a microkernel is an error"),
      llvm::cl::init(false)};
  Option<bool> leavePlain{
      *this, "leave-plain",
      llvm::cl::desc("products that tiles would not make faster are the matmul library's"),
      llvm::cl::init(true)};
  Option<bool> approximateMath{
      *this, "approximate-math",
      llvm::cl::desc("exp, tanh and erf of f32 are polynomials, which LLVM makes vectors of"),
      llvm::cl::init(false)};
  Option<bool> threads{*this, "threads",
                       llvm::cl::desc("products and other large operations run on the threads of "
                                      "libkdl's host device; the program is linked with "
                                      "libkdl_mlir_runtime"),
                       llvm::cl::init(false)};
  Option<bool> ownResults{
      *this, "own-results",
      llvm::cl::desc("public functions change no argument, and each result is an allocation"),
      llvm::cl::init(false)};
};

/// kdl-lower-linalg: lowers linalg on tensors, with microkernels for products of matrices, to the
/// LLVM dialect. MLIR's own passes must be registered.
void buildLowerLinalgPipeline(OpPassManager &passes, const LowerLinalgPipelineOptions &options);

/// Registers the pipelines.
void registerPipelines();
void registerLinalgPipeline();

} // namespace mlir::kdl

#endif
