// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-async-memory: MLIR lowers gpu.alloc, dealloc, memcpy and memset only if they are
// asynchronous, and leaves blocking ones unlowered.
#include "Passes.h"
#include "Transforms.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLASYNCMEMORY
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// The same operation on a new stream, followed by a wait.
void makeAsync(Operation *op, PatternRewriter &builder) {
  Location loc = op->getLoc();
  auto tokenType = builder.getType<gpu::AsyncTokenType>();
  Value start = gpu::WaitOp::create(builder, loc, tokenType,
                                    cast<gpu::AsyncOpInterface>(op).getAsyncDependencies())
                    .getAsyncToken();
  Value end =
      TypeSwitch<Operation *, Value>(op)
          .Case([&](gpu::AllocOp alloc) {
            auto made = gpu::AllocOp::create(builder, loc, alloc.getType(), tokenType, start,
                                             alloc.getDynamicSizes(), alloc.getSymbolOperands());
            builder.replaceAllUsesWith(alloc.getMemref(), made.getMemref());
            return made.getAsyncToken();
          })
          .Case([&](gpu::DeallocOp dealloc) {
            return gpu::DeallocOp::create(builder, loc, tokenType, start, dealloc.getMemref())
                .getAsyncToken();
          })
          .Case([&](gpu::MemcpyOp copy) {
            return gpu::MemcpyOp::create(builder, loc, tokenType, start, copy.getDst(),
                                         copy.getSrc())
                .getAsyncToken();
          })
          .Case([&](gpu::MemsetOp set) {
            return gpu::MemsetOp::create(builder, loc, tokenType, start, set.getDst(),
                                         set.getValue())
                .getAsyncToken();
          });
  gpu::WaitOp::create(builder, loc, Type(), end);
  builder.eraseOp(op);
}

template <typename Op> struct MakeAsync : public OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    // Memory shared with the host is allocated without a stream.
    auto alloc = dyn_cast<gpu::AllocOp>(op.getOperation());
    if (op.getAsyncToken() || (alloc && alloc.getHostShared()))
      return rewriter.notifyMatchFailure(op, "does not block");
    makeAsync(op, rewriter);
    return success();
  }
};

struct AsyncMemory : public kdl::impl::KdlAsyncMemoryBase<AsyncMemory> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateAsyncMemoryPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void kdl::populateAsyncMemoryPatterns(RewritePatternSet &patterns) {
  patterns.add<MakeAsync<gpu::AllocOp>, MakeAsync<gpu::DeallocOp>, MakeAsync<gpu::MemcpyOp>,
               MakeAsync<gpu::MemsetOp>>(patterns.getContext());
}
