// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-fuse-tiles: creates the loops over the tiles of a product, and fuses its producers and
// consumers into them.
#include "Dialect.h"
#include "Passes.h"
#include "Transforms.h"
#include "ukernels/Contraction.h"
#include "ukernels/CpuCosts.h"
#include "ukernels/FuseElementwise.h"
#include "ukernels/UkernelSelection.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLFUSETILES
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

using Sizes = SmallVector<OpFoldResult>;

/// A product, the unpack of its result, and the elementwise operations that are the only users of
/// that. Without an unpack, the result stays in tiles.
struct Chain {
  linalg::LinalgOp product;
  bool hasBatch;
  linalg::UnPackOp unpack;
  SmallVector<linalg::LinalgOp> consumers;

  Operation *last() {
    if (!consumers.empty())
      return consumers.back();
    return unpack ? unpack.getOperation() : product.getOperation();
  }
};

//===----------------------------------------------------------------------===//
// Finding chains
//===----------------------------------------------------------------------===//

/// Whether another product takes the result in tiles.
bool isConsumedInTiles(Value result) {
  auto view = dyn_cast_or_null<tensor::ExpandShapeOp>(onlyUser(result));
  auto user = dyn_cast_or_null<linalg::LinalgOp>(view ? onlyUser(view.getResult()) : nullptr);
  std::optional<Mmt4d> found = user ? matchMmt4d(user) : std::nullopt;
  return found && found->inStepBlocks;
}

