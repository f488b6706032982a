// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dialect.h"
#include "Passes.h"
#include "ukernels/UkernelLink.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <kdl/kdl.h>

#include <dlfcn.h>

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLOWERMMT4DTOUKERNELS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

constexpr int64_t columns = 16;                    // kdl_mma_columns of <kdl/mma.h>
constexpr int64_t tileSteps = 16;                  // kdl_mma_steps
constexpr int64_t tileRows = 32, tileColumns = 32; // of the result, in the registers of AMX

//===----------------------------------------------------------------------===//
// Microkernels
//===----------------------------------------------------------------------===//

struct Variant {
  std::string bitcode;
  std::string tag;
  bool takesTiles; // 16 steps along K at a time, as AMX has them
};

/// The library beside this plugin or program: lib/KdlMLIR.so, bin/kdl-mlir,
/// lib/kdl/ukernels.offload.
std::string findLibrary() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&findLibrary), &info) || !info.dli_fname)
    return "";
  SmallString<256> self;
  if (llvm::sys::fs::real_path(info.dli_fname, self))
    return "";
  StringRef folder = llvm::sys::path::parent_path(self);
  for (StringRef from : {"kdl", "../lib/kdl"}) {
    SmallString<256> path(folder);
    llvm::sys::path::append(path, from, "ukernels.offload");
    if (llvm::sys::fs::exists(path))
      return std::string(path);
  }
  return "";
}

/// The first image in rank order that may run on the device and has the microkernel.
struct Search {
  kdl_library *library;
  std::string key;
  bool mayTakeTiles;
  std::optional<size_t> image;
  bool takesTiles = false;
};

int visitImage(void *user, const kdl_verdict *verdict) {
  auto *search = static_cast<Search *>(user);
  // What is linked here does not need libkdl's linker.
  bool wantsLinkerOnly =
      verdict->reason_count == 1 && StringRef(verdict->reasons[0].code) == "linker_missing";
  bool isEligible = verdict->eligible || wantsLinkerOnly;
  if (!isEligible || !kdl_image_value(search->library, verdict->image, search->key.c_str()))
    return 0;
  const kdl_string *needs = kdl_image_value(search->library, verdict->image, "requires_features");
  search->takesTiles = needs && StringRef(needs->data, needs->length).contains("amx_tile");
  if (search->takesTiles && !search->mayTakeTiles)
    return 0;
  search->image = verdict->image;
  return 1;
}

/// The best variant of the library for the target; otherwise what is wrong.
FailureOr<Variant> findVariant(StringRef name, const std::string &path, const std::string &target,
                               bool mayTakeTiles, std::string &why) {
  kdl_library *library = nullptr;
  kdl_device *device = nullptr;
  if (path.empty()) {
    why = "found no library of microkernels (library=FILE)";
    return failure();
  }
  kdl_open_opts asItStands{sizeof(kdl_open_opts), nullptr, KDL_OPEN_FILE};
  if (kdl_open(path.c_str(), &asItStands, &library) != KDL_OK ||
      kdl_device_find(target.c_str(), &device) != KDL_OK) {
    why = kdl_error_message();
    kdl_close(library);
    return failure();
  }
  llvm::scope_exit close([&] { kdl_close(library); });
  Search search{library, ("kdl.ukernel." + name).str(), mayTakeTiles, std::nullopt};
  const void *bytes = nullptr;
  size_t size = 0;
  if (kdl_explain(library, device, nullptr, nullptr, visitImage, &search) != KDL_OK ||
      !search.image) {
    why = ("found no " + name + " for " + target + " in " + path).str();
    return failure();
  }
  if (kdl_image_bytes(library, *search.image, &bytes, &size) != KDL_OK) {
    why = kdl_error_message();
    return failure();
  }
  StringRef bitcode(static_cast<const char *>(bytes), size);
  if (failed(checkLayout(bitcode, name, why))) {
    why = (path + ", image " + Twine(*search.image) + ": " + why).str();
    return failure();
  }
  const kdl_string *tag = kdl_image_value(library, *search.image, "variant_tag");
  return Variant{bitcode.str(), tag ? std::string(tag->data, tag->length) : "", search.takesTiles};
}

//===----------------------------------------------------------------------===//
// One mmt4d
//===----------------------------------------------------------------------===//

