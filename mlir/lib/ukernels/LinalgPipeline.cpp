// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-lower-linalg: from linalg on tensors to a module for kdl-mlir translate or run.
#include "Passes.h"
#include "ukernels/GpuContractions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

void addPipelineText(OpPassManager &passes, StringRef text) {
  if (failed(parsePassPipeline(text, passes)))
    llvm::report_fatal_error("kdl-lower-linalg: MLIR's own passes are not registered");
}

/// Tiles that fit a CPU's microkernels; GPUs' kernels have their own.
void addTiling(OpPassManager &passes, const LowerLinalgPipelineOptions &options) {
  passes.addNestedPass<func::FuncOp>(createKdlLowerConvolutions());
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
  passes.addPass(createKdlFuseTiles(fuse));
  addPipelineText(passes, "canonicalize,cse");
}

} // namespace

void kdl::buildLowerLinalgPipeline(OpPassManager &passes,
                                   const LowerLinalgPipelineOptions &options) {
  bool onGpu = hasGpuTarget(options.target);
  passes.addNestedPass<func::FuncOp>(createKdlDecomposeLinalg());
  passes.addNestedPass<func::FuncOp>(createKdlMarkManualDeallocation());
  addPipelineText(passes, "canonicalize,cse");
  if (!onGpu)
    addTiling(passes, options);
  if (options.threads)
    passes.addNestedPass<func::FuncOp>(createKdlFuseForalls());
  passes.addNestedPass<func::FuncOp>(createKdlCloneFills());
  if (options.ownResults)
    passes.addPass(createKdlOwnResults());
  // Hoists the accumulators of a tile out of loops, onto the stack.
  addPipelineText(passes, "eliminate-empty-tensors,empty-tensor-to-alloc-tensor,"
                          "one-shot-bufferize{bufferize-function-boundaries=1 "
                          "allow-return-allocs-from-loops=1 "
                          "function-boundary-type-conversion=identity-layout-map},"
                          "drop-equivalent-buffer-results,canonicalize,"
                          "func.func(buffer-hoisting,buffer-loop-hoisting,"
                          "promote-buffers-to-stack{max-alloc-size-in-bytes=16384})");
  passes.addPass(createKdlDeallocateBuffers());
  addPipelineText(passes, "canonicalize,buffer-deallocation-simplification,"
                          "bufferization-lower-deallocations,cse,canonicalize,"
                          "convert-bufferization-to-memref,canonicalize,cse");
  passes.addNestedPass<func::FuncOp>(createKdlLowerExpandShapes());
  passes.addNestedPass<func::FuncOp>(createKdlLowerCopies());
  if (options.leavePlain && !onGpu) {
    KdlLowerContractionsOptions products;
    products.target = options.target;
    products.library = options.library;
    products.threads = options.threads;
    passes.addPass(createKdlLowerContractions(products));
  }
  if (options.threads)
    passes.addNestedPass<func::FuncOp>(createKdlDistributeLoops());
  KdlLowerMmt4dToUkernelsOptions lower;
  lower.target = options.target;
  lower.library = options.library;
  lower.noSilentFallback = options.noSilentFallback;
  lower.hostMemory = true; // tensors are there
  passes.addPass(createKdlLowerMmt4dToUkernels(lower));
  KdlRefuseUnsupportedOptions refuse;
  refuse.target = options.target;
  refuse.library = options.library;
  refuse.noSilentFallback = options.noSilentFallback;
  passes.addPass(createKdlRefuseUnsupported(refuse));
  if (options.approximateMath)
    passes.addPass(createKdlApproximateMath());
  addPipelineText(passes, "func.func(convert-linalg-to-loops)");
  if (options.threads)
    passes.addPass(createKdlOutlineParallel());
  passes.addNestedPass<func::FuncOp>(createKdlHoistAllocas());
  passes.addPass(createKdlLowerMath());
  passes.addPass(createKdlLowerMinMax());
  addPipelineText(passes, "func.func(scf-forall-to-for),convert-vector-to-scf,arith-expand,"
                          "convert-scf-to-cf,expand-strided-metadata,lower-affine");
  if (onGpu)
    addPipelineText(passes, "gpu-to-llvm");
  addPipelineText(
      passes, "convert-math-to-funcs,convert-math-to-llvm,convert-vector-to-llvm,convert-to-llvm,"
              "reconcile-unrealized-casts");
  if (options.threads)
    passes.addPass(createKdlLowerParallelCalls());
  if (onGpu)
    passes.addPass(createKdlDeferWaits());
}

void kdl::registerLinalgPipeline() {
  PassPipelineRegistration<LowerLinalgPipelineOptions>(
      "kdl-lower-linalg",
      "Lowers linalg on tensors, with microkernels for products of matrices, to the LLVM dialect",
      buildLowerLinalgPipeline);
}
