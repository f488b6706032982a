// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/Tiling.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// Builds pack, mmt4d and unpack in place of an operation.
class Tiling {
public:
  Tiling(OpBuilder &builder, Location where, Product product, MmaLayoutAttr layout, LhsForm left)
      : builder(builder), where(where), product(product), layout(layout), left(left),
        m0(layout.getRows()), n0(layout.getPanelColumns()), k0(layout.getValues()),
        steps(layout.getIntrinsicsK()) {}

  Value build();

private:
  Value pack(const Matrix &matrix, int64_t first, int64_t second, int64_t block, uint8_t flip = 0);
  Value padded(Value value, unsigned dim, int64_t block);
  Value inStepBlocks(Value packed, bool isLeft);
  Value changed(Value matrix, Type element,
                function_ref<Value(OpBuilder &, Location, Value)> change);
  Value flip(Value matrix);
  Value widen(Value matrix);
  Value zeros(Value like);
  Value columnSums(Value packed, Value blocks);
  Value rowSums();
  Value start(Value packedRhs, Value blocks);
  Value initial();
  Value word(int64_t value) {
    return arith::ConstantIntOp::create(builder, where, builder.getI32Type(), value);
  }
  Value multiply(Value a, Value b) { return arith::MulIOp::create(builder, where, a, b); }

  bool hasBatch() const { return product.out.batch.has_value(); }
  bool isInteger() const { return left == LhsForm::Unsigned; }
  /// The constant added to the left operand to make it unsigned, or subtracted from the right one.
  int64_t lhsShift() const { return product.lhs.isUnsigned ? 0 : 128; }
  int64_t rhsShift() const { return product.rhs.isUnsigned ? 128 : 0; }

  OpBuilder &builder;
  Location where;
  Product product;
  MmaLayoutAttr layout;
  LhsForm left;
  int64_t m0, n0, k0;
  int64_t steps; // words of a row side by side
};

/// [batch][first1][second1][first0][second0], padded with zeros: the second dimension to whole
/// blocks, which are one or more tiles. Bytes may get a bit flipped.
Value Tiling::pack(const Matrix &matrix, int64_t first, int64_t second, int64_t block,
                   uint8_t change) {
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
    int64_t firsts = llvm::divideCeilSigned(type.getDimSize(matrix.first), first);
    int64_t blocks = llvm::divideCeilSigned(type.getDimSize(matrix.second), block);
    dims.push_back({firsts, matrix.first, first});
    dims.push_back({blocks * (block / second), matrix.second, second});
    dims.push_back({first, matrix.first, 1});
    dims.push_back({second, matrix.second, 1});
    if (DenseElementsAttr packed = packConstant(constant, dims, change))
      return arith::ConstantOp::create(builder, where, packed);
  }
  Value source = change ? flip(matrix.value) : matrix.value;
  if (block != second)
    source = padded(source, matrix.second, block);
  type = cast<RankedTensorType>(source.getType());
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

/// The matrix with zeros at the end of a dimension, so that it is whole blocks.
Value Tiling::padded(Value value, unsigned dim, int64_t block) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.isDynamicDim(dim) && type.getDimSize(dim) % block == 0)
    return value;
  SmallVector<OpFoldResult> low(type.getShape().size(), builder.getIndexAttr(0)), high(low);
  AffineExpr size = builder.getAffineSymbolExpr(0);
  high[dim] = affine::makeComposedFoldedAffineApply(
      builder, where, size.ceilDiv(builder.getAffineConstantExpr(block)) * block - size,
      {tensor::getMixedSize(builder, where, value, dim)});
  Value zero =
      arith::ConstantOp::create(builder, where, builder.getZeroAttr(type.getElementType()));
  return tensor::PadOp::create(builder, where, Type(), value, low, high, zero);
}

