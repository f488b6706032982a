// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices on GPUs: launches of the matmul library's kernels, whose microkernels are
// linked when they are loaded.
#ifndef KDL_MLIR_LIB_UKERNELS_GPUCONTRACTIONS_H
#define KDL_MLIR_LIB_UKERNELS_GPUCONTRACTIONS_H

#include "ukernels/UkernelSelection.h"
#include "ukernels/UnpackedContraction.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kdl {

/// Whether a pass's target names GPUs: sm_90a, gfx942, with host among them or not, as a list.
bool hasGpuTarget(StringRef target);

/// Reports an unknown target, or a library that cannot be opened, as an error of the pass.
LogicalResult checkGpuTargets(MLIRContext *context, StringRef pass, const UkernelSource &source);

struct GpuContractionOptions {
  bool hostMemory;       // of operands that gpu.alloc did not allocate
  bool noSilentFallback; // what stays is an error
};

/// Turns products on memrefs into launches: those of host functions, and those of kernels that have
/// nothing else, whose launches become theirs. What stays gets a remark, or an error, and then this
/// fails.
LogicalResult lowerGpuContractions(ModuleOp module, const UkernelSource &source,
                                   const GpuContractionOptions &options);

// What follows a product of matrices and can be part of its launch on a GPU.

/// result = activation(scale * sums + bias + residual), as <kdl/matmul_gpu.h> has it.
struct Epilogue {
  linalg::GenericOp op;
  Value result;
  Value bias;     // f32 for each column, or null
  Value residual; // like the result, or null
  float scale = 1.0F;
  bool isRelu = false;
};

/// The elementwise operation that is next to read the sums, where they are not needed otherwise.
/// With `adds` the product is added to its result.
std::optional<Epilogue> matchEpilogue(linalg::LinalgOp product, const UnpackedMatrix &out,
                                      bool adds);

} // namespace mlir::kdl

#endif
