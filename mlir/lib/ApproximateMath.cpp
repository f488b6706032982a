// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-approximate-math: f32 functions as polynomials, and sums that LLVM may reorder, so that it
// can vectorise them.
#include "Passes.h"
#include "Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLAPPROXIMATEMATH
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// Allows any order for the addition to the accumulator in the body of a reduction.
struct AddInAnyOrder : public OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op, PatternRewriter &rewriter) const override {
    Block *body = op.getBlock();
    if (op.getNumReductionLoops() == 0 || !body)
      return rewriter.notifyMatchFailure(op, "no reduction");
    auto isAccumulator = [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(operand);
      return argument && argument.getOwner() == body &&
             argument.getArgNumber() >= static_cast<unsigned>(op.getNumDpsInputs());
    };
    bool changed = false;
    for (Value sum : body->getTerminator()->getOperands()) {
      auto add = sum.getDefiningOp<arith::AddFOp>();
      if (!add || !llvm::any_of(add->getOperands(), isAccumulator) ||
          arith::bitEnumContainsAll(add.getFastmath(), arith::FastMathFlags::reassoc))
        continue;
      rewriter.modifyOpInPlace(
          add, [&] { add.setFastmath(add.getFastmath() | arith::FastMathFlags::reassoc); });
      changed = true;
    }
    return success(changed);
  }
};

struct ApproximateMath : public kdl::impl::KdlApproximateMathBase<ApproximateMath> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateApproximateMathPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void kdl::populateApproximateMathPatterns(RewritePatternSet &patterns) {
  patterns.add<AddInAnyOrder>(patterns.getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return name == math::ExpOp::getOperationName() || name == math::TanhOp::getOperationName() ||
           name == math::ErfOp::getOperationName();
  });
}
