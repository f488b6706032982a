// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-clone-fills: gives each user of a linalg.fill its own.
#include "Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLCLONEFILLS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;

namespace {

struct CloneFills : public kdl::impl::KdlCloneFillsBase<CloneFills> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::FillOp> fills;
    getOperation().walk([&](linalg::FillOp op) {
      if (op.hasPureTensorSemantics() && op.getOutputs()[0].getDefiningOp<tensor::EmptyOp>())
        fills.push_back(op);
    });
    for (linalg::FillOp fill : fills) {
      SmallVector<OpOperand *> starts;
      for (OpOperand &use : fill.getResult(0).getUses()) {
        auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
        if (user && user.isDpsInit(&use) && user->getBlock() == fill->getBlock())
          starts.push_back(&use);
      }
      for (OpOperand *use : starts) {
        if (fill.getResult(0).hasOneUse())
          break;
        OpBuilder builder(use->getOwner());
        auto empty = fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>();
        auto made = cast<linalg::FillOp>(builder.clone(*fill));
        made.getOutputsMutable()[0].set(builder.clone(*empty)->getResult(0));
        made->moveBefore(use->getOwner());
        use->set(made.getResult(0));
      }
    }
  }
};

} // namespace
