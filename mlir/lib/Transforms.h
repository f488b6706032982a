// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rewrite patterns of the passes, for passes of others.
#ifndef KDL_MLIR_LIB_TRANSFORMS_H
#define KDL_MLIR_LIB_TRANSFORMS_H

#include "mlir/IR/PatternMatch.h"

#include <string>

namespace mlir::kdl {

/// kdl-async-memory: blocking gpu.alloc, dealloc, memcpy and memset become asynchronous.
void populateAsyncMemoryPatterns(RewritePatternSet &patterns);

/// kdl-approximate-math: f32 functions become polynomials, and sums of reductions may be reordered.
void populateApproximateMathPatterns(RewritePatternSet &patterns);

/// kdl-clone-fills: each user of a linalg.fill gets its own.
void populateCloneFillsPatterns(RewritePatternSet &patterns);

/// The options of kdl-data-tile, without those about diagnostics.
struct DataTileOptions {
  std::string library;           // of microkernels; empty: libkdl's own
  std::string target;            // the CPU; empty: the least one that libkdl is built for
  bool leavePlain = false;       // leave products that tiling would not speed up
  bool noSilentFallback = false; // leave types without a microkernel, too
};

/// kdl-data-tile: contractions on tensors become pack, mmt4d and unpack. In the module that they
/// are in, its own microkernels and its provider have precedence. Products in vector code get
/// a remark. Apply them once to each operation (walkAndApplyPatterns).
void populateDataTilePatterns(RewritePatternSet &patterns, const DataTileOptions &options);

/// kdl-fuse-tiles: products in tiles become loops over these, with producers and consumers fused.
/// `target` is the CPU whose caches decide the blocks. Apply them to the products that are there
/// in their order (GreedyRewriteStrictness::ExistingOps): the loops have products in tiles, too.
void populateFuseTilesPatterns(RewritePatternSet &patterns, StringRef target);

/// kdl-lower-expand-shapes: memref.expand_shape with two dynamic sizes in a group becomes a cast.
void populateLowerExpandShapesPatterns(RewritePatternSet &patterns);

/// kdl-lower-contractions: contractions on memrefs become calls of the matmul library's functions,
/// which are declared in the module; with `threads`, in loops over the parts that these divide it
/// into.
struct LowerContractionsOptions {
  std::string library, target;
  bool threads = false;
};
void populateLowerContractionsPatterns(RewritePatternSet &patterns,
                                       const LowerContractionsOptions &options);

/// kdl-lower-mmt4d-to-ukernels: products in tiles on memrefs become loops around calls of a
/// microkernel, which is declared in the module. A set of patterns is for one module.
struct LowerMmt4dOptions {
  std::string library, target;
};
void populateLowerMmt4dPatterns(RewritePatternSet &patterns, const LowerMmt4dOptions &options);

/// kdl-lower-min-max: arith.maximumf and minimumf become LLVM intrinsics.
void populateLowerMinMaxPatterns(RewritePatternSet &patterns);

} // namespace mlir::kdl

#endif
