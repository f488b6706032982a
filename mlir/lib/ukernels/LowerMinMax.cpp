// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-lower-min-max: maximum and minimum as LLVM intrinsics.
#include "Compat.h"
#include "Passes.h"
#include "Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLOWERMINMAX
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

template <typename From, typename To> struct LowerExtremum : public OpRewritePattern<From> {
  using OpRewritePattern<From>::OpRewritePattern;

  LogicalResult matchAndRewrite(From op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isF32() && !type.isF64())
      return rewriter.notifyMatchFailure(op, "only for f32 and f64");
    LLVM::FastmathFlags flags = convertFastmathFlags(op.getFastmath());
    rewriter.replaceOpWithNewOp<To>(op, type, op.getLhs(), op.getRhs(), flags);
    return success();
  }
};

struct LowerMinMax : public kdl::impl::KdlLowerMinMaxBase<LowerMinMax> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateLowerMinMaxPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void kdl::populateLowerMinMaxPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerExtremum<arith::MaximumFOp, LLVM::MaximumOp>,
               LowerExtremum<arith::MinimumFOp, LLVM::MinimumOp>>(patterns.getContext());
}
