// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-data-tile: turns contractions on tensors into pack, mmt4d and unpack, in the tiles of the
// microkernel that will be linked.
#include "Dialect.h"
#include "Passes.h"
#include "ukernels/Contraction.h"
#include "ukernels/FuseElementwise.h"
#include "ukernels/LowerContractions.h"
#include "ukernels/PackedConstants.h"
#include "ukernels/PropagateTiles.h"
#include "ukernels/UkernelLink.h"
#include "ukernels/VectorTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLDATATILE
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// An operand or the result, with the roles of its dimensions. One without rows or columns has got
/// a unit dimension.
struct Matrix {
  Value value;
  std::optional<unsigned> batch;
  unsigned first = 0, second = 0; // m and k, n and k, or m and n
  bool isUnsigned = false;
  Value zero = nullptr; // i32; null: 0
};

struct Product {
  Matrix lhs, rhs, out;
  std::optional<unsigned>
      added; // the unit dimension that was added to the result, to be dropped at the end
};

//===----------------------------------------------------------------------===//
// Matching contractions
//===----------------------------------------------------------------------===//

bool isQuantized(linalg::LinalgOp op) {
  return isa<linalg::QuantizedMatmulOp, linalg::QuantizedBatchMatmulOp>(op.getOperation());
}

class Matcher {
public:
  Matcher(OpBuilder &builder, linalg::LinalgOp op, std::string &why)
      : builder(builder), op(op), why(why) {}

  /// What is needed to tile the operation, or why it cannot be tiled.
  FailureOr<Product> match();

private:
  Matrix matrix(Value value, AffineMap map, std::optional<unsigned> first,
                std::optional<unsigned> second, std::optional<unsigned> *added = nullptr);

  OpBuilder &builder;
  linalg::LinalgOp op;
  std::string &why;
  std::optional<unsigned> batch;
};

/// The operand with both dimensions: adds a missing one in front of the other.
Matrix Matcher::matrix(Value value, AffineMap map, std::optional<unsigned> first,
                       std::optional<unsigned> second, std::optional<unsigned> *added) {
  auto place = [&](std::optional<unsigned> loop) -> std::optional<unsigned> {
    return loop ? map.getResultPosition(getAffineDimExpr(*loop, op.getContext())) : std::nullopt;
  };
  std::optional<unsigned> b = place(batch), x = place(first), y = place(second);
  if (!x || !y) {
    auto type = cast<RankedTensorType>(value.getType());
    unsigned there = x ? *x : *y;
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<ReassociationIndices> groups;
    for (int64_t dim = 0, at = 0; dim < type.getRank(); ++dim) {
      groups.push_back({at++});
      if (dim == there)
        groups.back().push_back(at++);
    }
    shape.insert(shape.begin() + there, 1);
    value = tensor::ExpandShapeOp::create(
        builder, op.getLoc(), RankedTensorType::get(shape, type.getElementType()), value, groups);
    if (b && *b > there)
      b = *b + 1;
    if (added)
      *added = there;
    bool hasFirst = x.has_value();
    x = hasFirst ? there + 1 : there;
    y = hasFirst ? there : there + 1;
  }
  return {value, b, *x, *y};
}

