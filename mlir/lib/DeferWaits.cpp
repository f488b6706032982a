// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch without a stream blocks. Its effects are visible only to operations that access memory,
// to calls, and after a return: until then the host may continue, and launch more.
#include "GpuModules.h"

#include "Dialect.h"
#include "Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLDEFERWAITS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

bool kdl::isSynchronousLaunch(gpu::LaunchFuncOp launch, SymbolTableCollection &symbols) {
  auto binary =
      symbols.lookupNearestSymbolFrom<gpu::BinaryOp>(launch, launch.getKernelModuleName());
  return !launch.getAsyncObject() && binary &&
         isa_and_nonnull<RuntimeSelectAttr>(binary.getOffloadingHandlerAttr());
}

bool kdl::canObserveKernels(Operation &op) {
  bool leaves = op.hasTrait<OpTrait::IsTerminator>() && op.getNumSuccessors() == 0;
  return leaves || !isMemoryEffectFree(&op);
}

namespace {

/// One function: whether a launch may be pending at the start of each block.
class WaitPlacement {
public:
  explicit WaitPlacement(LLVM::LLVMFuncOp function) : function(function) {}

  void solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Block &block : function.getBody()) {
        if (!visit(block, [](Operation &) {}))
          continue;
        for (Block *successor : block.getSuccessors())
          changed |= pending.insert(successor).second;
      }
    }
  }

  /// Inserts waits where they are needed, instead of one after each launch.
  bool insertWaits(StringRef wait) {
    bool placed = false;
    OpBuilder builder(function.getContext());
    for (Block &block : function.getBody()) {
      visit(block, [&](Operation &op) {
        if (isLaunch(op)) {
          op.setAttr(deferredAttr, builder.getUnitAttr());
          return;
        }
        builder.setInsertionPoint(&op);
        LLVM::CallOp::create(builder, op.getLoc(), TypeRange(), wait);
        placed = true;
      });
    }
    return placed;
  }

private:
  bool isLaunch(Operation &op) {
    auto launch = dyn_cast<gpu::LaunchFuncOp>(op);
    return launch && isSynchronousLaunch(launch, symbols);
  }

  /// Calls `act` for launches and for what must wait for them; returns whether one is pending.
  bool visit(Block &block, function_ref<void(Operation &)> act) {
    bool isPending = pending.contains(&block);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      bool launches = isLaunch(op);
      if (launches || (isPending && canObserveKernels(op)))
        act(op);
      isPending = launches || (isPending && !canObserveKernels(op));
    }
    return isPending;
  }

  LLVM::LLVMFuncOp function;
  SymbolTableCollection symbols;
  llvm::SmallPtrSet<Block *, 8> pending;
};

struct DeferWaits : public kdl::impl::KdlDeferWaitsBase<DeferWaits> {
  using Base::Base;

  void runOnOperation() override {
    constexpr StringLiteral wait = "kdl_mlir_wait";
    ModuleOp module = getOperation();
    bool placed = false;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      WaitPlacement waits(function);
      waits.solve();
      placed |= waits.insertWaits(wait);
    }
    if (!placed || module.lookupSymbol(wait))
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto none = LLVM::LLVMVoidType::get(&getContext());
    LLVM::LLVMFuncOp::create(builder, module.getLoc(), wait, LLVM::LLVMFunctionType::get(none, {}));
  }
};

} // namespace
