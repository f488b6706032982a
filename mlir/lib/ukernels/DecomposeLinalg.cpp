// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-decompose-linalg: operations of linalg that are several loops, before tiling.
#include "HostFunctions.h"
#include "Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLDECOMPOSELINALG
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

bool isWinograd(Operation *op) {
  return isa<linalg::WinogradFilterTransformOp, linalg::WinogradInputTransformOp,
             linalg::WinogradOutputTransformOp>(op);
}

bool decompose(RewriterBase &rewriter, Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](linalg::WinogradFilterTransformOp filter) {
        return succeeded(linalg::decomposeWinogradFilterTransformOp(rewriter, filter));
      })
      .Case([&](linalg::WinogradInputTransformOp input) {
        return succeeded(linalg::decomposeWinogradInputTransformOp(rewriter, input));
      })
      .Case([&](linalg::WinogradOutputTransformOp output) {
        return succeeded(linalg::decomposeWinogradOutputTransformOp(rewriter, output));
      });
}

/// A softmax of memrefs as one of tensors, which MLIR decomposes.
linalg::SoftmaxOp onTensors(RewriterBase &rewriter, linalg::SoftmaxOp op) {
  auto input = cast<MemRefType>(op.getInput().getType());
  Location where = op.getLoc();
  auto type = RankedTensorType::get(input.getShape(), input.getElementType());
  Value from = bufferization::ToTensorOp::create(rewriter, where, type, op.getInput(),
                                                 /*restrict=*/true);
  Value to = tensor::EmptyOp::create(rewriter, where,
                                     memref::getMixedSizes(rewriter, where, op.getInput()),
                                     type.getElementType());
  auto made = linalg::SoftmaxOp::create(rewriter, where, TypeRange{to.getType()}, from, to,
                                        op.getDimension());
  auto stored = bufferization::MaterializeInDestinationOp::create(
      rewriter, where, made.getResult()[0], op.getOutput());
  stored.setWritable(true);
  rewriter.eraseOp(op);
  return made;
}

struct DecomposeLinalg : public kdl::impl::KdlDecomposeLinalgBase<DecomposeLinalg> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::SoftmaxOp> softmaxes;
    SmallVector<Operation *> transforms;
    for (func::FuncOp function : getHostFunctions(getOperation()))
      function.walk([&](Operation *op) {
        if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op))
          softmaxes.push_back(softmax);
        else if (isWinograd(op))
          transforms.push_back(op);
      });
    IRRewriter rewriter(&getContext());
    for (linalg::SoftmaxOp op : softmaxes) {
      rewriter.setInsertionPoint(op);
      if (isa<MemRefType>(op.getInput().getType()))
        op = onTensors(rewriter, op);
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> parts = op.decomposeOperation(rewriter);
      if (failed(parts)) {
        op.emitError("cannot be decomposed");
        return signalPassFailure();
      }
      rewriter.replaceOp(op, *parts);
    }
    for (Operation *op : transforms) {
      rewriter.setInsertionPoint(op);
      bool isStatic = llvm::all_of(op->getOperandTypes(), [](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        return tensor && tensor.hasStaticShape();
      });
      if (!isStatic || !decompose(rewriter, op)) {
        op->emitError() << op->getName()
                        << " cannot be decomposed: expected tensors of static sizes";
        return signalPassFailure();
      }
    }
  }
};

} // namespace
