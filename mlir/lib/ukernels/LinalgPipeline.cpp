// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-lower-linalg: from linalg on tensors to a module for kdl-mlir translate or run.
#include "Passes.h"
#include "ukernels/GpuContractions.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

struct LowerLinalgOptions : public PassPipelineOptions<LowerLinalgOptions> {
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
};

void addPipelineText(OpPassManager &passes, StringRef text) {
  if (failed(parsePassPipeline(text, passes)))
    llvm::report_fatal_error("kdl-lower-linalg: MLIR's own passes are not registered");
}

/// Tiles that fit a CPU's microkernels; GPUs' kernels have their own.
void addTiling(OpPassManager &passes, const LowerLinalgOptions &options) {
  KdlDataTileOptions tile;
  tile.target = options.target;
  tile.library = options.library;
  tile.noSilentFallback = options.noSilentFallback;
  tile.leavePlain = options.leavePlain;
  passes.addPass(createKdlDataTile(tile));
  // Hoists packs of loop-invariant operands.
  addPipelineText(passes, "canonicalize,cse,func.func(loop-invariant-code-motion)");
  KdlFuseTilesOptions fuse;
  fuse.target = options.target;
  fuse.library = options.library;
  passes.addPass(createKdlFuseTiles(fuse));
  addPipelineText(passes, "canonicalize,cse");
}

void buildLowerLinalg(OpPassManager &passes, const LowerLinalgOptions &options) {
  bool onGpu = hasGpuTarget(options.target);
  passes.addPass(createKdlMarkManualDeallocation());
  addPipelineText(passes, "canonicalize,cse");
  if (!onGpu)
    addTiling(passes, options);
  if (options.threads)
    passes.addPass(createKdlFuseForalls());
  passes.addPass(createKdlCloneFills());
  // Hoists the accumulators of a tile out of loops, onto the stack.
  addPipelineText(passes, "eliminate-empty-tensors,empty-tensor-to-alloc-tensor,"
                          "one-shot-bufferize{bufferize-function-boundaries=1 "
                          "function-boundary-type-conversion=identity-layout-map},"
                          "drop-equivalent-buffer-results,canonicalize,"
                          "func.func(buffer-hoisting,buffer-loop-hoisting,"
                          "promote-buffers-to-stack{max-alloc-size-in-bytes=16384})");
  passes.addPass(createKdlDeallocateBuffers());
  addPipelineText(passes, "canonicalize,buffer-deallocation-simplification,"
                          "bufferization-lower-deallocations,cse,canonicalize,"
                          "convert-bufferization-to-memref,canonicalize,cse");
  passes.addPass(createKdlLowerExpandShapes());
  if (options.leavePlain && !onGpu) {
    KdlLowerContractionsOptions products;
    products.target = options.target;
    products.library = options.library;
    products.threads = options.threads;
    passes.addPass(createKdlLowerContractions(products));
  }
  if (options.threads)
    passes.addPass(createKdlDistributeLoops());
  KdlLowerMmt4dToUkernelsOptions lower;
  lower.target = options.target;
  lower.library = options.library;
  lower.noSilentFallback = options.noSilentFallback;
  lower.hostMemory = true; // tensors are there
  passes.addPass(createKdlLowerMmt4dToUkernels(lower));
  if (options.approximateMath)
    passes.addPass(createKdlApproximateMath());
  addPipelineText(passes, "func.func(convert-linalg-to-loops)");
  if (options.threads)
    passes.addPass(createKdlOutlineParallel());
  passes.addPass(createKdlHoistAllocas());
  passes.addPass(createKdlLowerMinMax());
  addPipelineText(passes, "func.func(scf-forall-to-for),convert-vector-to-scf,arith-expand,"
                          "convert-scf-to-cf,expand-strided-metadata,lower-affine");
  if (onGpu)
    addPipelineText(passes, "gpu-to-llvm");
  addPipelineText(passes, "convert-math-to-llvm,convert-vector-to-llvm,convert-to-llvm,"
                          "reconcile-unrealized-casts");
  if (options.threads)
    passes.addPass(createKdlLowerParallelCalls());
  if (onGpu)
    passes.addPass(createKdlDeferWaits());
}

} // namespace

void kdl::registerLinalgPipeline() {
  PassPipelineRegistration<LowerLinalgOptions>(
      "kdl-lower-linalg",
      "Lowers linalg on tensors, with microkernels for products of matrices, to the LLVM dialect",
      buildLowerLinalg);
}
