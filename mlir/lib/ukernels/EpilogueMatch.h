// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What follows a product of matrices and can be part of its launch on a GPU.
#ifndef KDL_MLIR_LIB_UKERNELS_EPILOGUEMATCH_H
#define KDL_MLIR_LIB_UKERNELS_EPILOGUEMATCH_H

#include "ukernels/UnpackedContraction.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kdl {

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
