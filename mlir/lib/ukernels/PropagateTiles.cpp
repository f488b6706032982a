// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/FuseElementwise.h"

#include "Attributes.h"
#include "ukernels/UkernelSelection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// The path from one product to the next: the unpack of the first one's result, elementwise
/// operations, the pack of the second one's left operand.
struct Path {
  linalg::UnPackOp unpack;
  struct Step {
    linalg::LinalgOp op;
    OpOperand *from; // the operand on the path
  };
  SmallVector<Step> steps; // in order
  linalg::PackOp pack;
  tensor::ExpandShapeOp view; // of the packed operand in step blocks, if the second one has them
};

/// Whether rows and columns are tiled, in that order.
template <typename Op> bool isRowsByColumns(Op op) {
  ArrayRef<int64_t> outer = op.getOuterDimsPerm();
  return op.getInnerDimsPos() == ArrayRef<int64_t>{0, 1} &&
         (outer.empty() || outer == ArrayRef<int64_t>{0, 1}) &&
         llvm::none_of(op.getStaticTiles(), ShapedType::isDynamic);
}

/// Whether padding of any value does no harm: it neither reaches other elements nor traps.
bool isHarmless(linalg::LinalgOp op) {
  return llvm::none_of(*op.getBlock(), [](Operation &inside) {
    return inside.getNumRegions() > 0 ||
           isa<linalg::IndexOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
               arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(inside);
  });
}

/// An operand that depends on both loops, on one of them or on none.
bool isBroadcast(AffineMap map) {
  MLIRContext *context = map.getContext();
  AffineExpr row = getAffineDimExpr(0, context), column = getAffineDimExpr(1, context);
  return map.isIdentity() || map.getNumResults() == 0 ||
         (map.getNumResults() == 1 && (map.getResult(0) == row || map.getResult(0) == column));
}

bool canBeInTiles(linalg::LinalgOp op) {
  if (op.getNumLoops() != 2 || op.getBlock()->getNumArguments() != op->getNumOperands() ||
      !isElementwiseOn(op, nullptr) || !isHarmless(op) ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
    return false;
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    return isBroadcast(op.getMatchingIndexingMap(input)) &&
           isa<RankedTensorType>(input->get().getType());
  });
}

/// Follows values with one user upwards, to an unpack with the same tiles.
bool findPath(Value value, Operation *user, ArrayRef<int64_t> rows, Path &path) {
  if (onlyUser(value) != user)
    return false;
  if (auto unpack = value.getDefiningOp<linalg::UnPackOp>()) {
    auto type = cast<RankedTensorType>(value.getType());
    path.unpack = unpack;
    return type.getRank() == 2 && isRowsByColumns(unpack) &&
           unpack.getStaticTiles()[0] == rows[0] && !type.isDynamicDim(1) &&
           type.getDimSize(1) % unpack.getStaticTiles()[1] == 0 &&
           unpack.getStaticTiles()[1] % rows[1] == 0;
  }
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || !canBeInTiles(op))
    return false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (op.getMatchingIndexingMap(input).isIdentity() && findPath(input->get(), op, rows, path)) {
      path.steps.push_back({op, input});
      return true;
    }
  }
  return false;
}

class Propagation {
public:
  Propagation(linalg::LinalgOp product, MmaLayoutAttr layout, Path path)
      : builder(product), where(product.getLoc()), product(product), layout(layout), path(path),
        m0(path.unpack.getStaticTiles()[0]), n0(path.unpack.getStaticTiles()[1]) {}

  void build();

private:
  Value packed(Value operand, ArrayRef<int64_t> dims, ArrayRef<int64_t> tiles);
  Value inTiles(const Path::Step &step, Value made);
  Value expand(Value value, ArrayRef<int64_t> shape, ArrayRef<ReassociationIndices> groups) {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    return tensor::ExpandShapeOp::create(builder, where, RankedTensorType::get(shape, element),
                                         value, groups);
  }

  /// [n1][k1 * steps][n0][k0] for [n1][k1][steps][n0][k0].
  Value withoutStepBlocks(Value rhs) {
    if (!layout.hasStepBlocks())
      return rhs;
    SmallVector<ReassociationIndices> groups{{0}, {1, 2}, {3}, {4}};
    return tensor::CollapseShapeOp::create(builder, where, rhs, groups);
  }

  OpBuilder builder;
  Location where;
  linalg::LinalgOp product;
  MmaLayoutAttr layout; // of the product
  Path path;
  int64_t m0, n0;
};

Value Propagation::packed(Value operand, ArrayRef<int64_t> dims, ArrayRef<int64_t> tiles) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<OpFoldResult> sizes;
  for (int64_t tile : tiles)
    sizes.push_back(builder.getIndexAttr(tile));
  Value to = linalg::PackOp::createDestinationTensor(builder, where, operand, sizes, dims, {});
  std::optional<Value> padding;
  if (linalg::PackOp::requirePaddingValueStrict(
          type.getShape(), dims, cast<RankedTensorType>(to.getType()).getShape(), {}, sizes))
    padding = Value(
        arith::ConstantOp::create(builder, where, builder.getZeroAttr(type.getElementType())));
  return linalg::PackOp::create(builder, where, operand, to, dims, sizes, padding)->getResult(0);
}

