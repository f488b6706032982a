// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-hoist-allocas: allocates stack memory once per function, not in each iteration of a loop,
// which would not free it.
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
    getOperation()->walk([&](memref::AllocaOp op) {
      if (op->getNumOperands() == 0 && isBelowLoopsAlone(op))
        found.push_back(op);
    });
    for (memref::AllocaOp op : found) {
      Block &entry = op->getParentOfType<func::FuncOp>().getBody().front();
      op->moveBefore(&entry, entry.begin());
    }
  }

private:
  /// Whether only loops and branches are around it, which end the lifetime of allocations.
  static bool isBelowLoopsAlone(Operation *op) {
    Operation *parent = op->getParentOp();
    while (isa<scf::ForOp, scf::ForallOp, scf::IfOp, scf::WhileOp>(parent))
      parent = parent->getParentOp();
    return isa<func::FuncOp>(parent) && parent != op->getParentOp();
  }
};

} // namespace
