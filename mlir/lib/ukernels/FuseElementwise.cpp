// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/FuseElementwise.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

Operation *kdl::onlyUser(Value value) {
  Operation *found = nullptr;
  for (Operation *user : value.getUsers()) {
    if (isa<tensor::DimOp>(user))
      continue;
    if (found && found != user)
      return nullptr;
    found = user;
  }
  return found;
}

bool kdl::isElementwiseOn(linalg::LinalgOp op, Value value) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.getNumLoops() != op.getNumParallelLoops() || op.getNumDpsInits() != 1 ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (input->get() == value && !op.getMatchingIndexingMap(input).isIdentity())
      return false;
  }
  return op.getDpsInits()[0] != value;
}

static bool isPerElement(linalg::LinalgOp op) {
  return op && op.hasPureTensorSemantics() && op.getNumLoops() == op.getNumParallelLoops() &&
         op.getNumDpsInputs() > 0 && op->getNumResults() == 1 &&
         !isa<linalg::FillOp, linalg::CopyOp>(op.getOperation());
}

/// Fuses the producer of one operand; returns the fused operation, or null.
static linalg::GenericOp fuseOne(IRRewriter &rewriter, linalg::GenericOp consumer) {
  for (OpOperand &operand : consumer->getOpOperands()) {
    auto producer = operand.get().getDefiningOp<linalg::GenericOp>();
    if (!producer || !isPerElement(producer) || !operand.get().hasOneUse() ||
        producer->getBlock() != consumer->getBlock() || !linalg::areElementwiseOpsFusable(&operand))
      continue;
    rewriter.setInsertionPoint(consumer);
    FailureOr<linalg::ElementwiseOpFusionResult> fused =
        linalg::fuseElementwiseOps(rewriter, &operand);
    if (failed(fused))
      continue;
    for (auto [from, to] : fused->replacements)
      rewriter.replaceUsesWithIf(from, to,
                                 [&](OpOperand &use) { return use.getOwner() != producer; });
    rewriter.eraseOp(consumer);
    if (producer->use_empty())
      rewriter.eraseOp(producer);
    return cast<linalg::GenericOp>(fused->fusedOp);
  }
  return nullptr;
}

void kdl::fuseElementwise(Operation *root) {
  IRRewriter rewriter(root->getContext());
  SmallVector<linalg::LinalgOp> named;
  root->walk([&](linalg::LinalgOp op) {
    if (isPerElement(op) && !isa<linalg::GenericOp>(op.getOperation()))
      named.push_back(op);
  });
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
  // Consumers follow their producers, so in reverse order each one is complete when it is visited.
  SmallVector<Operation *> consumers;
  root->walk([&](linalg::GenericOp op) {
    if (isPerElement(op))
      consumers.push_back(op);
  });
  llvm::SmallPtrSet<Operation *, 8> gone;
  for (Operation *op : llvm::reverse(consumers)) {
    if (gone.contains(op))
      continue;
    auto consumer = cast<linalg::GenericOp>(op);
    while (consumer) {
      SmallVector<Operation *> producers;
      for (Value operand : consumer->getOperands())
        producers.push_back(operand.getDefiningOp());
      linalg::GenericOp fused = fuseOne(rewriter, consumer);
      if (fused) { // a remaining one is still the producer of an operand
        for (Operation *producer : producers) {
          if (producer && llvm::none_of(fused->getOperands(), [&](Value value) {
                return value.getDefiningOp() == producer;
              }))
            gone.insert(producer);
        }
      }
      consumer = fused;
    }
  }
}
