// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-hoist-allocas: memory on the stack is taken once in a function, not in each turn of a loop,
// after which nothing would give it back.
#include "Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLHOISTALLOCAS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;

namespace {

struct HoistAllocas : public kdl::impl::KdlHoistAllocasBase<HoistAllocas> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<memref::AllocaOp> found;
    getOperation().walk([&](memref::AllocaOp op) {
      if (op->getNumOperands() == 0 && isBelowLoopsAlone(op))
        found.push_back(op);
    });
    for (memref::AllocaOp op : found) {
      Block &entry = op->getParentOfType<func::FuncOp>().getBody().front();
      op->moveBefore(&entry, entry.begin());
    }
  }

private:
  /// Each of these ends the life of what is in it, and runs in one thread.
  static bool isBelowLoopsAlone(Operation *op) {
    Operation *parent = op->getParentOp();
    while (isa<scf::ForOp, scf::ForallOp, scf::IfOp, scf::WhileOp>(parent))
      parent = parent->getParentOp();
    return isa<func::FuncOp>(parent) && parent != op->getParentOp();
  }
};

} // namespace
