// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rewrite patterns of the passes, for passes of others.
#ifndef KDL_MLIR_TRANSFORMS_H
#define KDL_MLIR_TRANSFORMS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::kdl {

/// kdl-async-memory: blocking gpu.alloc, dealloc, memcpy and memset become asynchronous.
void populateAsyncMemoryPatterns(RewritePatternSet &patterns);

/// kdl-approximate-math: f32 functions become polynomials, and sums of reductions may be reordered.
void populateApproximateMathPatterns(RewritePatternSet &patterns);

/// kdl-clone-fills: each user of a linalg.fill gets its own.
void populateCloneFillsPatterns(RewritePatternSet &patterns);

/// kdl-lower-expand-shapes: memref.expand_shape with two dynamic sizes in a group becomes a cast.
void populateLowerExpandShapesPatterns(RewritePatternSet &patterns);

/// kdl-lower-min-max: arith.maximumf and minimumf become LLVM intrinsics.
void populateLowerMinMaxPatterns(RewritePatternSet &patterns);

} // namespace mlir::kdl

#endif