FailureOr<Product> Matcher::match() {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps = {maps[0], maps[1], maps.back()};
  FailureOr<linalg::ContractionDimensions> dims = linalg::inferContractionDims(maps);
  if (failed(dims) || dims->batch.size() > 1 || dims->m.size() > 1 || dims->n.size() > 1 ||
      dims->k.size() != 1 || (dims->m.empty() && dims->n.empty())) {
    why = "found more or fewer than one dimension of rows, columns and K";
    return failure();
  }
  if (dims->batch.size() + dims->m.size() + dims->n.size() + 1 != op.getNumLoops()) {
    why = "found an operand that is repeated along a dimension of the result, expected a broadcast "
          "before it";
    return failure();
  }
  if (!isQuantized(op) && !matchContractionBody(op)) {
    why = "found no sum of products in its body";
    return failure();
  }
  auto only = [](ArrayRef<unsigned> loops) {
    return loops.empty() ? std::nullopt : std::optional<unsigned>(loops[0]);
  };
  batch = only(dims->batch);
  std::optional<unsigned> m = only(dims->m), n = only(dims->n), k = only(dims->k);
  Product product;
  product.lhs = matrix(op->getOperand(0), maps[0], m, k);
  product.rhs = matrix(op->getOperand(1), maps[1], n, k);
  product.out = matrix(op->getOperand(op->getNumOperands() - 1), maps[2], m, n, &product.added);
  if (isQuantized(op)) {
    product.lhs.zero = op->getOperand(2);
    product.rhs.zero = op->getOperand(3);
  } else {
    ContractionBody body = *matchContractionBody(op);
    product.lhs.isUnsigned = body.lhsUnsigned;
    product.rhs.isUnsigned = body.rhsUnsigned;
  }
  return product;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

int64_t sizeOf(const Matrix &matrix, unsigned dim) {
  return cast<RankedTensorType>(matrix.value.getType()).getDimSize(dim);
}

/// Divides rows evenly: 64 are 5 tiles of 13, not of 14.
int64_t rowsOf(int64_t rows, int64_t most) {
  if (ShapedType::isDynamic(rows) || rows == 0)
    return most;
  return llvm::divideCeilSigned(rows, llvm::divideCeilSigned(rows, most));
}

/// Half of the widest panel if that leaves less padding in the last one.
int64_t columnsOf(int64_t columns, int64_t most) {
  if (ShapedType::isDynamic(columns) || most <= mmaColumns)
    return most;
  auto padded = [&](int64_t panel) { return llvm::divideCeilSigned(columns, panel) * panel; };
  // A word that is loaded for one vector alone costs as much as for two.
  return padded(mmaColumns) * 10 <= padded(most) * 9 ? mmaColumns : most;
}

/// Builds pack, mmt4d and unpack in place of an operation.
class Tiling {
public:
  Tiling(OpBuilder &builder, Location where, Product product, UkernelKind kind, UkernelTile tile,
         int64_t vectorBytes)
      : builder(builder), where(where), product(product), kind(kind), vectorBytes(vectorBytes),
        m0(rowsOf(sizeOf(product.lhs, product.lhs.first), tile.rows)),
        n0(columnsOf(sizeOf(product.rhs, product.rhs.first), tile.columns)) {}

  Value build();

private:
  Value pack(const Matrix &matrix, int64_t first, int64_t second, uint8_t flip = 0);
  Value changed(Value matrix, Type element,
                function_ref<Value(OpBuilder &, Location, Value)> change);
  Value flip(Value matrix);
  Value widen(Value matrix);
  Value zeros(Value like);
  Value columnSums(Value packed);
  Value rowSums();
  Value start(Value packedRhs);
  Value initial();
  Value word(int64_t value) {
    return arith::ConstantIntOp::create(builder, where, builder.getI32Type(), value);
  }
  Value multiply(Value a, Value b) { return arith::MulIOp::create(builder, where, a, b); }

  bool hasBatch() const { return product.out.batch.has_value(); }
  bool isInteger() const { return kind.left == LhsForm::Unsigned; }
  /// The constant added to the left operand to make it unsigned, or subtracted from the right one.
  int64_t lhsShift() const { return product.lhs.isUnsigned ? 0 : 128; }
  int64_t rhsShift() const { return product.rhs.isUnsigned ? 128 : 0; }

  OpBuilder &builder;
  Location where;
  Product product;
  UkernelKind kind;
  int64_t vectorBytes; // without a microkernel
  int64_t m0, n0;
};

/// [batch][first1][second1][first0][second0], padded with zeros; bytes may get a bit flipped.
Value Tiling::pack(const Matrix &matrix, int64_t first, int64_t second, uint8_t change) {
  auto type = cast<RankedTensorType>(matrix.value.getType());
  SmallVector<int64_t> outer, inner{matrix.first, matrix.second};
  if (matrix.batch)
    outer.push_back(*matrix.batch);
  llvm::append_range(outer, inner);
  ElementsAttr constant;
  if (matchPattern(matrix.value, m_Constant(&constant))) {
    SmallVector<PackedDim> dims;
    if (matrix.batch)
      dims.push_back({type.getDimSize(*matrix.batch), *matrix.batch, 1});
    for (bool isOuter : {true, false}) {
      for (auto [dim, tile] : {std::pair(matrix.first, first), std::pair(matrix.second, second)}) {
        int64_t tiles = llvm::divideCeilSigned(type.getDimSize(dim), tile);
        dims.push_back({isOuter ? tiles : tile, dim, isOuter ? tile : 1});
      }
    }
    if (DenseElementsAttr packed = packConstant(constant, dims, change))
      return arith::ConstantOp::create(builder, where, packed);
  }
  Value source = change ? flip(matrix.value) : matrix.value;
  SmallVector<OpFoldResult> tiles{builder.getIndexAttr(first), builder.getIndexAttr(second)};
  Value to = linalg::PackOp::createDestinationTensor(builder, where, source, tiles, inner, outer);
  auto shape = cast<RankedTensorType>(to.getType()).getShape();
  std::optional<Value> padding;
  if (linalg::PackOp::requirePaddingValueStrict(type.getShape(), inner, shape, outer, tiles))
    padding = Value(
        arith::ConstantOp::create(builder, where, builder.getZeroAttr(type.getElementType())));
  return linalg::PackOp::create(builder, where, source, to, inner, tiles, padding, outer)
      ->getResult(0);
}

/// Applies a change to each element of an operand, in a new tensor of that element type.
Value Tiling::changed(Value matrix, Type element,
                      function_ref<Value(OpBuilder &, Location, Value)> change) {
  size_t rank = cast<RankedTensorType>(matrix.getType()).getShape().size();
  Value to = tensor::EmptyOp::create(builder, where, tensor::getMixedSizes(builder, where, matrix),
                                     element);
  AffineMap map = builder.getMultiDimIdentityMap(static_cast<unsigned>(rank));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &inner, Location at, ValueRange arguments) {
    linalg::YieldOp::create(inner, at, change(inner, at, arguments[0]));
  };
  return linalg::GenericOp::create(builder, where, to.getType(), matrix, to,
                                   ArrayRef<AffineMap>{map, map}, loops, body)
      .getResult(0);
}