/// [..][m1][k1][m0][steps * k0] becomes [..][m1][k1][m0][steps][k0], and [..][n1][k1 *
/// steps][n0][k0] becomes [..][n1][k1][steps][n0][k0].
Value Tiling::inStepBlocks(Value packed, bool isLeft) {
  if (steps == 1)
    return packed;
  auto type = cast<RankedTensorType>(packed.getType());
  size_t divided = (hasBatch() ? 1 : 0) + (isLeft ? 3 : 1);
  SmallVector<int64_t> shape(type.getShape());
  int64_t inner = isLeft ? k0 : steps;
  if (!ShapedType::isDynamic(shape[divided]))
    shape[divided] /= inner;
  shape.insert(shape.begin() + static_cast<int64_t>(divided) + 1, inner);
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0, at = 0; dim < type.getRank(); ++dim) {
    groups.push_back({at++});
    if (dim == static_cast<int64_t>(divided))
      groups.back().push_back(at++);
  }
  return tensor::ExpandShapeOp::create(
      builder, where, RankedTensorType::get(shape, type.getElementType()), packed, groups);
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
/// with a row of ones. Takes the operand packed, without and with step blocks.
Value Tiling::columnSums(Value packed, Value blocks) {
  DenseElementsAttr constant;
  if (matchPattern(packed, m_Constant(&constant)))
    return arith::ConstantOp::create(builder, where, sumPackedColumns(constant));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, where, blocks);
  int64_t n1 = hasBatch() ? 1 : 0;
  OpFoldResult one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> row(sizes.begin(), sizes.begin() + n1), result(row);
  // [n1][k1][n0][k0] for [1][k1][1][k0] and [1][n1][1][n0].
  auto from = sizes.begin() + n1;
  row.append({one, from[1], one});
  if (layout.hasStepBlocks())
    row.push_back(builder.getIndexAttr(steps));
  row.push_back(builder.getIndexAttr(k0));
  result.append({one, from[0], one, builder.getIndexAttr(n0)});
  Value byte = arith::ConstantIntOp::create(builder, where, builder.getI8Type(), 1);
  Value ones = linalg::FillOp::create(
                   builder, where, byte,
                   tensor::EmptyOp::create(builder, where, row, builder.getI8Type()).getResult())
                   .getResult(0);
  Value acc = zeros(tensor::EmptyOp::create(builder, where, result, builder.getI32Type()));
  auto ofOneRow = MmaLayoutAttr::get(builder.getContext(), layout.getUkernel(), /*intrinsics_m=*/1,
                                     layout.getIntrinsicsN(), steps, k0,
                                     /*vector_bytes=*/0);
  Value sums = createMmt4d(builder, where, ones, blocks, acc, ofOneRow)->getResult(0);
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
  return pack(product.out, m0, n0, n0);
}

/// The initial value of the accumulators. The microkernel multiplies bytes a' = a + s and b' = b -
/// t. The sum of (a - za) (b - zb) is the sum of a' b', minus p times the sum of b' with p = s +
/// za, minus q times the sum of a with q = zb - t, plus K q za.
Value Tiling::start(Value packedRhs, Value blocks) {
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
    inputs.push_back(columnSums(packedRhs, blocks));
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
  if (left == LhsForm::F32)
    product.lhs.value = widen(product.lhs.value);
  auto shift = [&](int64_t by) { return static_cast<uint8_t>(isInteger() ? by : 0); };
  int64_t block = steps * k0;
  Value lhs = inStepBlocks(pack(product.lhs, m0, block, block, shift(lhsShift())), /*isLeft=*/true);
  Value rhs = pack(product.rhs, n0, k0, block, shift(rhsShift()));
  Value blocks = inStepBlocks(rhs, /*isLeft=*/false);
  ContractionBody body{/*lhsUnsigned=*/true};
  if (!isInteger())
    body = {product.lhs.isUnsigned, product.rhs.isUnsigned};
  Value sum =
      createMmt4d(builder, where, lhs, blocks, start(rhs, blocks), layout, body)->getResult(0);
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

} // namespace

Value kdl::buildTiles(OpBuilder &builder, Location where, const Product &product,
                      MmaLayoutAttr layout, LhsForm left) {
  return Tiling(builder, where, product, layout, left).build();
}
