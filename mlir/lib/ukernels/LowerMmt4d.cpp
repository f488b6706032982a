// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dialect.h"
#include "Passes.h"
#include "Transforms.h"
#include "ukernels/AccumulatorInit.h"
#include "ukernels/Contraction.h"
#include "ukernels/GpuContractions.h"
#include "ukernels/GpuUkernels.h"
#include "ukernels/Relayout.h"
#include "ukernels/UkernelLibrary.h"
#include "ukernels/UkernelLink.h"
#include "ukernels/UkernelObjects.h"
#include "ukernels/UkernelSelection.h"
#include "ukernels/VectorTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLOWERMMT4DTOUKERNELS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

constexpr int64_t columns = mmaColumns;
constexpr int64_t tileSteps = mmaSteps;
constexpr int64_t tileRows = 32, tileColumns = 32; // of the result, in AMX registers

/// Builds the loops of one product of matrices, without a batch.
class Lowering {
public:
  Lowering(OpBuilder &builder, Location where, ArrayRef<Value> operands, const Mmt4d &found,
           func::FuncOp ukernel)
      : kind(found.kind), body(found.body), vectorBytes(found.vectorBytes), ukernel(ukernel),
        builder(builder), where(where), lhs(operands[0]), rhs(operands[1]), acc(operands[2]),
        m0(shape(lhs, 2)), n0(shape(rhs, found.inStepBlocks ? 3 : 2)),
        lot(found.inStepBlocks ? shape(lhs, 3) : 1) {}

  void lower(bool withTiles);

private:
  static int64_t shape(Value memref, unsigned i) {
    return cast<MemRefType>(memref.getType()).getDimSize(i);
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, where, value); }
  Value word(int64_t value) {
    return arith::ConstantIntOp::create(builder, where, builder.getI32Type(), value);
  }
  Value dim(Value memref, unsigned i) { return memref::DimOp::create(builder, where, memref, i); }
  Value mul(Value a, Value b) { return arith::MulIOp::create(builder, where, a, b); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, where, a, b); }
  void loop(Value end, function_ref<void(Value)> body);
  Value pointer(Value memref);
  memref::ExtractStridedMetadataOp layout(Value memref) {
    return memref::ExtractStridedMetadataOp::create(builder, where, memref);
  }
  Value allocate(MemRefType type, ValueRange sizes);
  Value convert(Value value);
  Value convertLeft();
  Value sumColumns(Value steps);
  void subtract(Value sums, Value n, Value result, Value resultOffset);
  Value loadUpTo(Value end, Value k, function_ref<Value(Value)> load);
  Value packLeft(Value blocks);
  Value packRest();
  void call(ArrayRef<Value> pointers, ArrayRef<Value> offsets, Value steps, int64_t rows,
            int64_t intrinsicsK);
  void multiply(Value left, Value leftOffset, Value n, Value result, Value resultOffset,
                int64_t rows);

  MmaKind kind;
  ContractionBody body;
  int64_t vectorBytes;
  func::FuncOp ukernel;
  OpBuilder &builder;
  Location where;
  Value lhs, rhs, acc;
  int64_t m0, n0, lot; // lot: steps of K per k1
  Value k1, n1;
  Value right, rightBegin, rightPanel; // the right operand: pointer, offset, panel stride
  Value wholeBlocks, rest, hasRest;    // with tiles: blocks of 16 steps; what remains
  SmallVector<Value> temporaries;
};