/// How the microkernel takes the left operand, where it is not as it stands.
enum class Left {
  AsItIs,
  Unsigned, // bytes + 128: what that adds to the result is taken off
  F32,
};

struct Kind {
  StringLiteral ukernel;
  int64_t k0;
  Left left;
};

std::optional<Kind> kindOf(Type lhs, Type rhs, Type acc) {
  if (lhs.isBF16() && rhs.isBF16() && acc.isF32())
    return Kind{"kdl_uk_mma_f32_bf16", 2, Left::AsItIs};
  if (lhs.isInteger(8) && rhs.isInteger(8) && acc.isInteger(32))
    return Kind{"kdl_uk_mma_s32_u8s8", 4, Left::Unsigned};
  if (lhs.isF32() && rhs.isF32() && acc.isF32())
    return Kind{"kdl_uk_mma_f32_f32", 1, Left::AsItIs};
  if (lhs.isF16() && rhs.isF16() && acc.isF32())
    return Kind{"kdl_uk_mma_f32_f16", 1, Left::F32};
  return std::nullopt;
}

/// Builds the loops in place of the operation.
class Lowering {
public:
  Lowering(linalg::Mmt4DOp op, Kind kind, func::FuncOp ukernel)
      : op(op), kind(kind), ukernel(ukernel), builder(op), where(op.getLoc()),
        lhs(op.getInputs()[0]), rhs(op.getInputs()[1]), acc(op.getOutputs()[0]), m0(shape(lhs, 2)),
        n0(shape(rhs, 2)) {}

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

  linalg::Mmt4DOp op;
  Kind kind;
  func::FuncOp ukernel;
  OpBuilder builder;
  Location where;
  Value lhs, rhs, acc;
  int64_t m0, n0;
  Value k1, n1;
  Value right;                      // pointer to the right operand
  Value wholeBlocks, rest, hasRest; // with tiles: blocks of 16 steps; what is left over, if any
  SmallVector<Value> temporaries;
};