/// Flips the highest bit of each byte: signed ones + 128, unsigned ones - 128.
Value Tiling::flip(Value matrix) {
  return changed(matrix, builder.getI8Type(), [](OpBuilder &inner, Location at, Value value) {
    Value high = arith::ConstantIntOp::create(inner, at, inner.getI8Type(), -128);
    return Value(arith::XOrIOp::create(inner, at, value, high));
  });
}

/// f16 extended to f32.
Value Tiling::widen(Value matrix) {
  return changed(matrix, builder.getF32Type(), [](OpBuilder &inner, Location at, Value value) {
    return Value(arith::ExtFOp::create(inner, at, inner.getF32Type(), value, {}));
  });
}

Value Tiling::zeros(Value like) {
  Type element = cast<RankedTensorType>(like.getType()).getElementType();
  Value zero = arith::ConstantOp::create(builder, where, builder.getZeroAttr(element));
  return linalg::FillOp::create(builder, where, zero, like).getResult(0);
}

/// Sums over K of the right operand: [batch][n1][n0]. Computed now for a constant, else a product
/// with a row of ones.
Value Tiling::columnSums(Value packed) {
  DenseElementsAttr constant;
  if (matchPattern(packed, m_Constant(&constant)))
    return arith::ConstantOp::create(builder, where, sumPackedColumns(constant));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, where, packed);
  int64_t n1 = hasBatch() ? 1 : 0;
  OpFoldResult one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> left(sizes.begin(), sizes.begin() + n1), result(left);
  // [n1][k1][n0][k0] for [1][k1][1][k0] and [1][n1][1][n0].
  auto from = sizes.begin() + n1;
  left.append({one, from[1], one, from[3]});
  result.append({one, from[0], one, from[2]});
  Value byte = arith::ConstantIntOp::create(builder, where, builder.getI8Type(), 1);
  Value ones = linalg::FillOp::create(
                   builder, where, byte,
                   tensor::EmptyOp::create(builder, where, left, builder.getI8Type()).getResult())
                   .getResult(0);
  Value acc = zeros(tensor::EmptyOp::create(builder, where, result, builder.getI32Type()));
  Value sums = createMmt4d(builder, where, ones, packed, acc)->getResult(0);
  SmallVector<ReassociationIndices> groups;
  if (hasBatch())
    groups.push_back({0});
  groups.push_back({n1, n1 + 1});
  groups.push_back({n1 + 2, n1 + 3});
  return tensor::CollapseShapeOp::create(builder, where, sums, groups);
}

