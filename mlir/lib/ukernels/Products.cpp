// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/Products.h"

#include "Dialect.h"
#include "Passes.h"
#include "ukernels/UkernelLink.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLOWERPRODUCTS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

//===----------------------------------------------------------------------===//
// What the library has
//===----------------------------------------------------------------------===//

FailureOr<PlainProduct> kdl::matchPlainProduct(linalg::LinalgOp op, std::string &why) {
  struct Name {
    StringLiteral ukernel, suffix;
    kdl_matmul_type type;
  };
  static constexpr Name names[] = {
      {"kdl_uk_mma_f32_bf16", "f32_bf16", KDL_MATMUL_F32_BF16},
      {"kdl_uk_mma_s32_u8s8", "s32_s8", KDL_MATMUL_S32_S8},
      {"kdl_uk_mma_f32_f32", "f32_f32", KDL_MATMUL_F32_F32},
      {"kdl_uk_mma_f32_f16", "f32_f16", KDL_MATMUL_F32_F16},
  };
  auto refuse = [&](const Twine &words) {
    why = words.str();
    return failure();
  };
  if (!linalg::isaContractionOpInterface(op) || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || !llvm::all_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>))
    return refuse("found no product of two matrices");
  SmallVector<Type> elements;
  for (Type type : op->getOperandTypes()) {
    auto shaped = cast<ShapedType>(type);
    elements.push_back(shaped.getElementType());
    if (!shaped.hasStaticShape() || shaped.getNumElements() == 0)
      return refuse("found sizes that are 0 or not known, expected others");
  }
  std::optional<Kind> kind = kindOf(elements[0], elements[1], elements[2]);
  std::optional<ProductBody> body = matchProductBody(op);
  if (!kind || !body || body->lhsUnsigned || body->rhsUnsigned)
    return refuse("found other elements than bf16, f16 or f32 to f32, or signed i8 to i32");
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  FailureOr<linalg::ContractionDimensions> dims = linalg::inferContractionDims(maps);
  if (failed(dims) || !dims->batch.empty() || dims->m.size() > 1 || dims->n.size() > 1 ||
      dims->k.size() != 1)
    return refuse("found a batch, or more than one dimension of rows, columns or K");
  if (dims->m.size() + dims->n.size() + 1 != op.getNumLoops())
    return refuse("found an operand that is repeated along a dimension of the result");
  auto only = [](ArrayRef<unsigned> loops) {
    return loops.empty() ? std::nullopt : std::optional(loops[0]);
  };
  std::optional<unsigned> m = only(dims->m), n = only(dims->n), k = only(dims->k);
  auto place = [&](unsigned operand, std::optional<unsigned> loop) -> std::optional<unsigned> {
    return loop ? maps[operand].getResultPosition(getAffineDimExpr(*loop, op.getContext()))
                : std::nullopt;
  };
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (int64_t range : ranges) {
    if (range > most)
      return refuse("found more than 2147483647 rows, columns or steps of K");
  }
  auto size = [&](std::optional<unsigned> loop) {
    return loop ? static_cast<uint32_t>(ranges[*loop]) : 1;
  };
  const Name *name =
      llvm::find_if(names, [&](const Name &each) { return each.ukernel == kind->ukernel; });
  return PlainProduct{*kind,
                      name->type,
                      name->suffix,
                      {place(0, m), place(0, k)},
                      {place(1, k), place(1, n)},
                      {place(2, m), place(2, n)},
                      size(m),
                      size(n),
                      size(k)};
}

static std::string nameOf(StringRef what, const PlainProduct &product) {
  return ("kdl_matmul_" + what + product.suffix).str();
}

/// A microkernel that takes 16 steps at a time is called by blocks of C, for which it has a
/// function of its own.
static LogicalResult hasBlocks(ModuleOp module, const PlainProduct &product, const Source &source,
                               std::string &why) {
  if (isOwn(module, product.kind.ukernel)) {
    why = "found a microkernel of the module's own that takes 16 steps at a time, which is called "
          "for tiles alone";
    return failure();
  }
  std::string block = ("kdl_uk_mma_" + product.suffix + "_block").str();
  FailureOr<Variant> variant =
      findVariant(product.kind.ukernel, source, /*mayTakeTiles=*/true, why);
  if (failed(variant))
    return failure();
  if (definesFunction(variant->bitcode, block))
    return success();
  why = "found a microkernel that takes 16 steps at a time without a function " + block;
  return failure();
}

