// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/Relayout.h"

#include "ukernels/UkernelSelection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::kdl;
using bufferization::BufferizationOptions;
using bufferization::BufferizationState;

namespace {

/// Loops that copy elements between a matrix and its packed form, in either direction. Inner tiles
/// of two dimensions are copied in vectors if one of these is contiguous in the matrix; other
/// tiles, and partial ones at the edges, element by element.
class Relayout {
public:
  Relayout(OpBuilder &builder, Location where, Value plain, Value packed,
           ArrayRef<int64_t> innerDims, ArrayRef<int64_t> outerPermutation, ArrayRef<int64_t> tiles)
      : builder(builder), where(where), plain(plain), packed(packed),
        plainType(cast<MemRefType>(plain.getType())),
        packedType(cast<MemRefType>(packed.getType())), tiles(tiles) {
    for (int64_t dim : innerDims)
      inner.push_back(static_cast<unsigned>(dim));
    for (unsigned dim = 0; dim < plainType.getShape().size(); ++dim)
      outer.push_back(outerPermutation.empty() ? dim
                                               : static_cast<unsigned>(outerPermutation[dim]));
  }

  void pack(Value padding);
  void unpack();

private:
  using Indices = SmallVector<Value>;

  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, where, value); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, where, a, b); }
  Value mul(Value a, Value b) { return arith::MulIOp::create(builder, where, a, b); }
  Value isBelow(Value a, Value b) {
    return arith::CmpIOp::create(builder, where, arith::CmpIPredicate::sle, a, b);
  }
  Value size(unsigned dim) { return memref::DimOp::create(builder, where, plain, dim); }
  Value tile(size_t which) {
    auto dim = static_cast<int64_t>(outer.size() + which);
    return ShapedType::isDynamic(tiles[which])
               ? Value(memref::DimOp::create(builder, where, packed, dim))
               : index(tiles[which]);
  }
  bool isStatic() { return llvm::none_of(tiles, ShapedType::isDynamic); }
  void loop(Value begin, Value end, function_ref<void(Value)> body);
  void loops(ArrayRef<Value> ends, function_ref<void(ArrayRef<Value>)> body, Indices so = {});
  void branch(Value condition, function_ref<void()> yes, function_ref<void()> no);

  bool liesTogether(unsigned dim);
  bool tilesLieTogether();
  Indices place(ArrayRef<Value> outerIndices);
  Value isWhole(ArrayRef<Value> outerIndices, unsigned which);
  Value asIntegers(Value vector);
  void packElements(ArrayRef<Value> outerIndices, Value padding);
  void unpackElements(ArrayRef<Value> outerIndices);
  void packRows(ArrayRef<Value> outerIndices, Value padding = nullptr);
  void packPanels(Value padding);
  void packWords(ArrayRef<Value> rowIndices, Value firstStep, Value padding = nullptr);
  void eachPacked(function_ref<void(ArrayRef<Value>)> body);
  Value flat();

  OpBuilder &builder;
  Location where;
  Value plain, packed;
  MemRefType plainType, packedType;
  SmallVector<unsigned> inner; // dimensions of `plain` that are tiled
  SmallVector<unsigned> outer; // dimension of `plain` for each outer one of `packed`
  SmallVector<int64_t> tiles;
};