void Lowering::loop(Value end, function_ref<void(Value)> body) {
  auto made = scf::ForOp::create(builder, where, index(0), end, index(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(made.getBody());
  body(made.getInductionVar());
}

/// The address that offsets are relative to.
Value Lowering::pointer(Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, where, memref);
  Value number = arith::IndexCastOp::create(builder, where, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(builder, where, LLVM::LLVMPointerType::get(builder.getContext()),
                                  number);
}

Value Lowering::allocate(MemRefType type, ValueRange sizes) {
  temporaries.push_back(memref::AllocOp::create(builder, where, type, sizes));
  return temporaries.back();
}

/// Converts an element of the left operand to the microkernel's type.
Value Lowering::convert(Value value) {
  if (kind.left == LhsForm::F32)
    return arith::ExtFOp::create(builder, where, builder.getF32Type(), value, {});
  if (kind.left == LhsForm::Unchanged)
    return value;
  Value high = arith::ConstantIntOp::create(builder, where, builder.getI8Type(), -128);
  return arith::XOrIOp::create(builder, where, value, high);
}

/// One loop over the operand, which LLVM vectorises.
Value Lowering::convertLeft() {
  Type from = cast<MemRefType>(lhs.getType()).getElementType();
  Type to = kind.left == LhsForm::F32 ? builder.getF32Type() : from;
  Value rows = dim(lhs, 0), length = mul(k1, index(m0 * kind.values));
  int64_t dynamic = ShapedType::kDynamic;
  memref::ExtractStridedMetadataOp from4d = layout(lhs);
  auto flatType = MemRefType::get(
      {dynamic, dynamic}, from,
      StridedLayoutAttr::get(builder.getContext(), dynamic, ArrayRef<int64_t>{dynamic, 1}));
  Value flat = memref::ReinterpretCastOp::create(
      builder, where, flatType, lhs, OpFoldResult(from4d.getOffset()),
      ArrayRef<OpFoldResult>{rows, length},
      ArrayRef<OpFoldResult>{from4d.getStrides()[0], builder.getIndexAttr(1)});
  Value made = allocate(MemRefType::get({dynamic, dynamic}, to), ValueRange{rows, length});
  loop(rows, [&](Value m) {
    loop(length, [&](Value i) {
      Value value = memref::LoadOp::create(builder, where, flat, ValueRange{m, i});
      memref::StoreOp::create(builder, where, convert(value), made, ValueRange{m, i});
    });
  });
  return made;
}

/// 128 times the sum over K of each column of the right operand: what the shift of the left one
/// adds to the result. The microkernel computes it for a row of zeros, shifted. Returns a pointer.
Value Lowering::sumColumns(Value steps) {
  int64_t dynamic = ShapedType::kDynamic;
  Value zeros = allocate(MemRefType::get({dynamic}, builder.getI8Type()),
                         ValueRange{mul(steps, index(kind.values))});
  Value zero = arith::ConstantIntOp::create(builder, where, builder.getI8Type(), 0);
  loop(dim(zeros, 0),
       [&](Value i) { memref::StoreOp::create(builder, where, convert(zero), zeros, i); });
  Value made = allocate(MemRefType::get({dynamic, n0}, builder.getI32Type()), n1);
  Value left = pointer(zeros), result = pointer(made);
  loop(n1, [&](Value n) {
    loop(index(n0), [&](Value column) {
      memref::StoreOp::create(builder, where, word(0), made, ValueRange{n, column});
    });
    multiply(left, index(0), n, result, mul(n, index(n0)), /*rows=*/1);
  });
  return result;
}

/// Subtracts the sums of a panel's columns from a tile, along rows: LLVM would use columns.
void Lowering::subtract(Value sums, Value n, Value result, Value resultOffset) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto vector = VectorType::get({columns}, i32);
  auto at = [&](Value base, Value offset) -> Value {
    Value number = arith::IndexCastOp::create(builder, where, i64, offset);
    return LLVM::GEPOp::create(builder, where, base.getType(), i32, base, ValueRange{number});
  };
  auto load = [&](Value from) -> Value {
    return LLVM::LoadOp::create(builder, where, vector, from, /*alignment=*/4);
  };
  loop(index(m0), [&](Value row) {
    Value place = add(resultOffset, mul(row, index(n0)));
    loop(index(n0 / columns), [&](Value i) {
      Value column = mul(i, index(columns));
      Value to = at(result, add(place, column));
      Value sum = load(at(sums, add(mul(n, index(n0)), column)));
      Value value = arith::SubIOp::create(builder, where, load(to), sum);
      LLVM::StoreOp::create(builder, where, value, to, /*alignment=*/4);
    });
  });
}

void Lowering::call(ArrayRef<Value> pointers, ArrayRef<Value> offsets, Value steps, int64_t rows,
                    int64_t intrinsicsK) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  SmallVector<Value> arguments;
  for (auto [base, offset] : llvm::zip_equal(pointers, offsets)) {
    arguments.push_back(base);
    arguments.push_back(arith::IndexCastOp::create(builder, where, i64, offset));
  }
  arguments.append({arith::IndexCastOp::create(builder, where, i32, steps), word(rows),
                    word(n0 / columns), word(intrinsicsK)});
  func::CallOp::create(builder, where, ukernel, arguments);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

// mmt4d has one step along K after another for all rows; an AMX tile has 16 consecutive steps of
// each row. The right operand already has that layout. So the left one is packed again, with zeros
// up to a multiple of 16 steps; of the right one, the remaining steps are copied, because other
// data follows them.

/// What `load` returns at k, or zero if k is not below the end.
Value Lowering::loadUpTo(Value end, Value k, function_ref<Value(Value)> load) {
  Value last = arith::SubIOp::create(builder, where, end, index(1));
  Value value = load(arith::MinUIOp::create(builder, where, k, last));
  Value isIn = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::ult, k, end);
  Value zero = arith::ConstantOp::create(builder, where, builder.getZeroAttr(value.getType()));
  return arith::SelectOp::create(builder, where, isIn, value, zero);
}

