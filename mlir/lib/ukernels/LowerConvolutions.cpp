// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-lower-convolutions: convolutions as products of matrices, before tiling.
#include "Passes.h"
#include "ukernels/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLOWERCONVOLUTIONS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// Patches of this size stay in a CPU's cache from the copy to the product.
constexpr int64_t patchBytes = 1 << 20;

/// Where the result has the channels: the patches are then the right operand or the left one.
enum class Side { Left, Right };

/// A convolution of static sizes whose filter and result are matrices for each batch and group.
struct Convolution {
  linalg::LinalgOp op;
  linalg::ConvolutionDimensions loops;
  SmallVector<int64_t> sizes;           // of all loops
  SmallVector<unsigned> outer;          // batch and group, in the result's order
  SmallVector<unsigned> image, reduced; // the latter in the filter's order
  unsigned channel = 0;
  Side patches = Side::Right; // the result is [channel][image]
  bool isFilterTransposed = false;
};

SmallVector<unsigned> dimsOf(AffineMap map) {
  SmallVector<unsigned> dims;
  for (AffineExpr result : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(result))
      dims.push_back(dim.getPosition());
  return dims;
}

int64_t product(ArrayRef<int64_t> sizes, ArrayRef<unsigned> dims) {
  int64_t all = 1;
  for (unsigned dim : dims)
    all *= sizes[dim];
  return all;
}

/// Takes `dims` from the front of `order`, in any order.
void takeFront(SmallVector<unsigned> &order, ArrayRef<unsigned> dims,
               SmallVector<unsigned> &taken) {
  while (!order.empty() && llvm::is_contained(dims, order.front())) {
    taken.push_back(order.front());
    order.erase(order.begin());
  }
}

/// Takes the channel from one of the ends. Whether it is there.
bool takeChannel(SmallVector<unsigned> &order, unsigned channel, bool &isFirst) {
  isFirst = !order.empty() && order.front() == channel;
  if (isFirst)
    order.erase(order.begin());
  else if (!order.empty() && order.back() == channel)
    order.pop_back();
  else
    return false;
  return !llvm::is_contained(order, channel);
}

std::optional<Convolution> match(linalg::LinalgOp op) {
  FailureOr<linalg::ConvolutionDimensions> loops = linalg::inferConvolutionDims(op);
  if (failed(loops) || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      !op.hasPureTensorSemantics() || op.hasDynamicShape() || !matchContractionBody(op))
    return std::nullopt;
  if (loops->outputChannel.size() != 1 || loops->inputChannel.empty() || loops->outputImage.empty())
    return std::nullopt;
  Convolution found;
  found.op = op;
  found.loops = *loops;
  found.sizes = op.getStaticLoopRanges();
  found.channel = loops->outputChannel.front();
  AffineMap filterMap = op.getMatchingIndexingMap(op.getDpsInputOperand(1));
  AffineMap resultMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<unsigned> filter = dimsOf(filterMap), result = dimsOf(resultMap), groups;
  if (filter.size() != filterMap.getNumResults() || result.size() != resultMap.getNumResults())
    return std::nullopt;
  SmallVector<unsigned> outer(loops->batch.begin(), loops->batch.end());
  outer.append(loops->depth.begin(), loops->depth.end());
  takeFront(result, outer, found.outer);
  takeFront(filter, outer, groups);
  bool isFirst = false, isFilterFirst = false;
  if (found.outer.size() != outer.size() || groups.size() != loops->depth.size() ||
      !takeChannel(result, found.channel, isFirst) ||
      !takeChannel(filter, found.channel, isFilterFirst) ||
      result.size() != loops->outputImage.size() ||
      filter.size() != loops->filterLoop.size() + loops->inputChannel.size())
    return std::nullopt;
  found.image = result;
  found.reduced = filter;
  found.patches = isFirst ? Side::Right : Side::Left;
  found.isFilterTransposed = isFilterFirst != isFirst;
  return found;
}

/// Builds the product of one convolution, and the loops around it.
class Lowering {
public:
  Lowering(const Convolution &from, RewriterBase &rewriter)
      : from(from), op(from.op), rewriter(rewriter), where(op.getLoc()) {}

