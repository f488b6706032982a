// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/VectorTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace mlir::kdl;

/// Whether LLVM has vectors of the type that lie in memory as its elements do.
static bool hasVectors(Type type) {
  if (isa<IntegerType>(type)) {
    unsigned bits = type.getIntOrFloatBitWidth();
    return bits >= 8 && bits <= 128 && llvm::isPowerOf2_32(bits);
  }
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type, Float128Type>(type);
}

/// Whether a sum of products is computed in the accumulator's type, from extended operands.
static bool isExtended(Type operand, Type acc) {
  return hasVectors(operand) && hasVectors(acc) && isa<FloatType>(operand) == isa<FloatType>(acc) &&
         (operand == acc || operand.getIntOrFloatBitWidth() < acc.getIntOrFloatBitWidth());
}

/// The size of a vector register of a microkernel's CPU.
static int64_t vectorBytesOf(StringRef bitcode, StringRef name) {
  llvm::LLVMContext context;
  auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, name), context);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return 16;
  }
  const llvm::Function *ukernel = (*parsed)->getFunction(name);
  StringRef features =
      ukernel ? ukernel->getFnAttribute("target-features").getValueAsString() : StringRef();
  llvm::Attribute scale =
      ukernel ? ukernel->getFnAttribute(llvm::Attribute::VScaleRange) : llvm::Attribute();
  if (features.contains("+sve") && scale.isValid()) // at least this many times 16 bytes
    return 16 * static_cast<int64_t>(scale.getVScaleRangeMin());
  return features.contains("+avx512f") ? 64 : features.contains("+avx") ? 32 : 16;
}

/// LLVM computes in f32 for these.
static int64_t laneBytes(Type acc) {
  return isa<FloatType>(acc) ? std::max(acc.getIntOrFloatBitWidth() / 8, 4u)
                             : acc.getIntOrFloatBitWidth() / 8;
}

bool kdl::canBeVectors(const MmaProduct &product) {
  return isExtended(product.lhs, product.acc) && isExtended(product.rhs, product.acc);
}

bool kdl::isWholeVectors(Type acc, int64_t columns, int64_t vectorBytes) {
  return columns % std::min(columns, vectorBytes / laneBytes(acc)) == 0;
}

FailureOr<MmaUkernel> kdl::findRegisters(MLIRContext *context, const UkernelSource &source,
                                         std::string &why) {
  Type f32 = Float32Type::get(context);
  MmaProduct likeF32{f32, f32, f32};
  likeF32.target = source.cpu();
  likeF32.mayFixSteps = false;
  return UkernelLibraryAttr::get(context, "").findMmaUkernel(likeF32, why);
}

FailureOr<VectorTile> kdl::findVectorTile(const MmaProduct &product, const UkernelSource &source,
                                          std::string &why) {
  Type acc = product.acc;
  FailureOr<MmaUkernel> ukernel = failure();
  if (!canBeVectors(product) || failed(ukernel = findRegisters(acc.getContext(), source, why)))
    return failure();
  int64_t bytes = vectorBytesOf(ukernel->bitcode, ukernel->kind.ukernel);
  int64_t lanes = bytes / laneBytes(acc), columns = std::max(mmaColumns, 2 * lanes);
  // As many accumulators as for f32; a product of integers has a register of its own before it is
  // added.
  int64_t registers = ukernel->rows * ukernel->columns * 4 / bytes - (isa<FloatType>(acc) ? 0 : 4);
  int64_t rows = std::max<int64_t>(1, registers * lanes / columns);
  return VectorTile{rows, columns, bytes};
}

namespace {

/// Loads, extends and stores vectors of a tile.
struct VectorBuilder {
  OpBuilder &builder;
  Location where;