Value Lowering::packLeft(Value blocks) {
  int64_t dynamic = ShapedType::kDynamic;
  Type element = cast<MemRefType>(lhs.getType()).getElementType();
  auto type = MemRefType::get({dynamic, dynamic, m0, tileSteps, kind.values}, element);
  Value m1 = dim(lhs, 0);
  Value made = allocate(type, ValueRange{m1, blocks});
  loop(m1, [&](Value m) {
    loop(blocks, [&](Value block) {
      loop(index(m0), [&](Value row) {
        loop(index(tileSteps), [&](Value step) {
          Value k = add(mul(block, index(tileSteps)), step);
          loop(index(kind.values), [&](Value d) {
            Value value = loadUpTo(k1, k, [&](Value at) {
              return convert(
                  memref::LoadOp::create(builder, where, lhs, ValueRange{m, at, row, d}));
            });
            memref::StoreOp::create(builder, where, value, made,
                                    ValueRange{m, block, row, step, d});
          });
        });
      });
    });
  });
  return made;
}

/// [n][0 or 1][16][n0][k0]: empty if K is a multiple of 16 steps.
Value Lowering::packRest() {
  int64_t dynamic = ShapedType::kDynamic;
  Type element = cast<MemRefType>(rhs.getType()).getElementType();
  auto type = MemRefType::get({dynamic, dynamic, tileSteps, n0, kind.values}, element);
  Value made = allocate(type, ValueRange{n1, hasRest});
  loop(n1, [&](Value n) {
    loop(hasRest, [&](Value block) {
      loop(index(tileSteps), [&](Value step) {
        Value k = add(mul(wholeBlocks, index(tileSteps)), step);
        loop(index(n0), [&](Value column) {
          loop(index(kind.values), [&](Value d) {
            Value value = loadUpTo(k1, k, [&](Value at) -> Value {
              return memref::LoadOp::create(builder, where, rhs, ValueRange{n, at, column, d});
            });
            memref::StoreOp::create(builder, where, value, made,
                                    ValueRange{n, block, step, column, d});
          });
        });
      });
    });
  });
  return made;
}

//===----------------------------------------------------------------------===//
// The loops
//===----------------------------------------------------------------------===//

/// Adds the product of the left operand at an offset and a panel of the right one to a tile.
void Lowering::multiply(Value left, Value leftOffset, Value n, Value result, Value resultOffset,
                        int64_t rows) {
  Value panel = add(rightBegin, mul(n, rightPanel));
  if (vectorBytes) {
    auto operand = [](Value memref, Value pointer, Value offset) {
      return VectorOperand{pointer, offset, cast<MemRefType>(memref.getType()).getElementType()};
    };
    return buildVectorProduct(builder, where, operand(lhs, left, leftOffset),
                              operand(rhs, right, panel), operand(acc, result, resultOffset), k1,
                              {rows, n0, vectorBytes}, body);
  }
  if (!rest) {
    call({left, right, result}, {leftOffset, panel, resultOffset}, k1, rows, lot);
    return;
  }
  call({left, right, result}, {leftOffset, panel, resultOffset}, wholeBlocks, rows, tileSteps);
  loop(hasRest, [&](Value) {
    Value last = add(leftOffset, mul(wholeBlocks, index(rows * tileSteps * kind.values)));
    Value restPanel = mul(n, index(tileSteps * n0 * kind.values));
    call({left, rest, result}, {last, restPanel, resultOffset}, index(1), rows, tileSteps);
  });
}