LogicalResult kdl::hasPlainProduct(ModuleOp module, const PlainProduct &product,
                                   const Source &source, std::string &why) {
  if (failed(findTile(module, product.kind.ukernel, source, why)))
    return failure();
  if (takesTiles(module, product.kind.ukernel, source) &&
      failed(hasBlocks(module, product, source, why)))
    return failure();
  return success(succeeded(findProducts(nameOf("", product), source, why)));
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

class Calls {
public:
  Calls(OpBuilder &builder, linalg::LinalgOp op, const PlainProduct &product, bool threads,
        function_ref<func::FuncOp(StringRef, TypeRange)> declare)
      : builder(builder), where(op.getLoc()), op(op), product(product),
        shape{product.type, threads ? 2U : 1U, nullptr, nullptr, nullptr}, declare(declare) {}

  void build();

private:
  Value word(uint32_t value) {
    return arith::ConstantIntOp::create(builder, where, builder.getI32Type(), value);
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, where, value); }
  Value allocate(size_t bytes);
  Value pointer(Value memref, Value offset, int64_t size);
  SmallVector<Value> matrix(unsigned operand, const PlainMatrix &dims);
  void parts(uint32_t count, function_ref<void(Value)> body);
  void call(StringRef name, ArrayRef<ValueRange> arguments);
  bool startsFromZero();

  OpBuilder &builder;
  Location where;
  linalg::LinalgOp op;
  const PlainProduct &product;
  kdl_matmul shape; // for what <kdl/matmul.h> tells of a product
  function_ref<func::FuncOp(StringRef, TypeRange)> declare;
};

/// In whole pages: 1000x1000x1000 in i8 is 2 to 3% faster so than at any 64 bytes.
Value Calls::allocate(size_t bytes) {
  constexpr int64_t page = 4096;
  auto type = MemRefType::get({static_cast<int64_t>(bytes)}, builder.getI8Type());
  return memref::AllocOp::create(builder, where, type, builder.getI64IntegerAttr(page));
}

Value Calls::pointer(Value memref, Value offset, int64_t size) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, where, memref);
  Value bytes = arith::MulIOp::create(builder, where, offset, index(size));
  address = arith::AddIOp::create(builder, where, address, bytes);
  Value number = arith::IndexCastOp::create(builder, where, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(builder, where, LLVM::LLVMPointerType::get(builder.getContext()),
                                  number);
}

/// Where it begins, and the distances of its rows and columns.
SmallVector<Value> Calls::matrix(unsigned operand, const PlainMatrix &dims) {
  Value memref = op->getOperand(operand);
  auto type = cast<MemRefType>(memref.getType());
  auto layout = memref::ExtractStridedMetadataOp::create(builder, where, memref);
  auto stride = [&](std::optional<unsigned> dim) -> Value {
    Value of = dim ? Value(layout.getStrides()[*dim]) : index(1);
    return arith::IndexCastOp::create(builder, where, builder.getI64Type(), of);
  };
  return {pointer(memref, layout.getOffset(), type.getElementTypeBitWidth() / 8), stride(dims.row),
          stride(dims.column)};
}

/// One part after the other, or on several threads.
void Calls::parts(uint32_t count, function_ref<void(Value)> body) {
  if (count == 1)
    return body(word(0));
  auto made =
      scf::ForallOp::create(builder, where, ArrayRef<OpFoldResult>{builder.getIndexAttr(count)},
                            ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(made.getBody());
  body(arith::IndexCastOp::create(builder, where, builder.getI32Type(), made.getInductionVar(0)));
}

void Calls::call(StringRef name, ArrayRef<ValueRange> arguments) {
  SmallVector<Value> all;
  for (ValueRange some : arguments)
    llvm::append_range(all, some);
  func::CallOp::create(builder, where, declare(name, ValueRange(all).getTypes()), all);
}

/// Whether the last thing that was done to the result is to fill it with zeros, which is not
/// needed then.
bool Calls::startsFromZero() {
  Value out = op->getOperand(2);
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    if (auto fill = dyn_cast<linalg::FillOp>(before)) {
      Value with = fill.getInputs()[0];
      if (fill.getOutputs()[0] != out ||
          (!matchPattern(with, m_PosZeroFloat()) && !matchPattern(with, m_Zero())))
        return false;
      fill->erase();
      return true;
    }
    if (!isMemoryEffectFree(before) && !isa<memref::AllocOp>(before))
      return false;
  }
  return false;
}

