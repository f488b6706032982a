// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-approximate-math: f32 functions as polynomials, and sums that LLVM may reorder, so that it
// can vectorise them.
#include "Passes.h"

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

namespace {

/// Allows any order for the addition to the accumulator in the body of a reduction.
void addInAnyOrder(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  if (op.getNumReductionLoops() == 0 || !body)
    return;
  for (Value sum : body->getTerminator()->getOperands()) {
    auto add = sum.getDefiningOp<arith::AddFOp>();
    if (add && llvm::any_of(add->getOperands(), [&](Value operand) {
          auto argument = dyn_cast<BlockArgument>(operand);
          return argument && argument.getOwner() == body &&
                 argument.getArgNumber() >= static_cast<unsigned>(op.getNumDpsInputs());
        }))
      add.setFastmath(add.getFastmath() | arith::FastMathFlags::reassoc);
  }
}

struct ApproximateMath : public kdl::impl::KdlApproximateMathBase<ApproximateMath> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk(addInAnyOrder);
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == math::ExpOp::getOperationName() || name == math::TanhOp::getOperationName() ||
             name == math::ErfOp::getOperationName();
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
