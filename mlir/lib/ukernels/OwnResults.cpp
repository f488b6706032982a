// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-own-results: public functions change no argument, and what they return is the caller's to
// free.
#include "HostFunctions.h"
#include "Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLOWNRESULTS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// Where a tensor's elements come from: looks through views.
Value sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::ReshapeOp,
             tensor::ExtractSliceOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

struct OwnResults : public kdl::impl::KdlOwnResultsBase<OwnResults> {
  using Base::Base;

  void runOnOperation() override {
    for (func::FuncOp function : getHostFunctions(getOperation())) {
      if (function.isDeclaration() || !function.isPublic())
        continue;
      for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
        if (isa<TensorType>(type))
          function.setArgAttr(static_cast<unsigned>(i),
                              bufferization::BufferizationDialect::kWritableAttrName,
                              BoolAttr::get(&getContext(), false));
      }
      function.walk([&](func::ReturnOp end) { copyShared(end); });
    }
  }

private:
  /// Copies what the caller has already: an argument, or another result. A loop's argument may be
  /// one of the function.
  void copyShared(func::ReturnOp end) {
    llvm::SmallPtrSet<Value, 4> returned;
    for (OpOperand &operand : end->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      if (!type)
        continue;
      Value source = sourceOf(operand.get());
      if (returned.insert(source).second && !isa<BlockArgument>(source))
        continue;
      OpBuilder builder(end);
      operand.set(bufferization::AllocTensorOp::create(builder, end.getLoc(), type, ValueRange(),
                                                       /*copy=*/operand.get()));
    }
  }
};

} // namespace
