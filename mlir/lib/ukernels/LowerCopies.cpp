// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-lower-copies: what MLIR would call its runtime library for.
#include "Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLOWERCOPIES
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;

namespace {

struct LowerCopies : public kdl::impl::KdlLowerCopiesBase<LowerCopies> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<memref::CopyOp> found;
    getOperation()->walk([&](memref::CopyOp op) {
      if (hasGaps(op.getSource()) || hasGaps(op.getTarget()))
        found.push_back(op);
    });
    for (memref::CopyOp op : found) {
      OpBuilder builder(op);
      linalg::makeMemRefCopyOp(builder, op.getLoc(), op.getSource(), op.getTarget());
      op.erase();
    }
  }

private:
  static bool hasGaps(Value buffer) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    return type && type.getRank() > 0 && !type.getLayout().isIdentity();
  }
};

} // namespace
