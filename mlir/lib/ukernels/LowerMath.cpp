// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-lower-math: what MLIR's own lowering of the math dialect to LLVM leaves.
#include "HostFunctions.h"
#include "Passes.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLOWERMATH
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// LLVM has no intrinsic for these, and no accurate one near 0 for the last two.
bool isOfLibm(Operation *op) {
  return isa<math::AcoshOp, math::AsinhOp, math::AtanhOp, math::CbrtOp, math::ErfOp, math::ErfcOp,
             math::ExpM1Op, math::Log1pOp>(op);
}

bool isPower(Operation *op) {
  return isa<math::IPowIOp, math::FPowIOp>(op);
}

/// Whether MLIR's conversion takes no vectors of the operation's number of dimensions.
bool needsScalars(Operation *op) {
  if (!isa<math::MathDialect>(op->getDialect()) || op->getNumResults() == 0)
    return false;
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!type || type.isScalable())
    return false;
  bool isWide =
      isa<math::AbsIOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::IsFiniteOp,
          math::IsInfOp, math::IsNaNOp, math::IsNormalOp, math::SincosOp>(op) &&
      type.getRank() != 1;
  return isWide || isPower(op) || isOfLibm(op);
}

struct UnrollVector : public RewritePattern {
  explicit UnrollVector(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!needsScalars(op))
      return rewriter.notifyMatchFailure(op, "scalars, or vectors that MLIR lowers");
    Location where = op->getLoc();
    auto shape = cast<VectorType>(op->getResult(0).getType()).getShape();
    SmallVector<int64_t> strides = computeStrides(shape);
    SmallVector<SmallVector<Value>> results(op->getNumResults());
    for (int64_t i = 0, count = ShapedType::getNumElements(shape); i < count; ++i) {
      SmallVector<int64_t> at = delinearize(i, strides);
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(vector::ExtractOp::create(rewriter, where, operand, at));
      SmallVector<Type> types;
      for (Type type : op->getResultTypes())
        types.push_back(getElementTypeOrSelf(type));
      Operation *scalar =
          rewriter.create(where, op->getName().getIdentifier(), operands, types, op->getAttrs());
      for (auto [elements, value] : llvm::zip_equal(results, scalar->getResults()))
        elements.push_back(value);
    }
    SmallVector<Value> vectors;
    for (auto [type, elements] : llvm::zip_equal(op->getResultTypes(), results))
      vectors.push_back(vector::FromElementsOp::create(rewriter, where, type, elements));
    rewriter.replaceOp(op, vectors);
    return success();
  }
};

struct LowerClass : public RewritePattern {
  LowerClass(MLIRContext *context, StringRef name, uint32_t classes)
      : RewritePattern(name, 1, context), classes(classes) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op->getResult(0).getType());
    if (type && type.getRank() != 1)
      return rewriter.notifyMatchFailure(op, "LLVM has vectors of one dimension");
    rewriter.replaceOpWithNewOp<LLVM::IsFPClass>(op, op->getResult(0).getType(), op->getOperand(0),
                                                 classes);
    return success();
  }

private:
  uint32_t classes;
};

/// MLIR 22 confuses the bounds in its own expansion.
struct LowerClamp : public OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ClampFOp op, PatternRewriter &rewriter) const override {
    Value least = arith::MaximumFOp::create(rewriter, op.getLoc(), op.getValue(), op.getMin(),
                                            op.getFastmath());
    rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, least, op.getMax(), op.getFastmath());
    return success();
  }
};

/// Powers of bf16 and f16 in f32: each multiplication would be rounded.
struct WidenPower : public OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FPowIOp op, PatternRewriter &rewriter) const override {
    Type type = op.getType(), f32 = rewriter.getF32Type();
    if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() >= 32)
      return rewriter.notifyMatchFailure(op, "wide enough");
    Value base = arith::ExtFOp::create(rewriter, op.getLoc(), f32, op.getLhs());
    Value power = math::FPowIOp::create(rewriter, op.getLoc(), base, op.getRhs(), op.getFastmath());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, power);
    return success();
  }
};

/// MLIR's function for powers takes numbers of a stated width.
struct PowerOfIndices : public OpRewritePattern<math::IPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::IPowIOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isIndex())
      return rewriter.notifyMatchFailure(op, "no index");
    auto asWord = [&](Value value) -> Value {
      return arith::IndexCastOp::create(rewriter, op.getLoc(), rewriter.getI64Type(), value);
    };
    Value power =
        math::IPowIOp::create(rewriter, op.getLoc(), asWord(op.getLhs()), asWord(op.getRhs()));
    rewriter.replaceOpWithNewOp<arith::IndexCastOp>(op, op.getType(), power);
    return success();
  }
};

struct LowerMath : public kdl::impl::KdlLowerMathBase<LowerMath> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> found;
    for (func::FuncOp function : getHostFunctions(getOperation()))
      function.walk([&](Operation *op) {
        if (needsScalars(op) || isPower(op) || isOfLibm(op) ||
            isa<math::ClampFOp, math::IsInfOp, math::IsNormalOp>(op))
          found.push_back(op);
      });
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<UnrollVector, WidenPower, PowerOfIndices, LowerClamp>(context);
    patterns.add<LowerClass>(context, math::IsInfOp::getOperationName(), llvm::fcInf);
    patterns.add<LowerClass>(context, math::IsNormalOp::getOperationName(), llvm::fcNormal);
    populateMathToLibmConversionPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps).enableFolding(false);
    if (failed(applyOpPatternsGreedily(found, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
