// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dialect.h"
#include "ObjectPacking.h"
#include "Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLMARKRUNTIMESELECT
#define GEN_PASS_DEF_KDLPACKOBJECTS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// MLIR sets a handler for every binary; without an explicit one it is the default.
bool hasDefaultHandler(gpu::BinaryOp binary) {
  Attribute handler = binary.getOffloadingHandlerAttr();
  auto select = dyn_cast_or_null<gpu::SelectObjectAttr>(handler);
  return !handler || (select && !select.getTarget());
}

struct MarkRuntimeSelect : public kdl::impl::KdlMarkRuntimeSelectBase<MarkRuntimeSelect> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    Location here = UnknownLoc::get(context);
    std::optional<Policy> wantedPolicy = symbolizePolicy(policy);
    std::optional<Fallback> wantedFallback = symbolizeFallback(fallback);
    if (!wantedPolicy)
      return emitError(here) << "kdl-mark-runtime-select: found policy=" << policy
                             << ", expected best, first, capability or adaptive";
    if (!wantedFallback)
      return emitError(here) << "kdl-mark-runtime-select: found fallback=" << fallback
                             << ", expected error or host";
    handler = [=](MLIRContext *c) {
      return RuntimeSelectAttr::get(c, *wantedPolicy, *wantedFallback);
    };
    return success();
  }

  void runOnOperation() override {
    WalkResult walked = getOperation()->walk([&](gpu::BinaryOp binary) {
      if (!hasDefaultHandler(binary) || binary.getObjects().size() < minObjects)
        return WalkResult::advance();
      binary.setOffloadingHandlerAttr(handler(&getContext()));
      return WalkResult(verifyObjects(binary));
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }

private:
  std::function<RuntimeSelectAttr(MLIRContext *)> handler;
};

struct PackObjects : public kdl::impl::KdlPackObjectsBase<PackObjects> {
  void runOnOperation() override {
    WalkResult walked = getOperation()->walk([&](gpu::BinaryOp binary) {
      FailureOr<SmallVector<char, 0>> bytes = packObjects(binary);
      if (failed(bytes))
        return WalkResult::interrupt();
      MLIRContext *context = &getContext();
      // A target that every tool knows; only the bytes are used.
      auto fused =
          gpu::ObjectAttr::get(NVVM::NVVMTargetAttr::get(context), gpu::CompilationTarget::Fatbin,
                               StringAttr::get(context, StringRef(bytes->data(), bytes->size())));
      binary.setObjectsAttr(ArrayAttr::get(context, {fused}));
      binary.setOffloadingHandlerAttr(gpu::SelectObjectAttr::get(context, nullptr));
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<NVVM::NVVMDialect>();
  }
};

} // namespace