/// Sums over K of the original left operand: [batch][m1][m0].
Value Tiling::rowSums() {
  const Matrix &lhs = product.lhs;
  auto type = cast<RankedTensorType>(lhs.value.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, where, lhs.value), kept;
  SmallVector<AffineExpr> results;
  SmallVector<utils::IteratorType> loops(type.getShape().size(), utils::IteratorType::parallel);
  loops[lhs.second] = utils::IteratorType::reduction;
  auto keep = [&](unsigned dim) {
    kept.push_back(sizes[dim]);
    results.push_back(builder.getAffineDimExpr(dim));
  };
  if (lhs.batch)
    keep(*lhs.batch);
  keep(lhs.first);
  auto rank = static_cast<unsigned>(type.getRank());
  AffineMap from = builder.getMultiDimIdentityMap(rank);
  AffineMap to = AffineMap::get(rank, 0, results, builder.getContext());
  Value acc = zeros(tensor::EmptyOp::create(builder, where, kept, builder.getI32Type()));
  bool isUnsigned = lhs.isUnsigned;
  Value sums =
      linalg::GenericOp::create(
          builder, where, acc.getType(), lhs.value, acc, ArrayRef<AffineMap>{from, to}, loops,
          [&](OpBuilder &inner, Location at, ValueRange arguments) {
            Type i32 = inner.getI32Type();
            Value wide = isUnsigned ? Value(arith::ExtUIOp::create(inner, at, i32, arguments[0]))
                                    : Value(arith::ExtSIOp::create(inner, at, i32, arguments[0]));
            Value sum = arith::AddIOp::create(inner, at, arguments[1], wide);
            linalg::YieldOp::create(inner, at, sum);
          })
          .getResult(0);
  SmallVector<int64_t> position{lhs.batch ? 1 : 0};
  SmallVector<OpFoldResult> tiles{builder.getIndexAttr(m0)};
  Value packed = linalg::PackOp::createDestinationTensor(builder, where, sums, tiles, position, {});
  Value zero = word(0);
  bool pads = linalg::PackOp::requirePaddingValueStrict(
      cast<RankedTensorType>(sums.getType()).getShape(), position,
      cast<RankedTensorType>(packed.getType()).getShape(), {}, tiles);
  return linalg::PackOp::create(builder, where, sums, packed, position, tiles,
                                pads ? std::optional(zero) : std::nullopt)
      ->getResult(0);
}

/// The initial value of the result, packed; null if it is zero.
Value Tiling::initial() {
  auto fill = product.out.value.getDefiningOp<linalg::FillOp>();
  Value filled = fill ? fill.getInputs()[0] : product.out.value;
  if (matchPattern(filled, m_PosZeroFloat()) || matchPattern(filled, m_Zero()))
    return nullptr;
  DenseElementsAttr constant;
  if (!fill && matchPattern(filled, m_Constant(&constant)) && constant.isSplat() &&
      isa<IntegerType>(constant.getElementType()) && constant.getSplatValue<APInt>().isZero())
    return nullptr;
  return pack(product.out, m0, n0);
}

