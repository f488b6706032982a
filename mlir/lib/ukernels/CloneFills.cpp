// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-clone-fills: gives each user of a linalg.fill its own.
#include "Passes.h"
#include "Transforms.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLCLONEFILLS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

struct CloneFill : public OpRewritePattern<linalg::FillOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::FillOp fill, PatternRewriter &rewriter) const override {
    auto empty = fill.hasPureTensorSemantics()
                     ? fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>()
                     : nullptr;
    if (!empty)
      return rewriter.notifyMatchFailure(fill, "not of an empty tensor");
    SmallVector<OpOperand *> starts;
    for (OpOperand &use : fill.getResult(0).getUses()) {
      auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
      if (user && user.isDpsInit(&use) && user->getBlock() == fill->getBlock())
        starts.push_back(&use);
    }
    if (starts.empty() || fill.getResult(0).hasOneUse())
      return rewriter.notifyMatchFailure(fill, "has one user");
    for (OpOperand *use : starts) {
      if (fill.getResult(0).hasOneUse())
        break;
      rewriter.setInsertionPoint(use->getOwner());
      IRMapping mapping;
      mapping.map(empty.getResult(), rewriter.clone(*empty)->getResult(0));
      Value made = rewriter.clone(*fill, mapping)->getResult(0);
      rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(made); });
    }
    return success();
  }
};

struct CloneFills : public kdl::impl::KdlCloneFillsBase<CloneFills> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateCloneFillsPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void kdl::populateCloneFillsPatterns(RewritePatternSet &patterns) {
  patterns.add<CloneFill>(patterns.getContext());
}