void Lowering::loop(Value end, function_ref<void(Value)> body) {
  auto made = scf::ForOp::create(builder, where, index(0), end, index(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(made.getBody());
  body(made.getInductionVar());
}

/// To the first element; the layout is the identity.
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

/// An element of the left operand as the microkernel takes it.
Value Lowering::convert(Value value) {
  if (kind.left == Left::F32)
    return arith::ExtFOp::create(builder, where, builder.getF32Type(), value);
  if (kind.left == Left::AsItIs)
    return value;
  Value high = arith::ConstantIntOp::create(builder, where, builder.getI8Type(), -128);
  return arith::XOrIOp::create(builder, where, value, high);
}

/// One loop over all of it, which LLVM makes vectors of.
Value Lowering::convertLeft() {
  Type from = cast<MemRefType>(lhs.getType()).getElementType();
  Type to = kind.left == Left::F32 ? builder.getF32Type() : from;
  Value count = mul(mul(dim(lhs, 0), k1), index(m0 * kind.k0));
  int64_t dynamic = ShapedType::kDynamic;
  Value flat = memref::ReinterpretCastOp::create(
      builder, where, MemRefType::get({dynamic}, from), lhs,
      /*offset=*/OpFoldResult(builder.getIndexAttr(0)), /*sizes=*/ArrayRef<OpFoldResult>{count},
      /*strides=*/ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  Value made = allocate(MemRefType::get({dynamic}, to), count);
  loop(count, [&](Value i) {
    Value value = memref::LoadOp::create(builder, where, flat, i);
    memref::StoreOp::create(builder, where, convert(value), made, i);
  });
  return made;
}

/// 128 times the sum over K of each column of the right operand: what the shift of the left one
/// adds to the result. The microkernel gives it for a row of zeros, shifted. A pointer.
Value Lowering::sumColumns(Value steps) {
  int64_t dynamic = ShapedType::kDynamic;
  Value zeros = allocate(MemRefType::get({dynamic}, builder.getI8Type()),
                         ValueRange{mul(steps, index(kind.k0))});
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

/// Takes the sums of a panel's columns off a tile, in vectors: LLVM would make them of columns.
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

// mmt4d has one step along K after the other, for all rows; a tile of AMX has 16 steps of each row
// beside one another. The right operand lies as it should. So the left one is packed anew, with
// zeros up to a multiple of 16 steps; of the right one the steps that are left over are copied, as
// what lies behind them is another tile's or unused.

/// What `load` gives at k, or zero where k is not below the end.
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
  auto type = MemRefType::get({dynamic, dynamic, m0, tileSteps, kind.k0}, element);
  Value m1 = dim(lhs, 0);
  Value made = allocate(type, ValueRange{m1, blocks});
  loop(m1, [&](Value m) {
    loop(blocks, [&](Value block) {
      loop(index(m0), [&](Value row) {
        loop(index(tileSteps), [&](Value step) {
          Value k = add(mul(block, index(tileSteps)), step);
          loop(index(kind.k0), [&](Value d) {
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

/// [n][0 or 1][16][n0][k0]: nothing where K is a multiple of 16 steps.
Value Lowering::packRest() {
  int64_t dynamic = ShapedType::kDynamic;
  Type element = cast<MemRefType>(rhs.getType()).getElementType();
  auto type = MemRefType::get({dynamic, dynamic, tileSteps, n0, kind.k0}, element);
  Value made = allocate(type, ValueRange{n1, hasRest});
  loop(n1, [&](Value n) {
    loop(hasRest, [&](Value block) {
      loop(index(tileSteps), [&](Value step) {
        Value k = add(mul(wholeBlocks, index(tileSteps)), step);
        loop(index(n0), [&](Value column) {
          loop(index(kind.k0), [&](Value d) {
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

/// Adds to a tile of so many rows: what the left operand has there, times a panel of the right one.
void Lowering::multiply(Value left, Value leftOffset, Value n, Value result, Value resultOffset,
                        int64_t rows) {
  Value panel = mul(mul(n, k1), index(n0 * kind.k0));
  if (!rest) {
    call({left, right, result}, {leftOffset, panel, resultOffset}, k1, rows, /*intrinsicsK=*/1);
    return;
  }
  call({left, right, result}, {leftOffset, panel, resultOffset}, wholeBlocks, rows, tileSteps);
  loop(hasRest, [&](Value) {
    Value last = add(leftOffset, mul(wholeBlocks, index(rows * tileSteps * kind.k0)));
    Value restPanel = mul(n, index(tileSteps * n0 * kind.k0));
    call({left, rest, result}, {last, restPanel, resultOffset}, index(1), rows, tileSteps);
  });
}

void Lowering::lower(bool withTiles) {
  k1 = dim(lhs, 1);
  n1 = dim(rhs, 0);
  right = pointer(rhs);
  Value operand = lhs, steps = k1; // of the left operand, with what is added to it
  if (withTiles) {
    Value blocks = arith::CeilDivUIOp::create(builder, where, k1, index(tileSteps));
    wholeBlocks = arith::DivUIOp::create(builder, where, k1, index(tileSteps));
    hasRest = arith::SubIOp::create(builder, where, blocks, wholeBlocks);
    operand = packLeft(blocks);
    rest = pointer(packRest());
    steps = mul(blocks, index(tileSteps));
  } else if (kind.left != Left::AsItIs) {
    operand = convertLeft();
  }
  Value sums = kind.left == Left::Unsigned ? sumColumns(steps) : Value();
  Value left = pointer(operand), result = pointer(acc);
  loop(dim(lhs, 0), [&](Value m) {
    loop(n1, [&](Value n) {
      Value resultOffset = mul(add(mul(m, n1), n), index(m0 * n0));
      if (sums)
        subtract(sums, n, result, resultOffset);
      multiply(left, mul(mul(m, steps), index(m0 * kind.k0)), n, result, resultOffset, m0);
    });
  });
  for (Value temporary : temporaries)
    memref::DeallocOp::create(builder, where, temporary);
  op.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct LowerMmt4d : public kdl::impl::KdlLowerMmt4dToUkernelsBase<LowerMmt4d> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::Mmt4DOp> ops;
    getOperation().walk([&](linalg::Mmt4DOp op) { ops.push_back(op); });
    for (linalg::Mmt4DOp op : ops) {
      std::string why;
      std::optional<Kind> kind = checkShapes(op, why);
      func::FuncOp ukernel = kind ? getUkernel(*kind, fitsTiles(op, *kind), why) : nullptr;
      if (ukernel) {
        Lowering(op, *kind, ukernel).lower(ukernel->hasAttr(tilesAttr));
      } else if (noSilentFallback) {
        op.emitError("linalg.mmt4d has no microkernel: ") << why;
        signalPassFailure();
      } else {
        op.emitRemark("stays linalg.mmt4d: ") << why;
      }
    }
  }

private:
  std::optional<Kind> checkShapes(linalg::Mmt4DOp op, std::string &why);
  static bool fitsTiles(linalg::Mmt4DOp op, Kind kind);
  func::FuncOp getUkernel(Kind kind, bool mayTakeTiles, std::string &why);
  func::FuncOp declare(StringRef name, Kind kind, const Variant &variant);

  llvm::SmallPtrSet<Operation *, 4> declared;
};

std::optional<Kind> LowerMmt4d::checkShapes(linalg::Mmt4DOp op, std::string &why) {
  SmallVector<MemRefType> types;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type || !type.getLayout().isIdentity()) {
      why = "found operands that are no memrefs without a layout: bufferize first";
      return std::nullopt;
    }
    types.push_back(type);
  }
  std::optional<Kind> kind =
      kindOf(types[0].getElementType(), types[1].getElementType(), types[2].getElementType());
  llvm::raw_string_ostream words(why);
  if (!kind) {
    words << "found " << types[0].getElementType() << " and " << types[1].getElementType() << " to "
          << types[2].getElementType() << ", expected bf16, f16 or f32 to f32, or i8 to i32";
    return std::nullopt;
  }
  int64_t m0 = types[0].getDimSize(2), n0 = types[1].getDimSize(2), k0 = types[0].getDimSize(3);
  if (ShapedType::isDynamic(m0) || ShapedType::isDynamic(n0) || k0 != kind->k0 ||
      types[1].getDimSize(3) != k0 || n0 % columns != 0) {
    auto size = [](int64_t n) { return ShapedType::isDynamic(n) ? "?" : std::to_string(n); };
    words << "found tiles of M0 = " << size(m0) << ", N0 = " << size(n0) << ", K0 = " << size(k0)
          << ", expected them static, N0 a multiple of " << columns << " and K0 = " << kind->k0;
    return std::nullopt;
  }
  return kind;
}

bool LowerMmt4d::fitsTiles(linalg::Mmt4DOp op, Kind kind) {
  auto size = [&](unsigned operand) {
    return cast<MemRefType>(op.getInputs()[operand].getType()).getDimSize(2);
  };
  return kind.k0 > 1 && size(0) <= tileRows && size(1) <= tileColumns;
}

func::FuncOp LowerMmt4d::declare(StringRef name, Kind kind, const Variant &variant) {
  ModuleOp module = getOperation();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(&getContext());
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  auto type =
      builder.getFunctionType({pointer, i64, pointer, i64, pointer, i64, i32, i32, i32, i32}, {});
  auto made = func::FuncOp::create(builder, module.getLoc(), name, type);
  made.setPrivate();
  made->setAttr("kdl.variant", builder.getStringAttr(variant.tag));
  made->setAttr(bitcodeAttr, builder.getStringAttr(variant.bitcode));
  if (variant.takesTiles) {
    made->setAttr(tilesAttr, builder.getUnitAttr());
    made->setAttr(functionAttr, builder.getStringAttr(kind.ukernel));
  }
  declared.insert(made);
  return made;
}

/// A function of that name with bitcode in the module is the user's, and comes first.
func::FuncOp LowerMmt4d::getUkernel(Kind kind, bool mayTakeTiles, std::string &why) {
  ModuleOp module = getOperation();
  auto known = module.lookupSymbol<func::FuncOp>(kind.ukernel);
  if (known && !declared.contains(known)) {
    if (known->hasAttr(bitcodeAttr))
      return known;
    why = ("found a function " + kind.ukernel + " without " + bitcodeAttr).str();
    return nullptr;
  }
  std::string wanted = target.empty() ? std::string("host:") + getHostArch() : target.getValue();
  FailureOr<Variant> variant =
      findVariant(kind.ukernel, library.empty() ? findLibrary() : library.getValue(), wanted,
                  mayTakeTiles, why);
  if (failed(variant))
    return nullptr;
  std::string name = variant->takesTiles ? (kind.ukernel + "_tiles").str() : kind.ukernel.str();
  if (auto made = module.lookupSymbol<func::FuncOp>(name))
    return made;
  return declare(name, kind, *variant);
}

} // namespace