/// The initial value of the accumulators. The microkernel multiplies bytes a' = a + s and b' = b -
/// t. The sum of (a - za) (b - zb) is the sum of a' b', minus p times the sum of b' with p = s +
/// za, minus q times the sum of a with q = zb - t, plus K q za.
Value Tiling::start(Value packedRhs) {
  Value before = initial();
  SmallVector<OpFoldResult> tiles{builder.getIndexAttr(m0), builder.getIndexAttr(n0)};
  auto shapeOf = [&]() -> Value {
    SmallVector<int64_t> outer, inner{product.out.first, product.out.second};
    if (product.out.batch)
      outer.push_back(*product.out.batch);
    llvm::append_range(outer, inner);
    return linalg::PackOp::createDestinationTensor(builder, where, product.out.value, tiles, inner,
                                                   outer);
  };
  bool needsColumns = isInteger() && (lhsShift() || product.lhs.zero);
  bool needsRows = isInteger() && (rhsShift() || product.rhs.zero);
  if (!needsColumns && !needsRows)
    return before ? before : zeros(shapeOf());

  auto shifted = [&](Value zero, int64_t by) {
    return zero ? Value(arith::AddIOp::create(builder, where, zero, word(by))) : word(by);
  };
  Value p = shifted(product.lhs.zero, lhsShift()), q = shifted(product.rhs.zero, -rhsShift());
  Value constant = word(0);
  if (product.lhs.zero && needsRows) {
    Value k = tensor::DimOp::create(builder, where, product.lhs.value, product.lhs.second);
    Value steps = arith::IndexCastOp::create(builder, where, builder.getI32Type(), k);
    constant = multiply(multiply(steps, q), product.lhs.zero);
  }
  unsigned first = hasBatch() ? 1 : 0, loops = first + 4;
  auto map = [&](ArrayRef<unsigned> dims) {
    SmallVector<AffineExpr> results;
    if (hasBatch())
      results.push_back(builder.getAffineDimExpr(0));
    for (unsigned dim : dims)
      results.push_back(builder.getAffineDimExpr(first + dim));
    return AffineMap::get(loops, 0, results, builder.getContext());
  };
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  if (needsColumns) {
    inputs.push_back(columnSums(packedRhs));
    maps.push_back(map({1, 3}));
  }
  if (needsRows) {
    inputs.push_back(rowSums());
    maps.push_back(map({0, 2}));
  }
  if (before) {
    inputs.push_back(before);
    maps.push_back(map({0, 1, 2, 3}));
  }
  maps.push_back(map({0, 1, 2, 3}));
  Value to = shapeOf();
  SmallVector<utils::IteratorType> parallel(loops, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, where, to.getType(), inputs, to, maps, parallel,
             [&](OpBuilder &inner, Location at, ValueRange arguments) {
               size_t next = 0;
               Value value = constant;
               auto subtract = [&](Value factor) {
                 Value part = arith::MulIOp::create(inner, at, factor, arguments[next++]);
                 value = arith::SubIOp::create(inner, at, value, part);
               };
               if (needsColumns)
                 subtract(p);
               if (needsRows)
                 subtract(q);
               if (before)
                 value = arith::AddIOp::create(inner, at, value, arguments[next]);
               linalg::YieldOp::create(inner, at, value);
             })
      .getResult(0);
}

