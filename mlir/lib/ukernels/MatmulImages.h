// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of the matmul library, which call microkernels.
#ifndef KDL_MLIR_LIB_UKERNELS_MATMULIMAGES_H
#define KDL_MLIR_LIB_UKERNELS_MATMULIMAGES_H

#include "mlir/Support/LLVM.h"

#include <kdl/kdl.h>

#include <string>

namespace mlir::kdl {

/// Bitcode of the matmul library with this kernel for a CPU. It calls a microkernel.
FailureOr<std::string> findMatmulKernels(StringRef kernel, StringRef target, std::string &why);

/// A device, the kernel of the matmul library that it needs, and the microkernel of that.
struct MatmulTarget {
  std::string device, kernel, ukernel;
};

/// An image of the matmul library, with its metadata but for target and digest.
struct MatmulImage {
  kdl_image_kind kind;
  std::string triple, arch, bytes;
  SmallVector<std::pair<std::string, std::string>> pairs;
};

/// The best image with the kernel for each device, and all images with its microkernel that run
/// there, of a library (empty: libkdl's own), each once.
FailureOr<SmallVector<MatmulImage>> findMatmulImages(ArrayRef<MatmulTarget> targets,
                                                     StringRef library, std::string &why);

} // namespace mlir::kdl

#endif
