// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-refuse-unsupported: what cannot be lowered, or not by a microkernel where that is required,
// is an error at the operation.
#include "HostFunctions.h"
#include "Passes.h"
#include "ukernels/UnpackedContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLREFUSEUNSUPPORTED
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// LLVM has these numbers as integers alone.
bool isNoNumberOfLLVM(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<FloatType>(element) &&
         !isa<Float16Type, BFloat16Type, Float32Type, Float64Type, Float80Type, Float128Type>(
             element);
}

bool isArithmetic(Operation *op) {
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         !isa<arith::BitcastOp, arith::SelectOp>(op);
}

/// Pooling has a window as well, but multiplies nothing.
bool isConvolution(linalg::LinalgOp op) {
  return linalg::isaConvolutionOpInterface(op) &&
         llvm::any_of(*op.getBlock(), llvm::IsaPred<arith::MulFOp, arith::MulIOp>);
}

bool isEmpty(linalg::LinalgOp op) {
  return llvm::is_contained(op.getStaticLoopRanges(), 0);
}

struct RefuseUnsupported : public kdl::impl::KdlRefuseUnsupportedBase<RefuseUnsupported> {
  using Base::Base;

  void runOnOperation() override {
    for (func::FuncOp function : getHostFunctions(getOperation())) {
      function.walk([&](Operation *op) {
        if (isArithmetic(op))
          checkTypes(op);
        auto product = dyn_cast<linalg::LinalgOp>(op);
        if (product && noSilentFallback && !isEmpty(product))
          checkProduct(product);
      });
    }
  }

private:
  void checkTypes(Operation *op) {
    SmallVector<Type> types(op->getOperandTypes());
    llvm::append_range(types, op->getResultTypes());
    auto *found = llvm::find_if(types, isNoNumberOfLLVM);
    if (found == types.end())
      return;
    // The body of a named operation has no place of its own.
    auto around = op->getParentOfType<linalg::LinalgOp>();
    bool hasPlace = !around || !isa<UnknownLoc>(op->getLoc());
    InFlightDiagnostic error = hasPlace ? op->emitError() : around.emitError();
    if (!hasPlace)
      error << around->getName() << ": ";
    error << op->getName() << ": found " << getElementTypeOrSelf(*found)
          << ", expected f16, bf16, f32, f64 or integers";
    signalPassFailure();
  }

  void checkProduct(linalg::LinalgOp op) {
    std::string why = "found a convolution, expected a product of matrices";
    if (!isConvolution(op)) {
      if (!linalg::isaContractionOpInterface(op))
        return;
      UkernelSource source{library.getValue(), target.getValue()};
      FailureOr<UnpackedContraction> product = matchUnpackedContraction(op, why);
      if (succeeded(product))
        (void)hasMatmulKernelFor(getOperation(), *product, source, why);
    }
    op.emitError(op->getName().getStringRef()) << " has no microkernel: " << why;
    signalPassFailure();
  }
};

} // namespace