  Value lower();

private:
  using Offsets = DenseMap<unsigned, OpFoldResult>; // of loops that are sliced

  Value lowerSlice(Value result, const Offsets &offsets);
  Value slice(Value tensor, AffineMap map, const Offsets &offsets, Value *insertInto = nullptr);
  Value gather(Value input, AffineMap map);
  Value flatten(Value tensor, size_t rows);
  Value multiply(Value filter, Value patches, Value acc);
  bool isPatchesInput() const;
  SmallVector<unsigned> patchDims() const;
  AffineMap mapOf(unsigned operand) {
    return op.getMatchingIndexingMap(&op->getOpOperand(operand));
  }

  const Convolution &from;
  linalg::LinalgOp op;
  RewriterBase &rewriter;
  Location where;
  int64_t rows = 0; // of the image's first dimension, at a time
};

/// The loops of a matrix of patches, in its order.
SmallVector<unsigned> Lowering::patchDims() const {
  SmallVector<unsigned> dims;
  if (from.patches == Side::Left)
    dims.append(from.image);
  dims.append(from.reduced);
  if (from.patches == Side::Right)
    dims.append(from.image);
  return dims;
}

/// Whether the input itself is the matrix: each filter is one element.
bool Lowering::isPatchesInput() const {
  auto isOne = [](int64_t n) { return n == 1; };
  if (product(from.sizes, from.loops.filterLoop) != 1 || !llvm::all_of(from.loops.strides, isOne))
    return false;
  SmallVector<unsigned> expected, dims;
  for (unsigned dim : patchDims())
    if (!llvm::is_contained(from.loops.filterLoop, dim))
      expected.push_back(dim);
  linalg::LinalgOp convolution = from.op;
  AffineMap map = convolution.getMatchingIndexingMap(convolution.getDpsInputOperand(0));
  for (AffineExpr result : map.getResults())
    for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
      if (result.isFunctionOfDim(dim) && !llvm::is_contained(from.loops.filterLoop, dim) &&
          !llvm::is_contained(from.outer, dim))
        dims.push_back(dim);
  return dims == expected;
}

/// The part of an operand for a batch, a group and some rows of the image, without dimensions of
/// batches and groups. With `insertInto`, writes `tensor` there instead.
Value Lowering::slice(Value tensor, AffineMap map, const Offsets &offsets, Value *insertInto) {
  auto type = cast<RankedTensorType>((insertInto ? *insertInto : tensor).getType());
  SmallVector<OpFoldResult> starts, lengths, steps;
  SmallVector<int64_t> shape;
  for (auto [i, result] : llvm::enumerate(map.getResults())) {
    int64_t length = type.getShape()[i];
    OpFoldResult start = rewriter.getIndexAttr(0);
    bool isDropped = false;
    for (auto [dim, offset] : offsets) {
      if (!result.isFunctionOfDim(dim))
        continue;
      isDropped = llvm::is_contained(from.outer, dim);
      if (isDropped) {
        start = offset;
        length = 1;
        continue;
      }
      // The rows that these rows of the result read.
      bool isInput = !isa<AffineDimExpr>(result);
      auto position = llvm::find(from.loops.outputImage, dim) - from.loops.outputImage.begin();
      int64_t stride = isInput ? from.loops.strides[static_cast<size_t>(position)] : 1;
      length -= (from.sizes[dim] - rows) * stride;
      if (auto value = dyn_cast<Value>(offset)) {
        Value factor = arith::ConstantIndexOp::create(rewriter, where, stride);
        start =
            stride == 1
                ? offset
                : OpFoldResult(arith::MulIOp::create(rewriter, where, value, factor).getResult());
      }
    }
    starts.push_back(start);
    lengths.push_back(rewriter.getIndexAttr(length));
    steps.push_back(rewriter.getIndexAttr(1));
    if (!isDropped)
      shape.push_back(length);
  }
  if (insertInto)
    return tensor::InsertSliceOp::create(rewriter, where, tensor, *insertInto, starts, lengths,
                                         steps);
  return tensor::ExtractSliceOp::create(rewriter, where,
                                        RankedTensorType::get(shape, type.getElementType()), tensor,
                                        starts, lengths, steps);
}

