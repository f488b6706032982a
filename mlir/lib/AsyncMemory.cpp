// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-async-memory: MLIR lowers gpu.alloc, dealloc, memcpy and memset only if they are
// asynchronous, and leaves blocking ones unlowered.
#include "Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLASYNCMEMORY
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;

namespace {

/// Memory shared with the host is allocated without a stream.
bool isBlocking(Operation *op) {
  if (auto alloc = dyn_cast<gpu::AllocOp>(op); alloc && alloc.getHostShared())
    return false;
  return isa<gpu::AllocOp, gpu::DeallocOp, gpu::MemcpyOp, gpu::MemsetOp>(op) &&
         !cast<gpu::AsyncOpInterface>(op).getAsyncToken();
}

/// The same operation on a new stream, followed by a wait.
void makeAsync(Operation *op) {
  OpBuilder builder(op);
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
            alloc.getMemref().replaceAllUsesWith(made.getMemref());
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
  op->erase();
}

struct AsyncMemory : public kdl::impl::KdlAsyncMemoryBase<AsyncMemory> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> blocking;
    getOperation().walk([&](Operation *op) {
      if (isBlocking(op))
        blocking.push_back(op);
    });
    for (Operation *op : blocking)
      makeAsync(op);
  }
};

} // namespace
