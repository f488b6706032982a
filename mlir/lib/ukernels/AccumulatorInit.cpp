// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/AccumulatorInit.h"

#include "ukernels/UkernelSelection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

constexpr int64_t mostSums = 512; // as many as registers hold, and no more code than the kernel
                                  // has

/// The operation that writes the product's accumulator, if none between may.
linalg::LinalgOp findAccumulatorInit(linalg::LinalgOp product) {
  Value sums = product.getDpsInits()[0];
  for (Operation *before = product->getPrevNode(); before; before = before->getPrevNode()) {
    auto op = dyn_cast<linalg::LinalgOp>(before);
    if (op && op.getNumDpsInits() == 1 && op.getDpsInits()[0] == sums)
      return op;
    if (!isMemoryEffectFree(before) && !isa<memref::AllocaOp, memref::AllocOp>(before))
      return nullptr;
  }
  return nullptr;
}

bool liesTogether(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) && !strides.empty() &&
         strides.back() == 1;
}

/// A tile of full vectors: [1]...[1][m0][n0].
bool isTile(MemRefType type) {
  if (!type.hasStaticShape() || type.getRank() < 2 || type.getNumElements() > mostSums ||
      type.getShape().back() % mmaColumns != 0 || !liesTogether(type))
    return false;
  return llvm::all_of(type.getShape().drop_back(2), [](int64_t size) { return size == 1; });
}

/// Whether vectors along the last loop can replace single elements.
bool canBeVectors(linalg::LinalgOp op) {
  OpOperand *out = op.getDpsInitOperand(0);
  auto type = dyn_cast<MemRefType>(out->get().getType());
  if (!type || !isTile(type) || op.getNumLoops() != op.getNumParallelLoops() ||
      !op.getMatchingIndexingMap(out).isIdentity() || op.payloadUsesValueFromOperand(out))
    return false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto memref = dyn_cast<MemRefType>(input->get().getType());
    AffineMap map = op.getMatchingIndexingMap(input);
    if (!memref)
      continue;
    AffineExpr last = getAffineDimExpr(op.getNumLoops() - 1, op.getContext());
    std::optional<unsigned> place = map.getResultPosition(last);
    if (!map.isProjectedPermutation() ||
        (place && (*place + 1 != map.getNumResults() || !liesTogether(memref))))
      return false;
  }
  return llvm::all_of(op.getBlock()->without_terminator(), [](Operation &inside) {
    return inside.getNumResults() == 1 && (inside.hasTrait<OpTrait::ConstantLike>() ||
                                           OpTrait::hasElementwiseMappableTraits(&inside));
  });
}

class Unrolling {
public:
  Unrolling(RewriterBase &builder, linalg::LinalgOp op)
      : builder(builder), where(op.getLoc()), op(op),
        type(cast<MemRefType>(op.getDpsInits()[0].getType())) {
    builder.setInsertionPoint(op);
  }

  void build() {
    int64_t rows = type.getShape()[static_cast<size_t>(type.getRank()) - 2];
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < type.getShape().back(); column += mmaColumns)
        storeOne(row, column);
    }
    builder.eraseOp(op);
  }

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, where, value); }
  Value broadcast(Value scalar) {
    return vector::BroadcastOp::create(builder, where, vectorOf(scalar.getType()), scalar);
  }
  static VectorType vectorOf(Type element) { return VectorType::get({mmaColumns}, element); }
  Value load(OpOperand *input, ArrayRef<Value> at);
  void storeOne(int64_t row, int64_t column);

  RewriterBase &builder;
  Location where;
  linalg::LinalgOp op;
  MemRefType type;
};

/// 16 elements of an operand, or one element broadcast to 16.
Value Unrolling::load(OpOperand *input, ArrayRef<Value> at) {
  auto memref = dyn_cast<MemRefType>(input->get().getType());
  if (!memref)
    return broadcast(input->get());
  AffineMap map = op.getMatchingIndexingMap(input);
  SmallVector<Value> from;
  for (AffineExpr result : map.getResults())
    from.push_back(at[cast<AffineDimExpr>(result).getPosition()]);
  AffineExpr last = getAffineDimExpr(op.getNumLoops() - 1, op.getContext());
  if (!map.getResultPosition(last))
    return broadcast(memref::LoadOp::create(builder, where, input->get(), from));
  return vector::LoadOp::create(builder, where, vectorOf(memref.getElementType()), input->get(),
                                from);
}

void Unrolling::storeOne(int64_t row, int64_t column) {
  SmallVector<Value> at(static_cast<size_t>(type.getRank()), index(0));
  at[at.size() - 2] = index(row);
  at.back() = index(column);
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands())
    mapping.map(op.getMatchingBlockArgument(input), load(input, at));
  auto vectorFor = [&](Value value) {
    if (!mapping.contains(value) || !isa<VectorType>(mapping.lookup(value).getType()))
      mapping.map(value, broadcast(mapping.lookupOrDefault(value)));
    return mapping.lookup(value);
  };
  for (Operation &inside : op.getBlock()->without_terminator()) {
    if (inside.hasTrait<OpTrait::ConstantLike>()) {
      builder.clone(inside, mapping);
      continue;
    }
    for (Value operand : inside.getOperands())
      vectorFor(operand);
    Operation *made = builder.clone(inside, mapping);
    made->getResult(0).setType(vectorOf(inside.getResult(0).getType()));
  }
  Value value = vectorFor(op.getBlock()->getTerminator()->getOperand(0));
  vector::StoreOp::create(builder, where, value, op.getDpsInits()[0], at);
}

} // namespace

void kdl::unrollAccumulatorInit(RewriterBase &rewriter, linalg::LinalgOp product) {
  linalg::LinalgOp start = findAccumulatorInit(product);
  if (start && canBeVectors(start))
    Unrolling(rewriter, start).build();
}
