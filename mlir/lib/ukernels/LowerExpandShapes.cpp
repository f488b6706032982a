// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers memref.expand_shape with several dynamic sizes in one group, on which
// expand-strided-metadata crashes (docs/upstream-bugs.md).
#include "Passes.h"
#include "Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLOWEREXPANDSHAPES
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

bool hasTwoDynamic(memref::ExpandShapeOp op) {
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  auto isDynamic = [&](int64_t dim) {
    return ShapedType::isDynamic(shape[static_cast<size_t>(dim)]);
  };
  return llvm::any_of(op.getReassociationIndices(), [&](const ReassociationIndices &group) {
    return llvm::count_if(group, isDynamic) > 1;
  });
}

/// Casts the memory to the sizes that the operation names.
struct LowerExpandShape : public OpRewritePattern<memref::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(memref::ExpandShapeOp op, PatternRewriter &builder) const override {
    Location where = op.getLoc();
    MemRefType type = op.getResultType();
    SmallVector<int64_t> known;
    int64_t knownOffset;
    if (!hasTwoDynamic(op) || failed(type.getStridesAndOffset(known, knownOffset)))
      return builder.notifyMatchFailure(op, "at most one dynamic size in a group");
    auto layout = memref::ExtractStridedMetadataOp::create(builder, where, op.getSrc());
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape(), strides(sizes.size());
    for (auto [source, group] : llvm::enumerate(op.getReassociationIndices())) {
      Value stride = layout.getStrides()[source];
      for (int64_t dim : llvm::reverse(group)) {
        auto at = static_cast<size_t>(dim);
        bool isKnown = !ShapedType::isDynamic(known[at]);
        strides[at] =
            isKnown ? OpFoldResult(builder.getIndexAttr(known[at])) : OpFoldResult(stride);
        Value size = getValueOrCreateConstantIndexOp(builder, where, sizes[at]);
        stride = arith::MulIOp::create(builder, where, stride, size);
      }
    }
    OpFoldResult offset = ShapedType::isDynamic(knownOffset)
                              ? OpFoldResult(layout.getOffset())
                              : OpFoldResult(builder.getIndexAttr(knownOffset));
    builder.replaceOpWithNewOp<memref::ReinterpretCastOp>(op, type, op.getSrc(), offset, sizes,
                                                          strides);
    return success();
  }
};

struct LowerExpandShapes : public kdl::impl::KdlLowerExpandShapesBase<LowerExpandShapes> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateLowerExpandShapesPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void kdl::populateLowerExpandShapesPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerExpandShape>(patterns.getContext());
}