/// The operation on [m1][n1][m0][n0], with its other operands brought into that form.
Value Propagation::inTiles(const Path::Step &step, Value made) {
  linalg::LinalgOp op = step.op;
  auto maps = [&](ArrayRef<unsigned> dims) {
    SmallVector<AffineExpr> results;
    for (unsigned dim : dims)
      results.push_back(builder.getAffineDimExpr(dim));
    return AffineMap::get(4, 0, results, builder.getContext());
  };
  SmallVector<Value> inputs;
  SmallVector<AffineMap> wanted;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    Value value = input->get();
    auto type = cast<RankedTensorType>(value.getType());
    if (map.getNumResults() == 2) {
      inputs.push_back(value == step.from->get() ? made : packed(value, {0, 1}, {m0, n0}));
      wanted.push_back(maps({0, 1, 2, 3}));
    } else if (map.getNumResults() == 0) {
      inputs.push_back(value);
      wanted.push_back(maps({}));
    } else if (map.getResult(0) == builder.getAffineDimExpr(0)) {
      inputs.push_back(packed(value, {0}, {m0}));
      wanted.push_back(maps({0, 2}));
    } else {
      inputs.push_back(expand(value, {type.getDimSize(0) / n0, n0}, {{0, 1}}));
      wanted.push_back(maps({1, 3}));
    }
  }
  wanted.push_back(maps({0, 1, 2, 3}));
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  Value to =
      tensor::EmptyOp::create(builder, where, tensor::getMixedSizes(builder, where, made), element);
  SmallVector<utils::IteratorType> loops(4, utils::IteratorType::parallel);
  auto result = linalg::GenericOp::create(builder, op.getLoc(), to.getType(), inputs, to, wanted,
                                          loops, nullptr);
  IRMapping mapping;
  op->getRegion(0).cloneInto(&result.getRegion(), mapping);
  return result->getResult(0);
}

void Propagation::build() {
  Value made = path.unpack.getSource();
  for (const Path::Step &step : path.steps)
    made = inTiles(step, made);
  ArrayRef<int64_t> is = cast<RankedTensorType>(made.getType()).getShape();
  int64_t k0 = layout.getValues(), steps = n0 / k0;
  Value lhs = expand(made, {is[0], is[1], m0, steps, k0}, {{0}, {1}, {2}, {3, 4}});
  Value rhs = withoutStepBlocks(product->getOperand(1));
  ArrayRef<int64_t> right = cast<RankedTensorType>(rhs.getType()).getShape();
  rhs = expand(rhs, {right[0], is[1], steps, right[2], k0}, {{0}, {1, 2}, {3}, {4}});
  auto inBlocks = MmaLayoutAttr::get(builder.getContext(), layout.getUkernel(), m0,
                                     layout.getIntrinsicsN(), steps, k0,
                                     /*vector_bytes=*/0);
  Value sum =
      createMmt4d(builder, where, lhs, rhs, product.getDpsInits()[0], inBlocks)->getResult(0);
  product->getResult(0).replaceAllUsesWith(sum);
  product->erase();
  if (path.view)
    path.view->erase();
  // Remaining users query the sizes of a result, which are those of the destination.
  auto erase = [](Operation *op) {
    op->getResult(0).replaceAllUsesWith(cast<DestinationStyleOpInterface>(op).getDpsInits()[0]);
    op->erase();
  };
  erase(path.pack);
  for (const Path::Step &step : llvm::reverse(path.steps))
    erase(step.op);
  erase(path.unpack);
}

} // namespace

bool kdl::propagateTiles(linalg::LinalgOp product) {
  auto layout = product->getAttrOfType<MmaLayoutAttr>(layoutAttr);
  std::optional<Mmt4d> found = matchMmt4d(product);
  if (!layout || !found || found->hasBatch || found->vectorBytes ||
      !product.hasPureTensorSemantics())
    return false;
  Path path;
  Value lhs = product->getOperand(0);
  Operation *user = product;
  if (found->inStepBlocks) {
    path.view = lhs.getDefiningOp<tensor::ExpandShapeOp>();
    if (!path.view || !path.view->hasOneUse())
      return false;
    user = path.view;
    lhs = path.view.getSrc();
  }
  path.pack = lhs.getDefiningOp<linalg::PackOp>();
  if (!path.pack || onlyUser(lhs) != user || !isRowsByColumns(path.pack) ||
      !findPath(path.pack.getSource(), path.pack, path.pack.getStaticTiles(), path))
    return false;
  // The microkernel takes as many steps at a time as a result tile has: any that divide by those it
  // asks for, or 16 alone.
  int64_t steps = path.unpack.getStaticTiles()[1] / layout.getValues();
  if (layout.getIntrinsicsK() == mmaSteps && steps != mmaSteps)
    return false;
  Propagation(product, layout, path).build();
  return true;
}