/// The patches of the input as a tensor with a dimension for each loop.
Value Lowering::gather(Value input, AffineMap map) {
  SmallVector<unsigned> dims = patchDims();
  SmallVector<AffineExpr> names(map.getNumDims(), rewriter.getAffineConstantExpr(0)), all, results;
  SmallVector<int64_t> shape;
  for (auto [position, dim] : llvm::enumerate(dims)) {
    names[dim] = rewriter.getAffineDimExpr(static_cast<unsigned>(position));
    all.push_back(names[dim]);
    shape.push_back(dim == from.image.front() ? rows : from.sizes[dim]);
  }
  for (AffineExpr result : map.getResults()) {
    bool isOuter =
        llvm::any_of(from.outer, [&](unsigned dim) { return result.isFunctionOfDim(dim); });
    if (!isOuter)
      results.push_back(result.replaceDims(names));
  }
  MLIRContext *context = rewriter.getContext();
  unsigned count = static_cast<unsigned>(dims.size());
  AffineMap maps[] = {AffineMap::get(count, 0, results, context),
                      AffineMap::get(count, 0, all, context)};
  SmallVector<utils::IteratorType> kinds(dims.size(), utils::IteratorType::parallel);
  Type element = cast<RankedTensorType>(input.getType()).getElementType();
  Value empty = tensor::EmptyOp::create(rewriter, where, shape, element);
  return linalg::GenericOp::create(rewriter, where, TypeRange{empty.getType()}, input, empty, maps,
                                   kinds,
                                   [](OpBuilder &builder, Location at, ValueRange arguments) {
                                     linalg::YieldOp::create(builder, at, arguments.front());
                                   })
      .getResult(0);
}

/// As a matrix: the first `rows` dimensions, and the others.
Value Lowering::flatten(Value tensor, size_t rowDims) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<ReassociationIndices> groups(2);
  for (int64_t i = 0; i < type.getRank(); ++i)
    groups[i < static_cast<int64_t>(rowDims) ? 0 : 1].push_back(i);
  if (type.getRank() == 2)
    return tensor;
  return tensor::CollapseShapeOp::create(rewriter, where, tensor, groups);
}

/// With the convolution's own body, whose first argument is of the input.
Value Lowering::multiply(Value filter, Value patches, Value acc) {
  MLIRContext *context = rewriter.getContext();
  AffineExpr m, n, k;
  bindDims(context, m, n, k);
  bool isRight = from.patches == Side::Right;
  auto map = [&](AffineExpr row, AffineExpr column) {
    return AffineMap::get(3, 0, {row, column}, context);
  };
  AffineMap filterMap =
      isRight == from.isFilterTransposed ? map(k, isRight ? m : n) : map(isRight ? m : n, k);
  AffineMap maps[] = {isRight ? filterMap : map(m, k), isRight ? map(k, n) : filterMap, map(m, n)};
  using utils::IteratorType;
  IteratorType kinds[] = {IteratorType::parallel, IteratorType::parallel, IteratorType::reduction};
  Value lhs = isRight ? filter : patches, rhs = isRight ? patches : filter;
  return linalg::GenericOp::create(
             rewriter, where, TypeRange{acc.getType()}, ValueRange{lhs, rhs}, acc, maps, kinds,
             [&](OpBuilder &builder, Location at, ValueRange arguments) {
               IRMapping mapping;
               Block *body = op.getBlock();
               mapping.map(body->getArgument(0), arguments[isRight ? 1 : 0]);
               mapping.map(body->getArgument(1), arguments[isRight ? 0 : 1]);
               mapping.map(body->getArgument(2), arguments[2]);
               for (Operation &inner : body->without_terminator())
                 builder.clone(inner, mapping);
               linalg::YieldOp::create(builder, at,
                                       mapping.lookup(body->getTerminator()->getOperand(0)));
             })
      .getResult(0);
}