void Lowering::lower(bool withTiles) {
  k1 = dim(lhs, 1);
  n1 = dim(rhs, 0);
  right = pointer(rhs);
  memref::ExtractStridedMetadataOp rightLayout = layout(rhs), result4d = layout(acc);
  rightBegin = rightLayout.getOffset();
  rightPanel = rightLayout.getStrides()[0];
  Value operand = lhs, steps = k1; // of the left operand, with its padding
  if (withTiles) {
    Value blocks = arith::CeilDivUIOp::create(builder, where, k1, index(tileSteps));
    wholeBlocks = arith::DivUIOp::create(builder, where, k1, index(tileSteps));
    hasRest = arith::SubIOp::create(builder, where, blocks, wholeBlocks);
    operand = packLeft(blocks);
    rest = pointer(packRest());
    steps = mul(blocks, index(tileSteps));
  } else if (kind.left != LhsForm::Unchanged) {
    operand = convertLeft();
  }
  Value sums = kind.left == LhsForm::Unsigned ? sumColumns(steps) : Value();
  Value left = pointer(operand), result = pointer(acc);
  memref::ExtractStridedMetadataOp leftLayout = layout(operand);
  loop(dim(lhs, 0), [&](Value m) {
    loop(n1, [&](Value n) {
      Value resultOffset = add(result4d.getOffset(), add(mul(m, result4d.getStrides()[0]),
                                                         mul(n, result4d.getStrides()[1])));
      if (sums)
        subtract(sums, n, result, resultOffset);
      Value leftOffset = add(leftLayout.getOffset(), mul(m, leftLayout.getStrides()[0]));
      multiply(left, leftOffset, n, result, resultOffset, m0);
    });
  });
  for (Value temporary : temporaries)
    memref::DeallocOp::create(builder, where, temporary);
}

//===----------------------------------------------------------------------===//
// The pattern
//===----------------------------------------------------------------------===//

/// Whether the dimensions after the first `outer` ones are contiguous.
bool innerLiesTogether(MemRefType type, size_t outer) {
  SmallVector<int64_t> strides;
  int64_t offset, wanted = 1;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  for (size_t dim = strides.size(); dim-- > outer; wanted *= type.getShape()[dim]) {
    if (strides[dim] != wanted)
      return false;
  }
  return true;
}

std::optional<Mmt4d> checkShapes(linalg::LinalgOp op, std::string &why) {
  SmallVector<MemRefType> types;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type) {
      why = "found operands that are no memrefs: bufferize first";
      return std::nullopt;
    }
    types.push_back(type);
  }
  std::optional<Mmt4d> found = matchMmt4d(op);
  if (!found) {
    why = explainTypes(describeProduct(op));
    return std::nullopt;
  }
  ArrayRef<int64_t> left = types[0].getShape().take_back(found->inStepBlocks ? 3 : 2),
                    right = types[1].getShape().take_back(found->inStepBlocks ? 3 : 2);
  int64_t m0 = left[0], n0 = right[right.size() - 2], k0 = left.back();
  bool hasLot = !found->inStepBlocks || (left[1] == right[0] && !ShapedType::isDynamic(left[1]));
  if (ShapedType::isDynamic(m0) || ShapedType::isDynamic(n0) || k0 != found->kind.values ||
      right.back() != k0 || n0 % columns != 0 || !hasLot) {
    auto size = [](int64_t n) { return ShapedType::isDynamic(n) ? "?" : std::to_string(n); };
    llvm::raw_string_ostream words(why);
    words << "found tiles of M0 = " << size(m0) << ", N0 = " << size(n0) << ", K0 = " << size(k0)
          << ", expected them static, N0 a multiple of " << columns
          << " and K0 = " << found->kind.values;
    return std::nullopt;
  }
  size_t first = found->hasBatch ? 1 : 0;
  if (!innerLiesTogether(types[0], first + 1) || !innerLiesTogether(types[1], first + 1) ||
      !innerLiesTogether(types[2], first + 2)) {
    why = "found operands whose tiles are not one behind the other in memory";
    return std::nullopt;
  }
  return found;
}

