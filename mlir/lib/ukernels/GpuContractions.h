// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices on GPUs: launches of the matmul library's kernels, whose microkernels are
// linked when they are loaded.
#ifndef KDL_MLIR_LIB_UKERNELS_GPUCONTRACTIONS_H
#define KDL_MLIR_LIB_UKERNELS_GPUCONTRACTIONS_H

#include "ukernels/UkernelSelection.h"

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

} // namespace mlir::kdl

#endif