  Value address(const VectorOperand &operand, Value at) {
    Value offset = arith::AddIOp::create(builder, where, operand.offset, at);
    Value number = arith::IndexCastOp::create(builder, where, builder.getI64Type(), offset);
    return LLVM::GEPOp::create(builder, where, operand.pointer.getType(), operand.element,
                               operand.pointer, ValueRange{number});
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, where, value); }
  Value load(const VectorOperand &operand, Value at, int64_t lanes) {
    Type type = lanes ? Type(VectorType::get({lanes}, operand.element)) : operand.element;
    return LLVM::LoadOp::create(builder, where, type, address(operand, at), alignment(operand));
  }
  void store(Value value, const VectorOperand &operand, Value at) {
    LLVM::StoreOp::create(builder, where, value, address(operand, at), alignment(operand));
  }
  Value extend(Value value, Type element, bool isUnsigned) {
    Type from = getElementTypeOrSelf(value.getType());
    if (from == element)
      return value;
    auto vector = dyn_cast<VectorType>(value.getType());
    Type to = vector ? Type(vector.clone(element)) : element;
    if (isa<FloatType>(element))
      return arith::ExtFOp::create(builder, where, to, value, {});
    return isUnsigned ? Value(arith::ExtUIOp::create(builder, where, to, value))
                      : Value(arith::ExtSIOp::create(builder, where, to, value));
  }
  /// Numbers of 16 bits are rounded after each operation, as in a plain loop.
  Value multiplyAdd(Value a, Value b, Value sum) {
    Type element = getElementTypeOrSelf(sum.getType());
    if (isa<IntegerType>(element))
      return arith::AddIOp::create(builder, where, sum,
                                   arith::MulIOp::create(builder, where, a, b));
    if (element.getIntOrFloatBitWidth() < 32)
      return arith::AddFOp::create(builder, where, sum,
                                   arith::MulFOp::create(builder, where, a, b));
    return vector::FMAOp::create(builder, where, a, b, sum);
  }

private:
  static unsigned alignment(const VectorOperand &operand) {
    return operand.element.getIntOrFloatBitWidth() / 8;
  }
};

} // namespace

void kdl::buildVectorProduct(OpBuilder &builder, Location where, const VectorOperand &lhs,
                             const VectorOperand &rhs, const VectorOperand &acc, Value steps,
                             VectorTile tile, ContractionBody body) {
  VectorBuilder with{builder, where};
  int64_t lanes = std::min(tile.columns, tile.vectorBytes / laneBytes(acc.element));
  int64_t vectors = tile.columns / lanes;
  auto place = [&](int64_t row, int64_t vector) {
    return with.index(row * tile.columns + vector * lanes);
  };
  SmallVector<Value> sums;
  for (int64_t row = 0; row < tile.rows; ++row) {
    for (int64_t vector = 0; vector < vectors; ++vector)
      sums.push_back(with.load(acc, place(row, vector), lanes));
  }
  auto loop = scf::ForOp::create(builder, where, with.index(0), steps, with.index(1), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    auto at = [&](int64_t width, int64_t offset) -> Value {
      Value first = arith::MulIOp::create(builder, where, k, with.index(width));
      return arith::AddIOp::create(builder, where, first, with.index(offset));
    };
    SmallVector<Value> right, next;
    for (int64_t vector = 0; vector < vectors; ++vector)
      right.push_back(with.extend(with.load(rhs, at(tile.columns, vector * lanes), lanes),
                                  acc.element, body.rhsUnsigned));
    for (int64_t row = 0; row < tile.rows; ++row) {
      Value left =
          with.extend(with.load(lhs, at(tile.rows, row), 0), acc.element, body.lhsUnsigned);
      Value all =
          vector::BroadcastOp::create(builder, where, VectorType::get({lanes}, acc.element), left);
      for (int64_t vector = 0; vector < vectors; ++vector)
        next.push_back(
            with.multiplyAdd(all, right[static_cast<size_t>(vector)],
                             loop.getRegionIterArg(static_cast<unsigned>(row * vectors + vector))));
    }
    scf::YieldOp::create(builder, where, next);
  }
  for (int64_t row = 0; row < tile.rows; ++row) {
    for (int64_t vector = 0; vector < vectors; ++vector)
      with.store(loop.getResult(static_cast<unsigned>(row * vectors + vector)), acc,
                 place(row, vector));
  }
}