/// Whether a microkernel can be called that takes 16 steps at a time: the operands have them side
/// by side, or can be packed so.
bool mayFixSteps(linalg::LinalgOp op, const Mmt4d &found) {
  auto type = [&](unsigned operand) { return cast<MemRefType>(op->getOperand(operand).getType()); };
  int64_t rows = type(2).getShape().take_back(2)[0], width = type(2).getShape().back();
  if (rows > tileRows || width > tileColumns)
    return false;
  return found.inStepBlocks ? type(0).getShape().take_back(2)[0] == tileSteps
                            : found.kind.values > 1;
}

/// A batch is a loop around the product.
void lowerProduct(RewriterBase &builder, linalg::LinalgOp op, const Mmt4d &found,
                  func::FuncOp ukernel) {
  unrollAccumulatorInit(builder, op);
  builder.setInsertionPoint(op);
  Location where = op.getLoc();
  SmallVector<Value> operands(op->getOperands());
  if (found.hasBatch) {
    auto index = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, where, value);
    };
    Value end = memref::DimOp::create(builder, where, operands[0], 0);
    auto made = scf::ForOp::create(builder, where, index(0), end, index(1));
    builder.setInsertionPointToStart(made.getBody());
    for (Value &operand : operands) {
      auto type = cast<MemRefType>(operand.getType());
      SmallVector<OpFoldResult> offsets(type.getShape().size(), builder.getIndexAttr(0)),
          sizes = memref::getMixedSizes(builder, where, operand),
          ones(offsets.size(), builder.getIndexAttr(1));
      offsets[0] = made.getInductionVar();
      sizes[0] = builder.getIndexAttr(1);
      auto reduced = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
          type.getShape().drop_front(), type, offsets, sizes, ones));
      operand = memref::SubViewOp::create(builder, where, reduced, operand, offsets, sizes, ones);
    }
  }
  bool repacks = ukernel->hasAttr(tilesAttr) && !found.inStepBlocks;
  Lowering(builder, where, operands, found, ukernel).lower(repacks);
  builder.eraseOp(op);
}

/// The declarations of microkernels that products call.
class Declarations {
public:
  explicit Declarations(LowerMmt4dOptions options)
      : source{std::move(options.library), std::move(options.target)} {}

  /// A function of that name with bitcode in the module is the user's, and has precedence.
  /// Without a product, it is the one that stands for the CPU's registers (findRegisters).
  func::FuncOp get(ModuleOp module, const MmaProduct *product, StringRef name, bool hasLayout,
                   std::string &why);

private:
  UkernelSource source;
  llvm::SmallPtrSet<Operation *, 4> declared;
};

func::FuncOp Declarations::get(ModuleOp module, const MmaProduct *product, StringRef name,
                               bool hasLayout, std::string &why) {
  FailureOr<func::FuncOp> known = findFunction(module, name, why);
  if (failed(known))
    return nullptr;
  if (*known && !declared.contains(*known)) {
    if (StringRef bitcode = bitcodeOf(*known); !bitcode.empty())
      return succeeded(checkLayout(bitcode, name, why)) ? *known : nullptr;
    why = ("found a function " + name + " without " + bitcodeAttr).str();
    return nullptr;
  }
  FailureOr<MmaUkernel> ukernel = product ? findProvidedUkernel(module, *product, source, why)
                                          : findRegisters(module.getContext(), source, why);
  if (failed(ukernel))
    return nullptr;
  if (hasLayout && ukernel->kind.ukernel != name) {
    why = ("found the layout of " + name + ", and " + ukernel->kind.ukernel + " from the provider")
              .str();
    return nullptr;
  }
  std::string own = ukernel->fixesSteps ? (name + "_tiles").str() : name.str();
  if (auto made = module.lookupSymbol<func::FuncOp>(own))
    return made;
  func::FuncOp made = declareUkernel(module, own, *ukernel);
  declared.insert(made);
  return made;
}

/// What a product in tiles calls, or why it is not lowered.
struct Callee {
  std::optional<Mmt4d> found;
  func::FuncOp ukernel;
  std::string why;
  bool isOwn = false; // of the module
};

