// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-lower-min-max: maximum and minimum as LLVM intrinsics.
#include "Compat.h"
#include "Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLOWERMINMAX
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;

namespace {

struct LowerMinMax : public kdl::impl::KdlLowerMinMaxBase<LowerMinMax> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto largest = dyn_cast<arith::MaximumFOp>(op))
        replace<LLVM::MaximumOp>(largest);
      else if (auto smallest = dyn_cast<arith::MinimumFOp>(op))
        replace<LLVM::MinimumOp>(smallest);
    });
  }

private:
  template <typename To, typename From> static void replace(From op) {
    Type type = op.getType();
    if (!type.isF32() && !type.isF64())
      return;
    OpBuilder builder(op);
    LLVM::FastmathFlags flags = kdl::convertFastmathFlags(op.getFastmath());
    Value made = To::create(builder, op.getLoc(), type, op.getLhs(), op.getRhs(), flags);
    op.replaceAllUsesWith(made);
    op.erase();
  }
};

} // namespace