std::optional<Chain> findChain(linalg::LinalgOp product) {
  std::optional<Mmt4d> kind = matchMmt4d(product);
  Value result = product->getResult(0);
  if (!kind || !product.hasPureTensorSemantics())
    return std::nullopt;
  auto unpack = dyn_cast_or_null<linalg::UnPackOp>(onlyUser(result));
  if (unpack && (unpack.getInnerDimsPos().size() != 2 ||
                 llvm::any_of(unpack.getStaticTiles(), ShapedType::isDynamic)))
    return std::nullopt;
  ArrayRef<int64_t> tiles = cast<RankedTensorType>(result.getType()).getShape().take_back(2);
  if (llvm::any_of(tiles, ShapedType::isDynamic))
    return std::nullopt;
  Chain chain{product, kind->hasBatch, unpack, {}};
  for (result = unpack ? unpack->getResult(0) : result;;) {
    auto user = dyn_cast_or_null<linalg::LinalgOp>(onlyUser(result));
    if (!user || !isElementwiseOn(user, result) || user->getBlock() != product->getBlock())
      break;
    chain.consumers.push_back(user);
    result = user->getResult(0);
  }
  return unpack || isConsumedInTiles(result) ? std::optional(chain) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The loops
//===----------------------------------------------------------------------===//

class Fusion {
public:
  Fusion(RewriterBase &builder, Chain chain, const CpuCosts &costs)
      : chain(chain), builder(builder), where(chain.product.getLoc()), costs(costs),
        first(chain.hasBatch ? 1 : 0) {
    builder.setInsertionPoint(chain.last());
    auto result = cast<RankedTensorType>(chain.product->getResult(0).getType());
    tiles.assign(result.getShape().end() - 2, result.getShape().end());
  }

  void build();

private:
  /// Some tiles of the result: offsets and sizes in batch, m and n.
  struct TileRange {
    SmallVector<OpFoldResult, 3> at, count;
  };

  OpFoldResult number(int64_t value) { return builder.getIndexAttr(value); }
  OpFoldResult compute(AffineExpr expression, ArrayRef<OpFoldResult> operands) {
    return affine::makeComposedFoldedAffineApply(builder, where, expression, operands);
  }
  OpFoldResult least(ArrayRef<AffineExpr> expressions, ArrayRef<OpFoldResult> operands) {
    auto symbols = static_cast<unsigned>(operands.size());
    return affine::makeComposedFoldedAffineMin(
        builder, where, AffineMap::get(0, symbols, expressions, builder.getContext()), operands);
  }
  AffineExpr constant(int64_t value) { return builder.getAffineConstantExpr(value); }
  AffineExpr symbol(unsigned i) { return builder.getAffineSymbolExpr(i); }
  Value value(OpFoldResult from) { return getValueOrCreateConstantIndexOp(builder, where, from); }
  Sizes sizes(Value tensor) { return tensor::getMixedSizes(builder, where, tensor); }

  void planBlocks();
  Value loop(OpFoldResult count, Value state, function_ref<Value(Value, Value)> body);
  Value slice(Value tensor, const Sizes &offsets, const Sizes &sizes);
  Value packedPart(linalg::PackOp how, Value operand, OpFoldResult batchAt, OpFoldResult batchCount,
                   OpFoldResult at, OpFoldResult count);
  Value local(ArrayRef<int64_t> most, const Sizes &sizes, Type element);
  Value tiled(linalg::LinalgOp op, const Sizes &offsets, const Sizes &sizes,
              function_ref<Value(OpOperand &)> replacement);
  Value initialSums(const Sizes &offsets, const Sizes &sizes);
  void findInResult(const TileRange &range, Sizes &offsets, Sizes &sizes);
  Value buildTiles(const TileRange &range, const TileRange &block, Value left, Value right,
                   Value result);
  Value buildBlock(const TileRange &block, Value result);

  Chain chain;
  RewriterBase &builder;
  Location where;
  const CpuCosts &costs;
  SmallVector<int64_t> tiles;
  size_t first; // dimension of m1 in packed tensors
  TileRange all;
  linalg::PackOp pack, rightPack;        // of an operand, if it is packed in the loops
  int64_t rowTiles = 1, columnTiles = 1; // of a block; 0: all
};

Value Fusion::loop(OpFoldResult count, Value state, function_ref<Value(Value, Value)> body) {
  if (isConstantIntValue(count, 1))
    return body(value(number(0)), state);
  auto made =
      scf::ForOp::create(builder, where, value(number(0)), value(count), value(number(1)), state);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(made.getBody());
  Value next = body(made.getInductionVar(), made.getRegionIterArg(0));
  scf::YieldOp::create(builder, where, next);
  return made.getResult(0);
}

Value Fusion::slice(Value tensor, const Sizes &offsets, const Sizes &sizes) {
  Sizes ones(offsets.size(), number(1));
  return tensor::ExtractSliceOp::create(builder, where, tensor, offsets, sizes, ones);
}

/// Blocks of rows whose packed form stays in L2; blocks of columns if there are few rows.
void Fusion::planBlocks() {
  Value lhs = chain.product->getOperand(0), rhs = chain.product->getOperand(1);
  Sizes left = sizes(lhs), right = sizes(rhs);
  if (chain.hasBatch) {
    all.at.push_back(number(0));
    all.count.push_back(left[0]);
  }
  all.at.append({number(0), number(0)});
  all.count.append({left[first], right[first]});

  // Packs an operand in the loops if nothing else uses its packed form.
  auto packOf = [](Value operand) {
    if (auto view = operand.getDefiningOp<tensor::ExpandShapeOp>()) // in step blocks
      operand = onlyUser(operand) ? view.getSrc() : nullptr;
    auto found = operand ? operand.getDefiningOp<linalg::PackOp>() : nullptr;
    return found && onlyUser(operand) ? found : nullptr;
  };
  pack = packOf(lhs);

  auto type = cast<RankedTensorType>(lhs.getType());
  std::optional<int64_t> m1 = getConstantIntValue(left[first]);
  std::optional<int64_t> n1 = getConstantIntValue(right[first]);
  std::optional<int64_t> k1 = getConstantIntValue(left[first + 1]);
  int64_t lot = 1; // elements of K per k1
  for (int64_t size : type.getShape().drop_front(static_cast<size_t>(first) + 3))
    lot *= size;
  int64_t k = k1 ? *k1 * lot : 1024;
  int64_t bytes = std::max<int64_t>(1, k * tiles[0] * type.getElementTypeBitWidth() / 8);
  rowTiles = std::max<int64_t>(1, costs.blockBytes() / bytes);
  if (m1) {
    int64_t shares = llvm::divideCeilSigned(*m1, costs.blocks);
    rowTiles = std::max<int64_t>(1, std::min({rowTiles, shares, *m1}));
  }
  columnTiles = 0;
  if (m1 && *m1 < costs.blocks / 2) {
    pack = nullptr; // few rows: packed once, for all columns
    rightPack = packOf(rhs);
    rowTiles = 0;
    columnTiles = n1 ? llvm::divideCeilSigned(*n1, costs.blocks) : 4;
  }
}

/// Some tiles of a packed operand: packed at this point, or a slice of the packed operand.
Value Fusion::packedPart(linalg::PackOp how, Value operand, OpFoldResult batchAt,
                         OpFoldResult batchCount, OpFoldResult at, OpFoldResult count) {
  Sizes counts = sizes(operand), offsets(counts.size(), number(0));
  if (chain.hasBatch) {
    offsets[0] = batchAt;
    counts[0] = batchCount;
  }
  offsets[first] = at;
  counts[first] = count;
  if (!how)
    return slice(operand, offsets, counts);
  // A slice of the matrix, packed in the same way.
  Value source = how.getSource();
  auto type = cast<RankedTensorType>(source.getType());
  Sizes from(type.getShape().size(), number(0)), whole = sizes(source), size(whole);
  ArrayRef<int64_t> outer = how.getOuterDimsPerm();
  auto rows = static_cast<size_t>(how.getInnerDimsPos()[0]);
  int64_t tile = how.getStaticTiles()[0];
  if (chain.hasBatch) {
    auto batch = static_cast<size_t>(outer.empty() ? 0 : outer[0]);
    from[batch] = batchAt;
    size[batch] = batchCount;
  }
  from[rows] = compute(symbol(0) * tile, {at});
  size[rows] = least({symbol(1) * tile, symbol(0) - symbol(2)}, {whole[rows], count, from[rows]});
  Value part;
  auto producer = source.getDefiningOp<linalg::GenericOp>();
  if (producer && onlyUser(source) && isElementwiseOn(producer, nullptr))
    part = tiled(producer, from, size, [&](OpOperand &operandOf) -> Value {
      if (!producer.isDpsInit(&operandOf) || producer.payloadUsesValueFromOperand(&operandOf))
        return nullptr;
      return tensor::EmptyOp::create(builder, where, size, type.getElementType());
    });
  else
    part = slice(source, from, size);
  auto view = operand.getDefiningOp<tensor::ExpandShapeOp>();
  Sizes packedCounts = view ? sizes(view.getSrc()) : counts;
  if (chain.hasBatch)
    packedCounts[0] = batchCount;
  packedCounts[first] = count;
  Value to = tensor::EmptyOp::create(builder, where, packedCounts, type.getElementType());
  Value padding = how.getPaddingValue();
  Value packed =
      linalg::PackOp::create(builder, where, part, to, how.getInnerDimsPos(), how.getMixedTiles(),
                             padding ? std::optional(padding) : std::nullopt, outer)
          ->getResult(0);
  if (!view)
    return packed;
  SmallVector<int64_t> shape;
  for (OpFoldResult size : counts)
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  return tensor::ExpandShapeOp::create(builder, where,
                                       RankedTensorType::get(shape, type.getElementType()), packed,
                                       view.getReassociationIndices(), counts);
}

/// A tensor of at most so many elements, which will be on the stack.
Value Fusion::local(ArrayRef<int64_t> most, const Sizes &wanted, Type element) {
  if (llvm::any_of(most, ShapedType::isDynamic))
    return tensor::EmptyOp::create(builder, where, wanted, element);
  Value whole = tensor::EmptyOp::create(builder, where, most, element);
  auto isAll = llvm::all_of(llvm::zip_equal(most, wanted), [](auto pair) {
    return isConstantIntValue(std::get<1>(pair), std::get<0>(pair));
  });
  return isAll ? whole : slice(whole, Sizes(most.size(), number(0)), wanted);
}

/// A slice of an operation without reductions; `replacement` may replace an operand.
Value Fusion::tiled(linalg::LinalgOp op, const Sizes &offsets, const Sizes &wanted,
                    function_ref<Value(OpOperand &)> replacement) {
  auto tiling = cast<TilingInterface>(op.getOperation());
  FailureOr<TilingResult> result = tiling.getTiledImplementation(builder, offsets, wanted);
  assert(succeeded(result) && "linalg's operations can be tiled");
  Operation *made = result->tiledOps.front();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(made);
  for (OpOperand &operand : op->getOpOperands()) {
    Value other = replacement(operand);
    if (!other)
      continue;
    Operation *sliced = made->getOperand(operand.getOperandNumber()).getDefiningOp();
    builder.modifyOpInPlace(made, [&] { made->setOperand(operand.getOperandNumber(), other); });
    if (sliced && sliced->use_empty())
      builder.eraseOp(sliced);
  }
  auto tiledOp = cast<linalg::LinalgOp>(made);
  builder.modifyOpInPlace(made, [&] {
    made->getResult(0).setType(cast<RankedTensorType>(tiledOp.getDpsInits()[0].getType()));
  });
  return made->getResult(0);
}

/// The initial accumulators of some tiles: computed for them if only they use them, else a slice.
Value Fusion::initialSums(const Sizes &offsets, const Sizes &wanted) {
  Value acc = chain.product.getDpsInits()[0];
  auto type = cast<RankedTensorType>(acc.getType());
  auto op = acc.getDefiningOp<linalg::LinalgOp>();
  // A fill is cheap to repeat, and other products may use the same one.
  bool isOurs = isa_and_nonnull<linalg::FillOp>(op.getOperation()) || onlyUser(acc);
  if (!op || !isOurs || op.getNumLoops() != op.getNumParallelLoops() ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return slice(acc, offsets, wanted);
  SmallVector<int64_t> most;
  for (OpFoldResult size : wanted)
    most.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  return tiled(op, offsets, wanted, [&](OpOperand &operand) -> Value {
    bool isInit = op.isDpsInit(&operand) && operand.get().getDefiningOp<tensor::EmptyOp>();
    return isInit ? local(most, wanted, type.getElementType()) : nullptr;
  });
}

/// The offsets and sizes of tiles in the result.
void Fusion::findInResult(const TileRange &range, Sizes &offsets, Sizes &wanted) {
  if (!chain.unpack) {
    offsets.assign(range.at.begin(), range.at.end());
    wanted.assign(range.count.begin(), range.count.end());
    offsets.append(2, number(0));
    wanted.append({number(tiles[0]), number(tiles[1])});
    return;
  }
  Value result = chain.unpack.getDest();
  Sizes all = sizes(result);
  offsets.assign(all.size(), number(0));
  wanted = all;
  ArrayRef<int64_t> inner = chain.unpack.getInnerDimsPos();
  ArrayRef<int64_t> outer = chain.unpack.getOuterDimsPerm();
  if (chain.hasBatch) {
    auto batch = static_cast<size_t>(outer.empty() ? 0 : outer[0]);
    offsets[batch] = range.at[0];
    wanted[batch] = range.count[0];
  }
  for (size_t i : {size_t(0), size_t(1)}) {
    auto dim = static_cast<size_t>(inner[i]);
    offsets[dim] = compute(symbol(0) * tiles[i], {range.at[first + i]});
    wanted[dim] = least({symbol(0) * tiles[i], symbol(1) - symbol(2)},
                        {range.count[first + i], all[dim], offsets[dim]});
  }
}

/// Some tiles of a block, from their initial accumulators to the result.
Value Fusion::buildTiles(const TileRange &range, const TileRange &block, Value left, Value right,
                         Value result) {
  Sizes lhsCount = sizes(left), lhsAt(lhsCount.size(), number(0));
  Sizes at(first + 4, number(0)), count(first + 4);
  for (size_t i = 0; i <= first + 1; ++i) {
    at[i] = range.at[i];
    count[i] = range.count[i];
  }
  count[first + 2] = number(tiles[0]);
  count[first + 3] = number(tiles[1]);
  if (chain.hasBatch)
    lhsCount[0] = range.count[0];
  lhsAt[first] = compute(symbol(0) - symbol(1), {range.at[first], block.at[first]});
  lhsCount[first] = range.count[first];
  Value sums = initialSums(at, count);
  Value sum = mlir::clone(builder, chain.product.getOperation(), sums.getType(),
                          {slice(left, lhsAt, lhsCount), right, sums})
                  ->getResult(0);

  Sizes offsets, wanted, blockAt, blockSize, to;
  findInResult(range, offsets, wanted);
  findInResult(block, blockAt, blockSize);
  for (auto [a, b] : llvm::zip_equal(offsets, blockAt))
    to.push_back(compute(symbol(0) - symbol(1), {a, b}));
  Value place = slice(result, to, wanted);
  SmallVector<int64_t> most(wanted.size(), 1);
  for (size_t i : {size_t(0), size_t(1)}) {
    std::optional<int64_t> tileCount = getConstantIntValue(range.count[first + i]);
    if (chain.unpack) {
      most[static_cast<size_t>(chain.unpack.getInnerDimsPos()[i])] =
          tileCount ? *tileCount * tiles[i] : ShapedType::kDynamic;
    } else {
      most[first + i] = tileCount.value_or(ShapedType::kDynamic);
      most[first + 2 + i] = tiles[i];
    }
  }
  auto isLast = [&](Operation *op) { return op == chain.last(); };
  auto destination = [&](Operation *op) {
    Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
    return isLast(op) ? place : local(most, wanted, element);
  };
  Value made = sum, before = chain.product->getResult(0);
  if (linalg::UnPackOp unpack = chain.unpack) {
    made =
        linalg::UnPackOp::create(builder, where, sum, destination(unpack), unpack.getInnerDimsPos(),
                                 unpack.getMixedTiles(), unpack.getOuterDimsPerm())
            ->getResult(0);
    before = unpack->getResult(0);
  }
  for (linalg::LinalgOp op : chain.consumers) {
    bool readsInit = op.payloadUsesValueFromOperand(op.getDpsInitOperand(0));
    made = tiled(op, offsets, wanted, [&](OpOperand &operand) -> Value {
      if (operand.get() == before)
        return made;
      if (!op.isDpsInit(&operand) || (readsInit && !isLast(op)))
        return nullptr;
      return destination(op);
    });
    before = op->getResult(0);
  }
  Sizes ones(to.size(), number(1));
  return tensor::InsertSliceOp::create(builder, where, made, result, to, wanted, ones);
}

/// A loop over panels of the right operand, and in it one over tiles of rows.
Value Fusion::buildBlock(const TileRange &block, Value result) {
  OpFoldResult batchAt = block.at[0], batchCount = block.count[0];
  Value lhs = chain.product->getOperand(0), rhs = chain.product->getOperand(1);
  Value left = packedPart(pack, lhs, batchAt, batchCount, block.at[first], block.count[first]);
  auto panels = [&](const TileRange &of) {
    return packedPart(rightPack, rhs, batchAt, batchCount, of.at[first + 1], of.count[first + 1]);
  };
  TileRange one(block);
  one.count.assign(one.count.size(), number(1));
  return loop(block.count[first + 1], result, [&](Value n, Value outer) {
    one.at[first + 1] = compute(symbol(0) + symbol(1), {block.at[first + 1], n});
    Value right = panels(one);
    return loop(block.count[first], outer, [&](Value m, Value state) {
      one.at[first] = compute(symbol(0) + symbol(1), {block.at[first], m});
      return buildTiles(one, block, left, right, state);
    });
  });
}

void Fusion::build() {
  planBlocks();
  auto last = cast<DestinationStyleOpInterface>(chain.last());
  Value to = last.getDpsInits()[0];
  if (last == chain.product) { // accumulators are initialised tile by tile
    Type element = cast<RankedTensorType>(to.getType()).getElementType();
    to = tensor::EmptyOp::create(builder, where, sizes(to), element);
  }
  // The number of blocks and their size; the last ones are smaller.
  SmallVector<int64_t> size(chain.hasBatch ? 1 : 0, 1);
  size.append({rowTiles, columnTiles});
  Sizes counts;
  for (auto [tilesOf, whole] : llvm::zip_equal(size, all.count))
    counts.push_back(tilesOf == 0 ? number(1)
                                  : compute(symbol(0).ceilDiv(constant(tilesOf)), {whole}));
  auto forall = scf::ForallOp::create(builder, where, counts, ValueRange{to}, std::nullopt);
  Value shared = forall.getRegionIterArgs()[0];
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forall.getBody());
    TileRange here;
    for (unsigned i = 0; i < size.size(); ++i) {
      if (size[i] == 0) {
        here.at.push_back(number(0));
        here.count.push_back(all.count[i]);
        continue;
      }
      here.at.push_back(compute(symbol(0) * size[i], {forall.getInductionVar(i)}));
      here.count.push_back(
          chain.hasBatch && i == 0
              ? number(1)
              : least({constant(size[i]), symbol(0) - symbol(1)}, {all.count[i], here.at[i]}));
    }
    Sizes offsets, wanted;
    findInResult(here, offsets, wanted);
    Value made = buildBlock(here, slice(shared, offsets, wanted));
    Sizes ones(offsets.size(), number(1));
    builder.setInsertionPointToStart(forall.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(builder, where, made, shared, offsets, wanted, ones);
  }
  builder.replaceAllUsesWith(chain.last()->getResult(0), forall.getResult(0));
  // Remaining users query the sizes of a result, which are those of the destination.
  auto replace = [&](Operation *op) {
    builder.replaceOp(op, cast<DestinationStyleOpInterface>(op).getDpsInits()[0]);
  };
  for (linalg::LinalgOp op : llvm::reverse(chain.consumers))
    replace(op);
  if (chain.unpack)
    replace(chain.unpack);
  replace(chain.product);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct FuseChain : public OpInterfaceRewritePattern<linalg::LinalgOp> {
  FuseChain(MLIRContext *context, StringRef target)
      : OpInterfaceRewritePattern(context), target(target.str()) {}

  LogicalResult matchAndRewrite(linalg::LinalgOp op, PatternRewriter &rewriter) const override {
    std::optional<Chain> chain = findChain(op);
    if (!chain)
      return rewriter.notifyMatchFailure(op, "no product in tiles whose result is unpacked");
    CpuCosts costs = getCpuCosts(op, target);
    Fusion(rewriter, *chain, costs).build();
    return success();
  }

private:
  std::string target;
};

struct FuseTiles : public kdl::impl::KdlFuseTilesBase<FuseTiles> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateFuseTilesPatterns(set, target);
    patterns = std::move(set);
    return checkUkernelSource(context, getArgument(), {"", target.getValue()});
  }

  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (matchMmt4d(op))
        products.push_back(op);
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingOps).enableFolding(false);
    // In their order: a product whose result another one takes in tiles comes before that.
    for (Operation *op : products)
      (void)applyOpPatternsGreedily(op, patterns, config);
    fuseElementwise(getOperation());
  }

private:
  FrozenRewritePatternSet patterns;
};

} // namespace

void kdl::populateFuseTilesPatterns(RewritePatternSet &patterns, StringRef target) {
  patterns.add<FuseChain>(patterns.getContext(), target);
}