Callee findCallee(linalg::LinalgOp op, Declarations &declarations, bool hasGpu) {
  Callee callee;
  callee.found = checkShapes(op, callee.why);
  if (!callee.found)
    return callee;
  const Mmt4d &found = *callee.found;
  auto module = op->getParentOfType<ModuleOp>();
  if (auto gpuModule = op->getParentOfType<gpu::GPUModuleOp>()) {
    callee.ukernel = findGpuUkernel(gpuModule, op, found.kind, callee.why);
    callee.isOwn = gpuModule.lookupSymbol(found.kind.ukernel) != nullptr;
  } else if (hasGpu) {
    callee.why = "found tiles for a CPU, expected a product that is not tiled: the kernels of GPUs "
                 "do that themselves";
  } else if (found.vectorBytes) {
    // Code in vectors is compiled for the CPU of the microkernel for f32, which it does not call.
    Type f32 = Float32Type::get(op.getContext());
    callee.ukernel = declarations.get(module, nullptr, getMmaKind({f32, f32, f32})->ukernel,
                                      /*hasLayout=*/false, callee.why);
  } else {
    MmaProduct product = describeProduct(op);
    if (product.lhs.isF32() && product.rhs.isF16())
      product.lhs = product.rhs; // it was converted
    product.mayFixSteps = mayFixSteps(op, found);
    callee.ukernel =
        declarations.get(module, &product, found.kind.ukernel, op->hasAttr(layoutAttr), callee.why);
    callee.isOwn = findOwnUkernel(module, found.kind.ukernel) != nullptr;
    if (!callee.ukernel && !callee.isOwn && !isBuiltinUkernel(found.kind.ukernel) &&
        !module->hasAttr(providerAttr))
      callee.why = explainTypes(product);
  }
  return callee;
}

struct LowerProduct : public OpInterfaceRewritePattern<linalg::LinalgOp> {
  LowerProduct(MLIRContext *context, const LowerMmt4dOptions &options)
      : OpInterfaceRewritePattern(context), hasGpu(hasGpuTarget(options.target)),
        declarations(std::make_shared<Declarations>(options)) {}

  LogicalResult matchAndRewrite(linalg::LinalgOp op, PatternRewriter &rewriter) const override {
    if (!isMmt4d(op) || !op->getParentOfType<ModuleOp>())
      return rewriter.notifyMatchFailure(op, "not a product in tiles in a module");
    Callee callee = findCallee(op, *declarations, hasGpu);
    if (!callee.ukernel)
      return rewriter.notifyMatchFailure(op, callee.why);
    lowerProduct(rewriter, op, *callee.found, callee.ukernel);
    return success();
  }

private:
  bool hasGpu;
  std::shared_ptr<Declarations> declarations; // of all products of a pass
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct LowerMmt4d : public kdl::impl::KdlLowerMmt4dToUkernelsBase<LowerMmt4d> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    UkernelSource source{library.getValue(), target.getValue()};
    return hasGpuTarget(target) ? checkGpuTargets(context, getArgument(), source)
                                : checkUkernelSource(context, getArgument(), source);
  }

  void runOnOperation() override {
    if (hasGpuTarget(target) &&
        failed(lowerGpuContractions(getOperation(), {library.getValue(), target.getValue()},
                                    {hostMemory, noSilentFallback})))
      return signalPassFailure();
    if (failed(checkProvider(getOperation())))
      return signalPassFailure();
    lowerRelayouts(getOperation());
    SmallVector<Operation *> products;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (isMmt4d(op))
        products.push_back(op);
    });
    LowerMmt4dOptions options{library.getValue(), target.getValue()};
    RewritePatternSet patterns(&getContext());
    populateLowerMmt4dPatterns(patterns, options);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingOps).enableFolding(false);
    (void)applyOpPatternsGreedily(products, std::move(patterns), config);
    Declarations declarations(options);
    getOperation().walk([&](linalg::LinalgOp op) {
      if (isMmt4d(op))
        report(op, findCallee(op, declarations, hasGpuTarget(target)));
    });
  }

private:
  void report(linalg::LinalgOp op, const Callee &callee) {
    if (!callee.isOwn && !noSilentFallback) {
      op.emitRemark("stays ") << op->getName().getStringRef() << ": " << callee.why;
      return;
    }
    op.emitError(op->getName().getStringRef())
        << (callee.isOwn ? ": the module's own microkernel: " : " has no microkernel: ")
        << callee.why;
    signalPassFailure();
  }
};

} // namespace

void kdl::populateLowerMmt4dPatterns(RewritePatternSet &patterns,
                                     const LowerMmt4dOptions &options) {
  patterns.add<LowerProduct>(patterns.getContext(), options);
}
