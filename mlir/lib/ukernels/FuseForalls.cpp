// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-fuse-foralls: fuses loops over the same number of blocks that do not depend on each other.
#include "Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLFUSEFORALLS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;

namespace {

bool isOnTensors(scf::ForallOp op) {
  return op.getNumResults() > 0 && op.isNormalized() && !op.getMapping() && isMemoryEffectFree(op);
}

bool haveSameCounts(scf::ForallOp one, scf::ForallOp other) {
  return one.getMixedUpperBound() == other.getMixedUpperBound();
}

/// Whether a result of `earlier` reaches `later`, directly or indirectly.
bool dependsOn(Operation *later, Operation *earlier) {
  Block *block = earlier->getBlock();
  llvm::SetVector<Operation *> users;
  users.insert(earlier);
  for (size_t i = 0; i < users.size(); ++i) { // the list grows in each iteration
    for (Operation *user : users[i]->getUsers()) {
      if (Operation *inBlock = block->findAncestorOpInBlock(*user))
        users.insert(inBlock);
    }
  }
  return users.contains(later);
}

/// Whether no operation between the two, which are in one block, accesses memory: operands of the
/// later one move before the earlier one, and a load must not pass a store.
bool hasNoMemoryEffectsBetween(Operation *earlier, Operation *later) {
  for (Operation *op = earlier->getNextNode(); op != later; op = op->getNextNode()) {
    if (!isMemoryEffectFree(op))
      return false;
  }
  return true;
}

struct FuseForalls : public kdl::impl::KdlFuseForallsBase<FuseForalls> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](scf::ForallOp op) {
      if (!op->getParentOfType<scf::ForallOp>() && !llvm::is_contained(blocks, op->getBlock()))
        blocks.push_back(op->getBlock());
    });
    for (Block *block : blocks)
      fuseForalls(*block);
  }

private:
  static void fuseForalls(Block &block);
  static scf::ForallOp fuseForalls(IRRewriter &rewriter, scf::ForallOp first, scf::ForallOp second);
};

/// A shared empty tensor would become one buffer, and be copied for the second loop.
void cloneEmptyTensors(IRRewriter &rewriter, scf::ForallOp op) {
  rewriter.setInsertionPoint(op);
  for (OpOperand &out : op.getOutputsMutable()) {
    if (auto empty = out.get().getDefiningOp<tensor::EmptyOp>())
      out.set(rewriter.clone(*empty)->getResult(0));
  }
}

/// Moves the second loop to the first and fuses them; null if that is not possible.
scf::ForallOp FuseForalls::fuseForalls(IRRewriter &rewriter, scf::ForallOp first,
                                       scf::ForallOp second) {
  if (!haveSameCounts(first, second) || !hasNoMemoryEffectsBetween(first, second) ||
      dependsOn(second, first) || failed(moveOperationDependencies(rewriter, second, first)))
    return nullptr;
  rewriter.moveOpAfter(second, first);
  cloneEmptyTensors(rewriter, second);
  return fuseIndependentSiblingForallLoops(first, second, rewriter);
}

void FuseForalls::fuseForalls(Block &block) {
  IRRewriter rewriter(block.getParentOp()->getContext());
  SmallVector<scf::ForallOp> loops;
  for (auto op : block.getOps<scf::ForallOp>()) {
    if (isOnTensors(op))
      loops.push_back(op);
  }
  for (size_t i = 0; i < loops.size(); ++i) {
    for (size_t j = i + 1; j < loops.size();) {
      scf::ForallOp joined = fuseForalls(rewriter, loops[i], loops[j]);
      if (!joined) {
        ++j;
        continue;
      }
      loops[i] = joined;
      loops.erase(loops.begin() + static_cast<ptrdiff_t>(j));
    }
  }
}

} // namespace
