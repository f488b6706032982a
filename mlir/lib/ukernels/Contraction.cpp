// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/Contraction.h"

#include "Attributes.h"
#include "ukernels/UkernelLibrary.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kdl;

/// An argument of the body, possibly extended. Sets `isUnsigned` for a zero extension.
static BlockArgument argumentOf(Value value, bool &isUnsigned) {
  Operation *cast = value.getDefiningOp();
  isUnsigned = isa_and_nonnull<arith::ExtUIOp>(cast);
  if (isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(cast))
    value = cast->getOperand(0);
  return dyn_cast<BlockArgument>(value);
}

std::optional<ContractionBody> kdl::matchContractionBody(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  if (!body || body->getNumArguments() < 3)
    return std::nullopt;
  BlockArgument lhs = body->getArgument(0), rhs = body->getArgument(1),
                acc = body->getArgument(body->getNumArguments() - 1);
  Operation *yield = body->getTerminator();
  if (yield->getNumOperands() != 1)
    return std::nullopt;
  Operation *add = yield->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add))
    return std::nullopt;
  Value product = add->getOperand(0) == acc ? add->getOperand(1) : add->getOperand(0);
  Operation *multiply = product.getDefiningOp();
  if ((add->getOperand(0) != acc && add->getOperand(1) != acc) ||
      !isa_and_nonnull<arith::MulFOp, arith::MulIOp>(multiply))
    return std::nullopt;
  ContractionBody found;
  BlockArgument first = argumentOf(multiply->getOperand(0), found.lhsUnsigned);
  BlockArgument second = argumentOf(multiply->getOperand(1), found.rhsUnsigned);
  if (first == rhs && second == lhs)
    std::swap(found.lhsUnsigned, found.rhsUnsigned);
  else if (first != lhs || second != rhs)
    return std::nullopt;
  return found;
}

//===----------------------------------------------------------------------===//
// mmt4d
//===----------------------------------------------------------------------===//

/// Loops: batch, m1, n1, k1, m0, n0, steps of a step block, k0. Maps of lhs, rhs and acc.
static SmallVector<AffineMap> mmt4dMaps(MLIRContext *context, bool hasBatch, bool inStepBlocks) {
  unsigned first = hasBatch ? 1 : 0;
  unsigned loopCount = first + (inStepBlocks ? 7 : 6);
  auto map = [&](ArrayRef<unsigned> loops) {
    SmallVector<AffineExpr> results;
    if (hasBatch)
      results.push_back(getAffineDimExpr(0, context));
    for (unsigned loop : loops)
      results.push_back(getAffineDimExpr(first + loop, context));
    return AffineMap::get(loopCount, 0, results, context);
  };
  if (inStepBlocks)
    return {map({0, 2, 3, 5, 6}), map({1, 2, 5, 4, 6}), map({0, 1, 3, 4})};
  return {map({0, 2, 3, 5}), map({1, 2, 4, 5}), map({0, 1, 3, 4})};
}

static Type elementOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

static int64_t rankOf(Value value) {
  return cast<ShapedType>(value.getType()).getRank();
}

static bool hasBatch(linalg::LinalgOp op) {
  return rankOf(op->getOperand(2)) == 5;
}

static bool hasStepBlocks(linalg::LinalgOp op) {
  return rankOf(op->getOperand(0)) == (hasBatch(op) ? 6 : 5);
}

bool kdl::hasMmt4dLoops(linalg::LinalgOp op) {
  return op.getIndexingMapsArray() == mmt4dMaps(op.getContext(), hasBatch(op), hasStepBlocks(op));
}

MmaProduct kdl::describeProduct(linalg::LinalgOp op) {
  MmaProduct product{elementOf(op->getOperand(0)), elementOf(op->getOperand(1)),
                     elementOf(op->getOperand(op->getNumOperands() - 1))};
  if (std::optional<ContractionBody> body = matchContractionBody(op)) {
    product.lhsUnsigned = body->lhsUnsigned;
    product.rhsUnsigned = body->rhsUnsigned;
  }
  return product;
}

/// The form of the operands of a linalg.generic without a layout: that of libkdl's microkernels.
static std::optional<MmaKind> matchOperandForm(linalg::LinalgOp op, const ContractionBody &body) {
  MmaProduct product = describeProduct(op);
  std::optional<MmaKind> kind;
  if (product.lhs.isF32() && product.rhs.isF16() && product.acc.isF32()) {
    product.lhs = product.rhs;
    kind = getMmaKind(product);
  } else if (product.lhs.isInteger(8) ? body.lhsUnsigned && !body.rhsUnsigned
                                      : hasStepBlocks(op) && !product.lhs.isF16()) {
    kind = getMmaKind(product);
  }
  if (kind)
    kind->left = LhsForm::Unchanged;
  return kind;
}

