// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/GpuContractions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kdl;

/// The next operation with an effect, if it is elementwise on memrefs.
static linalg::GenericOp findElementwise(Operation *op) {
  Operation *next = op->getNextNode();
  while (next && isMemoryEffectFree(next))
    next = next->getNextNode();
  auto found = dyn_cast_or_null<linalg::GenericOp>(next);
  return found && found.hasPureBufferSemantics() && found.getNumDpsInits() == 1 &&
                 found.getNumParallelLoops() == found.getNumLoops() &&
                 found.getMatchingIndexingMap(found.getDpsInitOperand(0)).isIdentity()
             ? found
             : nullptr;
}

/// Whether nothing else reads the sums: they are the result as well, or memory for them alone.
static bool isTemporary(Value sums, linalg::LinalgOp product, linalg::GenericOp reader) {
  if (!sums.getDefiningOp<memref::AllocOp>() && !sums.getDefiningOp<memref::AllocaOp>() &&
      !sums.getDefiningOp<gpu::AllocOp>())
    return false;
  return llvm::all_of(sums.getUsers(), [&](Operation *user) {
    return user == product || user == reader ||
           isa<linalg::FillOp, memref::DeallocOp, gpu::DeallocOp>(user);
  });
}

namespace {
/// Reads the body from its end: a conversion, the maximum, residual, bias, scale, the sums.
class Body {
public:
  Body(linalg::GenericOp op, Value sums, const UnpackedMatrix &out)
      : op(op), sums(sums), out(out), value(op.getBody()->getTerminator()->getOperand(0)) {}

  std::optional<Epilogue> read();

private:
  template <typename Op> Op defining() { return value.getDefiningOp<Op>(); }
  OpOperand *operandOf(Value inBody) {
    auto argument = dyn_cast<BlockArgument>(inBody);
    return argument && argument.getOwner() == op.getBody() ? op.getMatchingOpOperand(argument)
                                                           : nullptr;
  }
  bool isSums(Value inBody) {
    OpOperand *operand = operandOf(inBody);
    return operand && operand->get() == sums && op.getMatchingIndexingMap(operand).isIdentity();
  }
  void addTerm(function_ref<Value(Value)> accept, Value &out);
  Value residualOf(Value inBody);
  Value biasOf(Value inBody);

  linalg::GenericOp op;
  Value sums;
  const UnpackedMatrix &out;
  Value value;
};
} // namespace

/// A value of the result's type at the same place.
Value Body::residualOf(Value inBody) {
  Type type = op.getDpsInits()[0].getType();
  if (auto wide = inBody.getDefiningOp<arith::ExtFOp>())
    inBody = wide.getIn();
  OpOperand *operand = operandOf(inBody);
  bool fits = operand && operand->get() != sums &&
              op.getMatchingIndexingMap(operand).isIdentity() &&
              cast<MemRefType>(operand->get().getType()).getElementType() ==
                  cast<MemRefType>(type).getElementType();
  return fits ? operand->get() : Value();
}

/// A number of the column.
Value Body::biasOf(Value inBody) {
  OpOperand *operand = operandOf(inBody);
  auto type = operand ? dyn_cast<MemRefType>(operand->get().getType()) : MemRefType();
  if (!type || type.getRank() != 1 || !type.getElementType().isF32() || !out.column)
    return {};
  SmallVector<int64_t> strides;
  int64_t offset;
  AffineMap map = op.getMatchingIndexingMap(operand);
  bool fits = succeeded(type.getStridesAndOffset(strides, offset)) && strides[0] == 1 &&
              map.getResult(0) == getAffineDimExpr(*out.column, op.getContext());
  return fits ? operand->get() : Value();
}

void Body::addTerm(function_ref<Value(Value)> accept, Value &out) {
  auto add = defining<arith::AddFOp>();
  if (!add)
    return;
  for (auto [term, rest] :
       {std::pair(add.getRhs(), add.getLhs()), std::pair(add.getLhs(), add.getRhs())}) {
    if (Value found = accept(term)) {
      out = found;
      value = rest;
      return;
    }
  }
}

std::optional<Epilogue> Body::read() {
  Epilogue made;
  made.op = op;
  made.result = op.getDpsInits()[0];
  if (auto narrow = defining<arith::TruncFOp>())
    value = narrow.getIn();
  if (auto most = defining<arith::MaximumFOp>()) {
    made.isRelu = matchPattern(most.getRhs(), m_AnyZeroFloat());
    if (!made.isRelu)
      return std::nullopt;
    value = most.getLhs();
  }
  addTerm([&](Value term) { return residualOf(term); }, made.residual);
  addTerm([&](Value term) { return biasOf(term); }, made.bias);
  FloatAttr scale;
  if (auto times = defining<arith::MulFOp>();
      times && matchPattern(times.getRhs(), m_Constant(&scale))) {
    made.scale = static_cast<float>(scale.getValueAsDouble());
    value = times.getLhs();
  }
  if (auto real = defining<arith::SIToFPOp>())
    value = real.getIn();
  Type type = cast<MemRefType>(made.result.getType()).getElementType();
  bool isKnown = type.isF32() || type.isBF16() || type.isF16();
  return isKnown && isSums(value) ? std::optional(made) : std::nullopt;
}

std::optional<Epilogue> kdl::matchEpilogue(linalg::LinalgOp product, const UnpackedMatrix &out,
                                           bool adds) {
  Value sums = product->getOperand(2);
  linalg::GenericOp op = findElementwise(product);
  if (!op || !llvm::is_contained(op->getOperands(), sums))
    return std::nullopt;
  Value result = op.getDpsInits()[0];
  if (result != sums && !isTemporary(sums, product, op))
    return std::nullopt;
  std::optional<Epilogue> made = Body(op, sums, out).read();
  // The residual is what the product is added to.
  if (made && adds && (result != sums || made->bias || made->residual || made->scale != 1.0F))
    return std::nullopt;
  return made;
}