void Calls::build() {
  uint32_t m = product.m, n = product.n, k = product.k;
  bool packs = !kdl_matmul_packs_as_it_goes(&shape, m, n, k);
  kdl_launch_desc grid = kdl_matmul_grid(&shape, m, n);
  uint32_t byRows = grid.grid[1] > 1, count = byRows ? grid.grid[1] : grid.grid[0];
  constexpr uint32_t declared = 256 << 10; // KDL_KERNEL_SHARED of the kernels
  uint32_t bytes = declared + grid.shared;
  Value adds = word(startsFromZero() ? 0 : 1);
  SmallVector<Value> a = matrix(0, product.lhs), b = matrix(1, product.rhs),
                     c = matrix(2, product.out);
  SmallVector<Value> sizes{word(m), word(n), word(k)};
  Value packed;
  if (packs) {
    uint32_t of = shape.threads < 2 ? 1 : 8 * shape.threads;
    packed = allocate(kdl_matmul_packed_size(product.type, n, k));
    Value to = pointer(packed, index(0), 1);
    parts(of, [&](Value part) {
      call(nameOf("pack_", product) + "_part", {b, {to, sizes[1], sizes[2], part, word(of)}});
    });
    b = {to};
  }
  parts(count, [&](Value part) {
    Value memory = allocate(bytes);
    call(nameOf(packs ? "" : "plain_", product) + "_part",
         {a,
          b,
          c,
          sizes,
          {adds, part, word(count), word(byRows), pointer(memory, index(0), 1), word(bytes)}});
    memref::DeallocOp::create(builder, where, memory);
  });
  if (packs)
    memref::DeallocOp::create(builder, where, packed);
  op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

bool isMmt4d(linalg::LinalgOp op) {
  return isa<linalg::Mmt4DOp, linalg::BatchMmt4DOp>(op.getOperation()) || matchMmt4d(op);
}

struct LowerProducts : public kdl::impl::KdlLowerProductsBase<LowerProducts> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (linalg::isaContractionOpInterface(op) && op.hasPureBufferSemantics() && !isMmt4d(op) &&
          !op->hasAttr(staysAttr))
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops) {
      std::string why;
      if (succeeded(lower(op, why)))
        continue;
      if (noSilentFallback) {
        op.emitError(op->getName().getStringRef()) << " has no microkernel: " << why;
        signalPassFailure();
      } else {
        op.emitRemark("stays ") << op->getName().getStringRef() << ": " << why;
      }
    }
  }

private:
  LogicalResult lower(linalg::LinalgOp op, std::string &why);
  FlatSymbolRefAttr ukernel(const PlainProduct &product, std::string &why);
};

/// The declaration of the microkernel that the kernels call. One that takes 16 steps at a time may
/// be beside another that mmt4d's tiles call, and has another name.
FlatSymbolRefAttr LowerProducts::ukernel(const PlainProduct &product, std::string &why) {
  ModuleOp module = getOperation();
  std::string name = product.kind.ukernel.str();
  if (!module.lookupSymbol<func::FuncOp>(name)) {
    FailureOr<Variant> variant =
        findVariant(name, {library.getValue(), target.getValue()}, /*mayTakeTiles=*/true, why);
    if (failed(variant))
      return nullptr;
    if (variant->takesTiles)
      name += "_blocks";
    if (!module.lookupSymbol<func::FuncOp>(name))
      declareUkernel(module, name, product.kind, *variant);
  }
  return FlatSymbolRefAttr::get(&getContext(), name);
}

LogicalResult LowerProducts::lower(linalg::LinalgOp op, std::string &why) {
  ModuleOp module = getOperation();
  Source source{library.getValue(), target.getValue()};
  FailureOr<PlainProduct> product = matchPlainProduct(op, why);
  if (failed(product) || failed(hasPlainProduct(module, *product, source, why)))
    return failure();
  FailureOr<std::string> bitcode = findProducts(nameOf("", *product), source, why);
  FlatSymbolRefAttr called = ukernel(*product, why);
  if (failed(bitcode) || !called)
    return failure();
  OpBuilder builder(op);
  auto declare = [&](StringRef name, TypeRange types) {
    if (auto known = module.lookupSymbol<func::FuncOp>(name))
      return known;
    OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
    auto made =
        func::FuncOp::create(outside, module.getLoc(), name, outside.getFunctionType(types, {}));
    made.setPrivate();
    made->setAttr(bitcodeAttr, outside.getStringAttr(*bitcode));
    made->setAttr(callsAttr, called);
    return made;
  };
  Calls(builder, op, *product, threads, declare).build();
  return success();
}

} // namespace