Value Tiling::build() {
  if (kind.left == LhsForm::F32)
    product.lhs.value = widen(product.lhs.value);
  Value lhs = pack(product.lhs, m0, kind.k0, static_cast<uint8_t>(isInteger() ? lhsShift() : 0));
  Value rhs = pack(product.rhs, n0, kind.k0, static_cast<uint8_t>(isInteger() ? rhsShift() : 0));
  ContractionBody body{/*lhsUnsigned=*/true};
  if (vectorBytes)
    body = {product.lhs.isUnsigned, product.rhs.isUnsigned};
  linalg::LinalgOp tiled = createMmt4d(builder, where, lhs, rhs, start(rhs), body);
  if (vectorBytes)
    tiled->setAttr(vectorBytesAttr, builder.getI64IntegerAttr(vectorBytes));
  Value sum = tiled->getResult(0);
  const Matrix &out = product.out;
  SmallVector<int64_t> outer, inner{out.first, out.second};
  if (out.batch)
    outer.push_back(*out.batch);
  llvm::append_range(outer, inner);
  // The padding is never read.
  Value to = out.value;
  if (auto fill = to.getDefiningOp<linalg::FillOp>())
    to = fill.getOutputs()[0];
  SmallVector<OpFoldResult> tiles{builder.getIndexAttr(m0), builder.getIndexAttr(n0)};
  Value result =
      linalg::UnPackOp::create(builder, where, sum, to, inner, tiles, outer)->getResult(0);
  if (!product.added)
    return result;
  SmallVector<ReassociationIndices> groups;
  int64_t rank = cast<RankedTensorType>(result.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    groups.push_back({dim});
    if (dim == *product.added)
      groups.back().push_back(++dim);
  }
  return tensor::CollapseShapeOp::create(builder, where, result, groups);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Nothing is computed, and an empty tile is not a tensor that can be sliced.
bool isEmpty(linalg::LinalgOp op) {
  return llvm::any_of(op->getOperandTypes(), [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && llvm::is_contained(shaped.getShape(), 0);
  });
}

bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

/// Whether an elementwise operation before or after a product would be fused into its loops.
bool hasFusableNeighbour(linalg::LinalgOp op) {
  auto before = op->getOperand(0).getDefiningOp<linalg::GenericOp>();
  auto behind = dyn_cast_or_null<linalg::LinalgOp>(onlyUser(op->getResult(0)));
  return (before && onlyUser(op->getOperand(0)) && isElementwiseOn(before, nullptr)) ||
         (behind && isElementwiseOn(behind, op->getResult(0)));
}

/// Whether the value is invariant in a loop around the operation.
bool isSameInLoop(Operation *op, Value value) {
  for (auto loop = op->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>()) {
    if (loop.isDefinedOutsideOfLoop(value))
      return true;
  }
  return false;
}

/// Whether elements of a batch are known to be so small that a call per element costs more than
/// packing all of them at once, or to have so few columns that the product is transposed.
bool isSmall(const UnpackedContraction &product) {
  constexpr int64_t products = 1 << 14;
  if (ShapedType::isDynamicShape({product.m, product.n, product.k}))
    return false;
  int64_t results = product.m * product.n;
  return product.n <= mmaColumns / 2 || (results < products && results * product.k < products);
}

struct DataTile : public kdl::impl::KdlDataTileBase<DataTile> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    return checkUkernelSource(context, getArgument(), {library.getValue(), target.getValue()});
  }

  void runOnOperation() override {
    getOperation()->setAttr(forTargetAttr, UnitAttr::get(&getContext()));
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      bool isProduct =
          isQuantized(op) || (linalg::isaContractionOpInterface(op) &&
                              llvm::all_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>));
      if (isProduct && op.hasPureTensorSemantics() && !matchMmt4d(op) && !isEmpty(op))
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops) {
      std::string why;
      if ((leavePlain && isUnprofitable(op)) || succeeded(tile(op, why)))
        continue;
      if (noSilentFallback || hasInvalidModuleUkernel) {
        op.emitError(op->getName().getStringRef())
            << (hasInvalidModuleUkernel ? ": the module's own microkernel: "
                                        : " has no microkernel: ")
            << why;
        signalPassFailure();
      } else {
        op.emitRemark("stays ") << op->getName().getStringRef() << ": " << why;
        if (leavePlain)
          op->setAttr(noUkernelAttr, UnitAttr::get(&getContext()));
      }
    }
    propagate();
  }