std::optional<Mmt4d> kdl::matchMmt4d(linalg::LinalgOp op) {
  auto isShaped = [](Type type) { return isa<ShapedType>(type); };
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      !llvm::all_of(op->getOperandTypes(), isShaped))
    return std::nullopt;
  bool isNamed = isa<linalg::Mmt4DOp, linalg::BatchMmt4DOp>(op.getOperation());
  if (!isNamed && (!isa<linalg::GenericOp>(op.getOperation()) || !hasMmt4dLoops(op)))
    return std::nullopt;
  std::optional<ContractionBody> body = matchContractionBody(op);
  if (!body)
    return std::nullopt;
  Mmt4d found{{}, hasBatch(op), hasStepBlocks(op), *body};
  if (auto layout = op->getAttrOfType<MmaLayoutAttr>(layoutAttr)) {
    found.kind = {layout.getUkernel().str(), layout.getValues(), LhsForm::Unchanged};
    found.vectorBytes = layout.getVectorBytes();
    return found;
  }
  std::optional<MmaKind> kind =
      isNamed ? getMmaKind(describeProduct(op)) : matchOperandForm(op, *body);
  if (!kind)
    return std::nullopt;
  found.kind = *kind;
  return found;
}

bool kdl::isMmt4d(linalg::LinalgOp op) {
  return isa<linalg::Mmt4DOp, linalg::BatchMmt4DOp>(op.getOperation()) || matchMmt4d(op);
}

linalg::LinalgOp kdl::createMmt4d(OpBuilder &builder, Location where, Value lhs, Value rhs,
                                  Value acc, MmaLayoutAttr layout, ContractionBody body) {
  bool hasBatch = rankOf(acc) == 5, inStepBlocks = layout.hasStepBlocks();
  Type type = acc.getType();
  auto withLayout = [&](Operation *made) {
    made->setAttr(layoutAttr, layout);
    return cast<linalg::LinalgOp>(made);
  };
  if (!inStepBlocks && elementOf(lhs) == elementOf(rhs) && isa<FloatType>(elementOf(lhs))) {
    if (hasBatch)
      return withLayout(
          linalg::BatchMmt4DOp::create(builder, where, type, ValueRange{lhs, rhs}, acc));
    return withLayout(linalg::Mmt4DOp::create(builder, where, type, ValueRange{lhs, rhs}, acc));
  }
  using utils::IteratorType;
  size_t first = hasBatch ? 1 : 0;
  SmallVector<IteratorType> loops(first + (inStepBlocks ? 7 : 6), IteratorType::parallel);
  loops[first + 2] = loops.back() = IteratorType::reduction;
  if (inStepBlocks)
    loops[first + 5] = IteratorType::reduction;
  auto made = linalg::GenericOp::create(
      builder, where, type, ValueRange{lhs, rhs}, acc,
      mmt4dMaps(builder.getContext(), hasBatch, inStepBlocks), loops,
      [body](OpBuilder &inner, Location at, ValueRange arguments) {
        Value a = arguments[0], b = arguments[1], sum = arguments[2];
        Type result = sum.getType();
        if (isa<FloatType>(result)) {
          auto wide = [&](Value value) -> Value {
            return value.getType() == result ? value
                                             : arith::ExtFOp::create(inner, at, result, value, {});
          };
          Value product = arith::MulFOp::create(inner, at, wide(a), wide(b));
          sum = arith::AddFOp::create(inner, at, sum, product);
        } else {
          auto wide = [&](Value value, bool isUnsigned) -> Value {
            if (value.getType() == result)
              return value;
            return isUnsigned ? Value(arith::ExtUIOp::create(inner, at, result, value))
                              : Value(arith::ExtSIOp::create(inner, at, result, value));
          };
          Value left = wide(a, body.lhsUnsigned), right = wide(b, body.rhsUnsigned);
          Value product = arith::MulIOp::create(inner, at, left, right);
          sum = arith::AddIOp::create(inner, at, sum, product);
        }
        linalg::YieldOp::create(inner, at, sum);
      });
  return withLayout(made);
}