Value Lowering::lowerSlice(Value result, const Offsets &offsets) {
  Value input = slice(op->getOperand(0), mapOf(0), offsets);
  Value filter = slice(op->getOperand(1), mapOf(1), offsets);
  Value part = slice(result, mapOf(2), offsets);
  bool isRight = from.patches == Side::Right;
  size_t image = from.image.size();
  Value patches;
  if (isPatchesInput())
    patches = flatten(input, isRight ? from.loops.inputChannel.size() : image);
  else
    patches = flatten(gather(input, mapOf(0)), isRight ? from.reduced.size() : image);
  bool isChannelFirst = isRight != from.isFilterTransposed;
  Value flat = flatten(part, isRight ? 1 : image);
  Value matrix = multiply(flatten(filter, isChannelFirst ? 1 : from.reduced.size()), patches, flat);
  if (matrix.getType() != part.getType()) {
    auto collapsed = flat.getDefiningOp<tensor::CollapseShapeOp>();
    matrix = tensor::ExpandShapeOp::create(rewriter, where, part.getType(), matrix,
                                           collapsed.getReassociationIndices());
  }
  return slice(matrix, mapOf(2), offsets, &result);
}

Value Lowering::lower() {
  unsigned first = from.image.front();
  rows = from.sizes[first];
  if (!isPatchesInput()) {
    int64_t bits = cast<RankedTensorType>(op->getOperand(0).getType()).getElementTypeBitWidth();
    int64_t row = product(from.sizes, patchDims()) / rows * bits / 8;
    while (rows > 1 && (rows * row > patchBytes || from.sizes[first] % rows != 0))
      --rows;
  }
  // Loops of batches, groups and blocks of rows.
  Offsets offsets;
  Value result = op->getOperand(2);
  SmallVector<scf::ForOp> nest;
  auto enter = [&](unsigned dim, int64_t step) {
    if (from.sizes[dim] == step) {
      offsets[dim] = rewriter.getIndexAttr(0);
      return;
    }
    auto number = [&](int64_t n) { return arith::ConstantIndexOp::create(rewriter, where, n); };
    auto loop = scf::ForOp::create(rewriter, where, number(0), number(from.sizes[dim]),
                                   number(step), result);
    rewriter.setInsertionPointToStart(loop.getBody());
    result = loop.getRegionIterArg(0);
    offsets[dim] = loop.getInductionVar();
    nest.push_back(loop);
  };
  for (unsigned dim : from.outer)
    enter(dim, 1);
  enter(first, rows);
  result = lowerSlice(result, offsets);
  for (scf::ForOp loop : llvm::reverse(nest)) {
    rewriter.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(rewriter, where, result);
    result = loop.getResult(0);
  }
  return result;
}

/// Loops in an order that LLVM vectorises: the dimension in which the result is contiguous is the
/// innermost, and the sums are next to it.
void reorder(linalg::LinalgOp op, RewriterBase &rewriter) {
  AffineMap resultMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<unsigned> order = dimsOf(resultMap);
  if (op.getNumDpsInits() != 1 || order.empty() || order.size() != resultMap.getNumResults())
    return;
  unsigned innermost = order.pop_back_val();
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    if (dim != innermost && !llvm::is_contained(order, dim))
      order.push_back(dim);
  order.push_back(innermost);
  rewriter.setInsertionPoint(op);
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic) {
    FailureOr<linalg::GenericOp> made = linalg::generalizeNamedOp(rewriter, op);
    if (failed(made))
      return;
    generic = *made;
  }
  rewriter.setInsertionPoint(generic);
  (void)linalg::interchangeGenericOp(rewriter, generic, order);
}

struct LowerConvolutions : public kdl::impl::KdlLowerConvolutionsBase<LowerConvolutions> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> all;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (linalg::isaConvolutionOpInterface(op))
        all.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : all) {
      std::optional<Convolution> convolution = match(op);
      if (!convolution) {
        reorder(op, rewriter);
        continue;
      }
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, Lowering(*convolution, rewriter).lower());
    }
  }
};

} // namespace