private:
  /// Microkernels that take 16 steps at a time need their left operand packed in their own form.
  void propagate() {
    SmallVector<linalg::LinalgOp> products;
    getOperation().walk([&](linalg::LinalgOp op) {
      std::optional<Mmt4d> found = matchMmt4d(op);
      if (found && !found->vectorBytes &&
          !takesTiles(getOperation(), found->kind.ukernel, source()))
        products.push_back(op);
    });
    for (linalg::LinalgOp op : products)
      propagateTiles(op);
  }

  UkernelSource source() { return {library.getValue(), target.getValue()}; }

  bool hasInvalidModuleUkernel = false; // a microkernel of the module cannot be used

  /// Tiling does not pay off: no operand is packed at compile time or shared with other products,
  /// and nothing is fused; or there are so few rows that packing costs more than multiplying. Tiles
  /// support one batch dimension only.
  bool isUnprofitable(linalg::LinalgOp op) {
    constexpr int64_t fewRows = 32; // as in kdl_matmul_fuses_packing
    std::string why;
    FailureOr<UnpackedContraction> product = matchUnpackedContraction(op, why);
    if (failed(product) || failed(hasMatmulKernelFor(getOperation(), *product, source(), why)))
      return false;
    if (product->batch.size() > 1)
      return true;
    bool isNarrow = !ShapedType::isDynamic(product->m) && product->m <= fewRows;
    return !isConstant(op->getOperand(0)) && !isConstant(op->getOperand(1)) &&
           !isSameInLoop(op, op->getOperand(1)) && (isNarrow || !hasFusableNeighbour(op)) &&
           (product->batch.empty() || !isSmall(*product));
  }

  LogicalResult tile(linalg::LinalgOp op, std::string &why) {
    hasInvalidModuleUkernel = false;
    auto elementOf = [&](unsigned i) {
      return cast<ShapedType>(op->getOperand(i).getType()).getElementType();
    };
    Type lhs = elementOf(0), rhs = elementOf(1), out = elementOf(op->getNumOperands() - 1);
    std::optional<UkernelKind> kind = getUkernelKind(lhs, rhs, out);
    FailureOr<UkernelTile> tile = failure();
    int64_t vectorBytes = 0;
    if (kind) {
      tile = findTile(getOperation(), kind->ukernel, source(), why);
      if (failed(tile)) {
        hasInvalidModuleUkernel = isBroughtByModule(getOperation(), kind->ukernel);
        return failure();
      }
    } else {
      std::string noVectors;
      llvm::raw_string_ostream(why) << "found " << lhs << " and " << rhs << " to " << out
                                    << ", expected bf16, f16 or f32 to f32, or i8 to i32";
      FailureOr<VectorTile> vectors = failure();
      if (!noSilentFallback && !isQuantized(op))
        vectors = findVectorTile(lhs, rhs, out, source(), noVectors);
      if (failed(vectors))
        return failure();
      kind = UkernelKind{"", 1, LhsForm::Unchanged};
      tile = vectors->tile;
      vectorBytes = vectors->vectorBytes;
    }
    OpBuilder builder(op);
    std::string noProduct;
    FailureOr<Product> product = Matcher(builder, op, noProduct).match();
    if (failed(product)) {
      why = noProduct;
      return failure();
    }
    if (vectorBytes)
      op.emitRemark("has no microkernel, and becomes vector code: ") << why;
    // Few columns fill little of a vector: transposes the product, so that they are rows.
    int64_t m = sizeOf(product->lhs, product->lhs.first);
    int64_t n = sizeOf(product->rhs, product->rhs.first);
    if (!ShapedType::isDynamic(n) && n <= mmaColumns / 2 && (ShapedType::isDynamic(m) || m > n)) {
      std::swap(product->lhs, product->rhs);
      std::swap(product->out.first, product->out.second);
    }
    Value result = Tiling(builder, op.getLoc(), *product, *kind, *tile, vectorBytes).build();
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
    return success();
  }
};

} // namespace