void Relayout::loop(Value begin, Value end, function_ref<void(Value)> body) {
  auto made = scf::ForOp::create(builder, where, begin, end, index(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(made.getBody());
  body(made.getInductionVar());
}

void Relayout::loops(ArrayRef<Value> ends, function_ref<void(ArrayRef<Value>)> body, Indices so) {
  if (ends.empty())
    return body(so);
  loop(index(0), ends.front(), [&](Value i) {
    Indices more(so);
    more.push_back(i);
    loops(ends.drop_front(), body, more);
  });
}

void Relayout::branch(Value condition, function_ref<void()> yes, function_ref<void()> no) {
  auto made = scf::IfOp::create(builder, where, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(made.thenBlock());
  yes();
  builder.setInsertionPointToStart(made.elseBlock());
  no();
}

bool Relayout::liesTogether(unsigned dim) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(plainType.getStridesAndOffset(strides, offset)) && strides[dim] == 1 &&
         dim + 1 == strides.size();
}

/// Whether the inner tiles of `packed` are contiguous.
bool Relayout::tilesLieTogether() {
  SmallVector<int64_t> strides;
  int64_t offset, wanted = 1;
  if (failed(packedType.getStridesAndOffset(strides, offset)))
    return false;
  for (size_t i = tiles.size(), dim = strides.size(); i-- > 0; wanted *= tiles[i]) {
    if (strides[--dim] != wanted)
      return false;
  }
  return true;
}

/// `packed` with the inner tiles as one dimension.
Value Relayout::flat() {
  SmallVector<ReassociationIndices> groups;
  auto rank = static_cast<int64_t>(outer.size());
  for (int64_t dim = 0; dim < rank; ++dim)
    groups.push_back({dim});
  groups.push_back({rank, rank + 1});
  return memref::CollapseShapeOp::create(builder, where, packed, groups);
}

void Relayout::eachPacked(function_ref<void(ArrayRef<Value>)> body) {
  Indices ends;
  for (unsigned dim = 0; dim < outer.size(); ++dim)
    ends.push_back(memref::DimOp::create(builder, where, packed, dim));
  loops(ends, body);
}

/// The position of a tile in the matrix.
Relayout::Indices Relayout::place(ArrayRef<Value> outerIndices) {
  Indices at(outer.size());
  for (auto [dim, i] : llvm::zip_equal(outer, outerIndices))
    at[dim] = i;
  for (auto [which, dim] : llvm::enumerate(inner))
    at[dim] = mul(at[dim], tile(which));
  return at;
}

/// Whether the tile is complete along that inner dimension.
Value Relayout::isWhole(ArrayRef<Value> outerIndices, unsigned which) {
  Value begin = place(outerIndices)[inner[which]];
  return isBelow(add(begin, index(tiles[which])), size(inner[which]));
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

void Relayout::packElements(ArrayRef<Value> outerIndices, Value padding) {
  Indices ends, begin = place(outerIndices);
  for (size_t which = 0; which < tiles.size(); ++which)
    ends.push_back(tile(which));
  loops(ends, [&](ArrayRef<Value> in) {
    Indices from(begin), to(outerIndices.begin(), outerIndices.end());
    Value isThere;
    for (auto [dim, i] : llvm::zip_equal(inner, in)) {
      from[dim] = add(from[dim], i);
      Value here =
          arith::CmpIOp::create(builder, where, arith::CmpIPredicate::slt, from[dim], size(dim));
      isThere = isThere ? Value(arith::AndIOp::create(builder, where, isThere, here)) : here;
    }
    to.append(in.begin(), in.end());
    auto store = [&](Value value) { memref::StoreOp::create(builder, where, value, packed, to); };
    auto copy = [&] { store(memref::LoadOp::create(builder, where, plain, from)); };
    if (padding)
      branch(isThere, copy, [&] { store(padding); });
    else
      copy();
  });
}

/// Numbers of 16 bits as integers: LLVM 22 cannot interleave 9, 17 or 25 of bf16 for AVX512-BF16.
Value Relayout::asIntegers(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  unsigned bits = type.getElementTypeBitWidth();
  if (!isa<FloatType>(type.getElementType()) || bits != 16)
    return vector;
  return vector::BitCastOp::create(builder, where, type.clone(builder.getIntegerType(bits)),
                                   vector);
}

/// Packs one step of K0 for a panel: interleaves rows of the matrix. With padding, the panel may be
/// partial.
void Relayout::packRows(ArrayRef<Value> outerIndices, Value padding) {
  auto vector = VectorType::get({tiles[0]}, plainType.getElementType());
  Indices from = place(outerIndices), to(outerIndices.begin(), outerIndices.end());
  SmallVector<Value> rows;
  Value mask, rest;
  if (padding) {
    Value left = arith::SubIOp::create(builder, where, size(inner[0]), from[inner[0]]);
    mask = vector::CreateMaskOp::create(builder, where,
                                        VectorType::get({tiles[0]}, builder.getI1Type()), left);
    rest = vector::BroadcastOp::create(builder, where, vector, padding);
  }
  for (int64_t k = 0; k < tiles[1]; ++k) {
    Indices at(from);
    at[inner[1]] = add(from[inner[1]], index(k));
    Value row =
        padding ? Value(vector::MaskedLoadOp::create(builder, where, vector, plain, at, mask, rest))
                : Value(vector::LoadOp::create(builder, where, vector, plain, at));
    rows.push_back(asIntegers(row));
  }
  while (rows.size() > 1) {
    size_t half = rows.size() / 2;
    for (size_t i = 0; i < half; ++i)
      rows[i] = vector::InterleaveOp::create(builder, where, rows[i], rows[i + half]);
    rows.resize(half);
  }
  to.push_back(index(0));
  auto lines = VectorType::get({tiles[0] * tiles[1]}, vector.getElementType());
  Value interleaved = rows[0];
  if (interleaved.getType() != lines)
    interleaved = vector::BitCastOp::create(builder, where, lines, interleaved);
  vector::StoreOp::create(builder, where, interleaved, flat(), to);
}

/// Packs 16 steps of K0 for all rows of a tile: transposes 16 words of each by four rounds of
/// interleaving halves. With padding, the tile may be partial.
void Relayout::packWords(ArrayRef<Value> rowIndices, Value firstStep, Value padding) {
  constexpr int64_t steps = mmaSteps;
  Type element = plainType.getElementType();
  int64_t bits = element.getIntOrFloatBitWidth() * tiles[1];
  auto line = VectorType::get({steps * tiles[1]}, element);
  auto words = VectorType::get({steps}, builder.getIntegerType(static_cast<unsigned>(bits)));
  Value to = flat();
  Value none = arith::ConstantOp::create(builder, where, builder.getZeroAttr(words));
  Value last, rest;
  if (padding) {
    last = arith::SubIOp::create(builder, where, size(inner[0]), index(1));
    rest = vector::BroadcastOp::create(builder, where, line, padding);
  }
  for (int64_t first = 0; first < tiles[0]; first += steps) {
    int64_t rows = std::min(tiles[0] - first, steps);
    Indices from = place(rowIndices);
    SmallVector<Value> cards(steps, none), dealt(steps);
    from[inner[1]] = mul(firstStep, index(tiles[1]));
    Value begin = from[inner[0]];
    for (int64_t row = 0; row < rows; ++row) {
      Value at = add(begin, index(first + row));
      from[inner[0]] = padding ? arith::MinUIOp::create(builder, where, at, last) : at;
      Value loaded = vector::LoadOp::create(builder, where, line, plain, from);
      if (padding)
        loaded = arith::SelectOp::create(builder, where, isBelow(at, last), loaded, rest);
      cards[static_cast<size_t>(row)] = vector::BitCastOp::create(builder, where, words, loaded);
    }
    for (int turn = 0; turn < 4; ++turn, std::swap(cards, dealt)) {
      for (size_t i = 0; i < steps / 2; ++i) {
        SmallVector<int64_t> low, high;
        for (int64_t lane = 0; lane < steps / 2; ++lane) {
          low.append({lane, steps + lane});
          high.append({steps / 2 + lane, steps + steps / 2 + lane});
        }
        Value a = cards[i], b = cards[i + steps / 2];
        dealt[2 * i] = vector::ShuffleOp::create(builder, where, a, b, low);
        dealt[2 * i + 1] = vector::ShuffleOp::create(builder, where, a, b, high);
      }
    }
    auto mask = vector::CreateMaskOp::create(
        builder, where, VectorType::get({steps * tiles[1]}, builder.getI1Type()),
        ValueRange{index(rows * tiles[1])});
    for (int64_t step = 0; step < steps; ++step) {
      Indices at(rowIndices.begin(), rowIndices.end());
      at.back() = add(firstStep, index(step));
      at.push_back(index(first * tiles[1]));
      Value value =
          vector::BitCastOp::create(builder, where, line, cards[static_cast<size_t>(step)]);
      if (rows == steps)
        vector::StoreOp::create(builder, where, value, to, at);
      else
        vector::MaskedStoreOp::create(builder, where, to, at, mask, value);
    }
  }
}

/// 16 steps of all panels at a time, so that a matrix of long rows is read nearly in order.
void Relayout::packPanels(Value padding) {
  auto steps = static_cast<unsigned>(outer.size()) - 1;
  Indices ends;
  for (unsigned dim = 0; dim < steps; ++dim)
    ends.push_back(memref::DimOp::create(builder, where, packed, dim));
  Value all = memref::DimOp::create(builder, where, packed, steps);
  Value lots = arith::CeilDivUIOp::create(builder, where, all, index(mmaSteps));
  loop(index(0), lots, [&](Value lot) {
    Value begin = mul(lot, index(mmaSteps));
    Value end = arith::MinUIOp::create(builder, where, add(begin, index(mmaSteps)), all);
    loops(ends, [&](ArrayRef<Value> panel) {
      loop(begin, end, [&](Value step) {
        Indices at(panel.begin(), panel.end());
        at.push_back(step);
        auto part = [&] { packElements(at, padding); };
        branch(
            isWhole(at, 1),
            [&] {
              branch(
                  isWhole(at, 0), [&] { packRows(at); },
                  [&] { padding ? packRows(at, padding) : part(); });
            },
            part);
      });
    });
  });
}

void Relayout::pack(Value padding) {
  bool isMatrix = isStatic() && tiles.size() == 2 && outer.back() == inner[1] &&
                  tilesLieTogether() && (tiles[1] == 1 || tiles[1] == 2 || tiles[1] == 4);
  if (isMatrix && liesTogether(inner[0])) {
    packPanels(padding);
    return;
  }
  int64_t length = plainType.getShape()[isMatrix ? inner[1] : 0];
  bool isShort = !ShapedType::isDynamic(length) && length < mmaSteps * tiles.back();
  if (!isMatrix || !liesTogether(inner[1]) || isShort) {
    eachPacked([&](ArrayRef<Value> at) { packElements(at, padding); });
    return;
  }
  // All dimensions but the steps.
  Indices ends;
  for (unsigned dim = 0; dim + 1 < outer.size(); ++dim)
    ends.push_back(memref::DimOp::create(builder, where, packed, dim));
  loops(ends, [&](ArrayRef<Value> rows) {
    Indices at(rows.begin(), rows.end());
    Value allSteps = memref::DimOp::create(builder, where, packed, packedType.getRank() - 3);
    Value lots = arith::DivUIOp::create(builder, where, size(inner[1]), index(mmaSteps * tiles[1]));
    at.push_back(index(0));
    auto pack = [&](Value with) {
      loop(index(0), lots, [&](Value lot) { packWords(at, mul(lot, index(mmaSteps)), with); });
    };
    if (padding)
      branch(isWhole(at, 0), [&] { pack(nullptr); }, [&] { pack(padding); });
    else
      pack(nullptr);
    loop(mul(lots, index(mmaSteps)), allSteps, [&](Value step) {
      at.back() = step;
      packElements(at, padding);
    });
  });
}

//===----------------------------------------------------------------------===//
// Unpacking
//===----------------------------------------------------------------------===//

void Relayout::unpackElements(ArrayRef<Value> outerIndices) {
  Indices ends, begin = place(outerIndices);
  for (auto [which, dim] : llvm::enumerate(inner)) {
    Value left = arith::SubIOp::create(builder, where, size(dim), begin[dim]);
    ends.push_back(arith::MinSIOp::create(builder, where, tile(which), left));
  }
  loops(ends, [&](ArrayRef<Value> in) {
    Indices to(begin), from(outerIndices.begin(), outerIndices.end());
    for (auto [dim, i] : llvm::zip_equal(inner, in))
      to[dim] = add(to[dim], i);
    from.append(in.begin(), in.end());
    Value value = memref::LoadOp::create(builder, where, packed, from);
    memref::StoreOp::create(builder, where, value, plain, to);
  });
}

void Relayout::unpack() {
  SmallVector<int64_t> strides;
  int64_t offset;
  bool byRows = isStatic() && tiles.size() == 2 && liesTogether(inner[1]) &&
                succeeded(packedType.getStridesAndOffset(strides, offset)) && strides.back() == 1;
  eachPacked([&](ArrayRef<Value> at) {
    if (!byRows)
      return unpackElements(at);
    Indices begin = place(at);
    auto copyRow = [&](Value row, int64_t width) {
      auto vector = VectorType::get({width}, plainType.getElementType());
      for (int64_t column = 0; column < tiles[1]; column += width) {
        Indices from(at.begin(), at.end()), to(begin);
        from.append({row, index(column)});
        to[inner[0]] = add(begin[inner[0]], row);
        to[inner[1]] = add(begin[inner[1]], index(column));
        Value value = vector::LoadOp::create(builder, where, vector, packed, from);
        vector::StoreOp::create(builder, where, value, plain, to);
      }
    };
    auto copyRows = [&] {
      Value left = arith::SubIOp::create(builder, where, size(inner[0]), begin[inner[0]]);
      Value end = arith::MinSIOp::create(builder, where, tile(0), left);
      loop(index(0), end, [&](Value row) { copyRow(row, tiles[1]); });
    };
    // The vectors of a full tile, as the microkernel stored them: from registers to the matrix.
    constexpr int64_t mostSums = 512;
    bool isSmall = tiles[1] % mmaColumns == 0 && tiles[0] * tiles[1] <= mostSums;
    auto copyTile = [&] {
      for (int64_t row = 0; row < tiles[0]; ++row)
        copyRow(index(row), mmaColumns);
    };
    branch(
        isWhole(at, 1), [&] { isSmall ? branch(isWhole(at, 0), copyTile, copyRows) : copyRows(); },
        [&] { unpackElements(at); });
  });
}

void lower(OpBuilder &builder, linalg::PackOp op, Value source, Value dest) {
  Relayout(builder, op.getLoc(), source, dest, op.getInnerDimsPos(), op.getOuterDimsPerm(),
           op.getStaticTiles())
      .pack(op.getPaddingValue());
}

void lower(OpBuilder &builder, linalg::UnPackOp op, Value source, Value dest) {
  Relayout(builder, op.getLoc(), dest, source, op.getInnerDimsPos(), op.getOuterDimsPerm(),
           op.getStaticTiles())
      .unpack();
}

template <typename Op> void lowerOnMemrefs(Operation *root) {
  root->walk([](Op op) {
    if (!isa<MemRefType>(op.getSource().getType()))
      return;
    OpBuilder builder(op);
    lower(builder, op, op.getSource(), op.getDest());
    op.erase();
  });
}

//===----------------------------------------------------------------------===//
// Bufferization
//===----------------------------------------------------------------------===//

/// The destination is written in full, and never read.
template <typename Model, typename Op>
struct RelayoutModel : public bufferization::DstBufferizableOpInterfaceExternalModel<Model, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options, BufferizationState &state) const {
    auto relayout = cast<Op>(op);
    FailureOr<Value> source =
        bufferization::getBuffer(rewriter, relayout.getSource(), options, state);
    FailureOr<Value> dest = bufferization::getBuffer(rewriter, relayout.getDest(), options, state);
    if (failed(source) || failed(dest))
      return failure();
    lower(rewriter, relayout, *source, *dest);
    bufferization::replaceOpWithBufferizedValues(rewriter, op, *dest);
    return success();
  }
};

struct PackModel : public RelayoutModel<PackModel, linalg::PackOp> {};
struct UnPackModel : public RelayoutModel<UnPackModel, linalg::UnPackOp> {};

} // namespace

void kdl::registerRelayoutBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    linalg::PackOp::attachInterface<PackModel>(*context);
    linalg::UnPackOp::attachInterface<UnPackModel>(*context);
    // The dialects that bufferization creates.
    context->loadDialect<arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect,
                         vector::VectorDialect>();
  });
}

void kdl::lowerRelayouts(Operation *root) {
  lowerOnMemrefs<linalg::PackOp>(root);
  lowerOnMemrefs<linalg::UnPackOp>(root);
}
