// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which functions free their memory themselves: those on tensors leave it to MLIR's deallocation,
// the others do not.
#include "Attributes.h"
#include "HostFunctions.h"
#include "Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLMARKMANUALDEALLOCATION
#define GEN_PASS_DEF_KDLDEALLOCATEBUFFERS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

bool hasTensors(func::FuncOp function) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  WalkResult found = function.walk([&](Operation *op) {
    bool has = llvm::any_of(op->getOperandTypes(), isTensor) ||
               llvm::any_of(op->getResultTypes(), isTensor);
    return has ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted() || llvm::any_of(function.getArgumentTypes(), isTensor) ||
         llvm::any_of(function.getResultTypes(), isTensor);
}

struct MarkManualDeallocation
    : public kdl::impl::KdlMarkManualDeallocationBase<MarkManualDeallocation> {
  using Base::Base;

  void runOnOperation() override {
    auto unit = UnitAttr::get(&getContext());
    for (func::FuncOp function : getHostFunctions(getOperation())) {
      if (function.isDeclaration())
        continue;
      if (!hasTensors(function)) {
        function->setAttr(manualDeallocationAttr, unit);
        continue;
      }
      StringRef manual = bufferization::BufferizationDialect::kManualDeallocation;
      function.walk([&](memref::DeallocOp free) {
        Value freed = free.getMemref();
        while (auto view = freed.getDefiningOp<ViewLikeOpInterface>())
          freed = view.getViewSource();
        if (auto made = freed.getDefiningOp<memref::AllocOp>()) {
          made->setAttr(manual, unit);
          free->setAttr(manual, unit);
        }
      });
    }
  }
};

struct DeallocateBuffers : public kdl::impl::KdlDeallocateBuffersBase<DeallocateBuffers> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTableCollection symbols;
    for (func::FuncOp function : getHostFunctions(getOperation())) {
      bool byHand = function->removeAttr(manualDeallocationAttr) != nullptr;
      if (function.isDeclaration())
        continue;
      // Frees the old memory of a realloc with the other buffers, or at once.
      memref::ExpandReallocPassOptions realloc;
      realloc.emitDeallocs = byHand;
      OpPassManager before(func::FuncOp::getOperationName());
      before.addPass(memref::createExpandReallocPass(realloc));
      if (failed(runPipeline(before, function)) ||
          (!byHand &&
           failed(bufferization::deallocateBuffersOwnershipBased(function, {}, symbols))))
        return signalPassFailure();
    }
  }
};

} // namespace
