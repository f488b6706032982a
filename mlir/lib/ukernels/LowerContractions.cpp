// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-lower-contractions: contractions on unpacked operands become calls of the matmul library.
#include "Dialect.h"
#include "Passes.h"
#include "Transforms.h"
#include "ukernels/MatmulImages.h"
#include "ukernels/UkernelLink.h"
#include "ukernels/UkernelObjects.h"
#include "ukernels/UnpackedContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLOWERCONTRACTIONS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

static std::string nameOf(StringRef what, const UnpackedContraction &product) {
  return ("kdl_matmul_" + what + product.suffix).str();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

class MatmulCalls {
public:
  MatmulCalls(RewriterBase &builder, linalg::LinalgOp op, const UnpackedContraction &product,
              bool threads, function_ref<func::FuncOp(StringRef, FunctionType)> declare)
      : builder(builder), where(op.getLoc()), op(op), product(product), threads(threads ? 2 : 1),
        declare(declare) {}

  void build();

private:
  /// An offset and a number of rows, columns or steps of K; a null offset means all of them.
  struct Range {
    Value at, size;
  };
  /// Elements of the batch, numbered in the order of its dimensions; null: there is no batch.
  struct Elements {
    Value from, to;
  };

  Value word(uint32_t value) {
    return arith::ConstantIntOp::create(builder, where, builder.getI32Type(), value);
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, where, value); }
  Value number(Type type, Value value) {
    return arith::IndexCastOp::create(builder, where, type, value);
  }
  Value times(Value a, Value b) { return arith::MulIOp::create(builder, where, a, b); }
  Value plus(Value a, Value b) { return arith::AddIOp::create(builder, where, a, b); }
  Value allocate(OpFoldResult bytes);
  void free(Value memory) { memref::DeallocOp::create(builder, where, memory); }
  Value pointer(Value memref, Value offset, int64_t size);
  SmallVector<Value> matrix(unsigned operand, const UnpackedMatrix &dims, ValueRange element,
                            Value row = nullptr, Value column = nullptr);
  Range range(int64_t size, unsigned operand, std::optional<unsigned> dim, int64_t least);
  void parts(OpFoldResult count, function_ref<void(Value)> body);
  SmallVector<Value> batchSizes();
  Value batchCount();
  Elements batch();
  void each(Elements elements, function_ref<void(ValueRange)> body);
  void distributeBatch(OpFoldResult parts, function_ref<void(Elements)> body);
  ValueRange call(const Twine &name, ArrayRef<ValueRange> arguments, TypeRange results = {});
  bool startsFromZero();
  kdl_matmul shape(uint32_t on) const {
    kdl_matmul matmul = {};
    matmul.type = product.type;
    matmul.threads = on;
    matmul.whole_k = kdl_matmul_whole_k_is_set();
    return matmul;
  }
  void buildStatic(Value adds);
  void buildStatic(Value adds, uint32_t on, Elements elements);
  void divideK(Value adds, uint32_t depths, uint32_t bytes, Elements elements);
  void depthPart(ValueRange a, ValueRange b, Value sums, ValueRange sizes, Value part, Value depths,
                 uint32_t bytes);
  void buildDynamic(Value adds);
  void buildDynamic(Value adds, uint32_t on, const Range &m, const Range &n, const Range &k,
                    Elements elements);

  RewriterBase &builder;
  Location where;
  linalg::LinalgOp op;
  const UnpackedContraction &product;
  uint32_t threads; // for matmul/division.h: 2 also represents more
  function_ref<func::FuncOp(StringRef, FunctionType)> declare;
};

/// Page-aligned: 1000x1000x1000 in i8 is 2 to 3% faster than with 64-byte alignment.
Value MatmulCalls::allocate(OpFoldResult bytes) {
  constexpr int64_t page = 4096;
  auto [sizes, values] = decomposeMixedValues({bytes});
  auto type = MemRefType::get(sizes, builder.getI8Type());
  return memref::AllocOp::create(builder, where, type, values, builder.getI64IntegerAttr(page));
}

Value MatmulCalls::pointer(Value memref, Value offset, int64_t size) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, where, memref);
  address = plus(address, times(offset, index(size)));
  return LLVM::IntToPtrOp::create(builder, where, LLVM::LLVMPointerType::get(builder.getContext()),
                                  number(builder.getI64Type(), address));
}

/// The address of a row and column in an element of the batch, and the strides of rows and columns.
SmallVector<Value> MatmulCalls::matrix(unsigned operand, const UnpackedMatrix &dims,
                                       ValueRange element, Value row, Value column) {
  Value memref = op->getOperand(operand);
  auto type = cast<MemRefType>(memref.getType());
  auto layout = memref::ExtractStridedMetadataOp::create(builder, where, memref);
  auto stride = [&](std::optional<unsigned> dim) -> Value {
    return dim ? Value(layout.getStrides()[*dim]) : index(1);
  };
  Value byRow = stride(dims.row), byColumn = stride(dims.column), offset = layout.getOffset();
  auto add = [&](Value at, Value by) {
    if (at)
      offset = plus(offset, times(at, by));
  };
  for (auto [at, dim] : llvm::zip_equal(element, dims.batch))
    add(at, stride(dim));
  add(row, byRow);
  add(column, byColumn);
  return {pointer(memref, offset, type.getElementTypeBitWidth() / 8),
          number(builder.getI64Type(), byRow), number(builder.getI64Type(), byColumn)};
}

/// The library takes at most KDL_MATMUL_MAX_SIZE of each dimension: creates a loop for the
/// following code if there may be more. It has at least `least` iterations.
MatmulCalls::Range MatmulCalls::range(int64_t size, unsigned operand, std::optional<unsigned> dim,
                                      int64_t least) {
  constexpr int64_t most = int64_t(1) << 30;
  if (!ShapedType::isDynamic(size))
    return {nullptr, word(static_cast<uint32_t>(size))};
  Value all = memref::DimOp::create(builder, where, op->getOperand(operand), *dim);
  Value end = least ? arith::MaxSIOp::create(builder, where, all, index(least)) : all;
  auto loop = scf::ForOp::create(builder, where, index(0), end, index(most));
  builder.setInsertionPointToStart(loop.getBody());
  Value at = loop.getInductionVar();
  Value left = arith::SubIOp::create(builder, where, all, at);
  left = arith::MinSIOp::create(builder, where, left, index(most));
  return {at, number(builder.getI32Type(), left)};
}

/// The parts in sequence, or on several threads.
void MatmulCalls::parts(OpFoldResult count, function_ref<void(Value)> body) {
  if (isOneInteger(count))
    return body(word(0));
  auto made = scf::ForallOp::create(builder, where, ArrayRef<OpFoldResult>{count}, ValueRange(),
                                    std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(made.getBody());
  body(number(builder.getI32Type(), made.getInductionVar(0)));
}

SmallVector<Value> MatmulCalls::batchSizes() {
  SmallVector<Value> sizes;
  for (auto [size, dim] : llvm::zip_equal(product.batch, product.out.batch))
    sizes.push_back(ShapedType::isDynamic(size)
                        ? memref::DimOp::create(builder, where, op->getOperand(2), dim)
                        : index(size));
  return sizes;
}

Value MatmulCalls::batchCount() {
  if (!ShapedType::isDynamicShape(product.batch))
    return index(ShapedType::getNumElements(product.batch));
  SmallVector<Value> sizes = batchSizes();
  return std::accumulate(sizes.begin() + 1, sizes.end(), sizes[0],
                         [&](Value a, Value b) { return times(a, b); });
}

MatmulCalls::Elements MatmulCalls::batch() {
  return product.batch.empty() ? Elements{} : Elements{index(0), batchCount()};
}

/// The elements in sequence, with their indices; the last dimension is the fastest.
void MatmulCalls::each(Elements elements, function_ref<void(ValueRange)> body) {
  if (!elements.from)
    return body({});
  SmallVector<Value> sizes = batchSizes();
  auto loop = scf::ForOp::create(builder, where, elements.from, elements.to, index(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> at(sizes.size());
  at[0] = loop.getInductionVar();
  for (size_t i = sizes.size(); i-- > 1;) {
    at[i] = arith::RemUIOp::create(builder, where, at[0], sizes[i]);
    at[0] = arith::DivUIOp::create(builder, where, at[0], sizes[i]);
  }
  body(at);
}

/// Divides the batch among threads, in parts of about equal size.
void MatmulCalls::distributeBatch(OpFoldResult count, function_ref<void(Elements)> body) {
  parts(count, [&](Value part) {
    Value all = batchCount(), of = getValueOrCreateConstantIndexOp(builder, where, count);
    auto begin = [&](Value which) -> Value {
      return arith::DivUIOp::create(builder, where, times(which, all), of);
    };
    Value first = number(builder.getIndexType(), part);
    body({begin(first), begin(plus(first, index(1)))});
  });
}

ValueRange MatmulCalls::call(const Twine &name, ArrayRef<ValueRange> arguments, TypeRange results) {
  SmallVector<Value> all;
  for (ValueRange some : arguments)
    llvm::append_range(all, some);
  FunctionType type = builder.getFunctionType(ValueRange(all).getTypes(), results);
  return func::CallOp::create(builder, where, declare(name.str(), type), all).getResults();
}

/// Whether the last operation on the result fills it with zeros, which is then not needed.
bool MatmulCalls::startsFromZero() {
  Value out = op->getOperand(2);
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    if (auto fill = dyn_cast<linalg::FillOp>(before)) {
      Value with = fill.getInputs()[0];
      if (fill.getOutputs()[0] != out ||
          (!matchPattern(with, m_PosZeroFloat()) && !matchPattern(with, m_Zero())))
        return false;
      builder.eraseOp(fill);
      return true;
    }
    if (!isMemoryEffectFree(before) && !isa<memref::AllocOp>(before))
      return false;
  }
  return false;
}

constexpr uint32_t declaredMemory = 256 << 10; // KDL_KERNEL_SHARED of the kernels

/// As in kdl_matmul_pack, and at most as many parts as kdl_matmul_grid makes.
uint32_t partsOn(uint32_t threads) {
  return threads < 2 ? 1 : 8 * threads;
}

void MatmulCalls::depthPart(ValueRange a, ValueRange b, Value sums, ValueRange sizes, Value part,
                            Value depths, uint32_t bytes) {
  Value own = allocate(builder.getIndexAttr(bytes));
  call(nameOf("plain_", product) + "_depth_part",
       {a, b, {sums}, sizes, {part, depths, pointer(own, index(0), 1), word(bytes)}});
  free(own);
}

/// Each part of K has sums of its own, which are added up then, one part after the other.
void MatmulCalls::divideK(Value adds, uint32_t depths, uint32_t bytes, Elements elements) {
  SmallVector<Value> sizes{word(static_cast<uint32_t>(product.m)),
                           word(static_cast<uint32_t>(product.n)),
                           word(static_cast<uint32_t>(product.k))};
  Value sums = allocate(builder.getIndexAttr(4 * depths * product.m * product.n));
  each(elements, [&](ValueRange element) {
    SmallVector<Value> a = matrix(0, product.lhs, element), b = matrix(1, product.rhs, element),
                       c = matrix(2, product.out, element);
    Value from = pointer(sums, index(0), 1);
    parts(builder.getIndexAttr(depths),
          [&](Value part) { depthPart(a, b, from, sizes, part, word(depths), bytes); });
    parts(builder.getIndexAttr(depths), [&](Value part) {
      call(nameOf("sum_", product) + "_part",
           {{from, word(depths)}, c, {sizes[0], sizes[1], adds, part, word(depths)}});
    });
  });
  free(sums);
}

/// If each element is one part, memory for the parts is allocated once for all elements.
void MatmulCalls::buildStatic(Value adds, uint32_t on, Elements elements) {
  auto m = static_cast<uint32_t>(product.m), n = static_cast<uint32_t>(product.n),
       k = static_cast<uint32_t>(product.k);
  kdl_matmul how = shape(on);
  bool packs = !kdl_matmul_fuses_packing(&how, m, n, k);
  kdl_launch_desc grid = kdl_matmul_grid(&how, m, n);
  uint32_t byRows = grid.grid[0] > 1, count = byRows ? grid.grid[0] : grid.grid[1];
  uint32_t bytes = declaredMemory + grid.shared, packers = partsOn(on);
  uint32_t depths = kdl_matmul_grid_depths(&how, m, n, k);
  if (depths > 1)
    return divideK(adds, depths, bytes, elements);
  SmallVector<Value> sizes{word(m), word(n), word(k)};
  Value packed, memory;
  if (packs)
    packed = allocate(
        builder.getIndexAttr(static_cast<int64_t>(kdl_matmul_packed_bytes(product.type, n, k))));
  if (count == 1)
    memory = allocate(builder.getIndexAttr(bytes));
  each(elements, [&](ValueRange element) {
    SmallVector<Value> a = matrix(0, product.lhs, element), b = matrix(1, product.rhs, element),
                       c = matrix(2, product.out, element);
    if (packs) {
      Value to = pointer(packed, index(0), 1);
      parts(builder.getIndexAttr(packers), [&](Value part) {
        call(nameOf("pack_", product) + "_part",
             {b, {to, sizes[1], sizes[2], part, word(packers)}});
      });
      b = {to};
    }
    parts(builder.getIndexAttr(count), [&](Value part) {
      Value own = memory ? memory : allocate(builder.getIndexAttr(bytes));
      call(nameOf(packs ? "" : "plain_", product) + "_part",
           {a,
            b,
            c,
            sizes,
            {adds, part, word(count), word(byRows), pointer(own, index(0), 1), word(bytes)}});
      if (!memory)
        free(own);
    });
  });
  if (memory)
    free(memory);
  if (packs)
    free(packed);
}

void MatmulCalls::buildStatic(Value adds) {
  kdl_matmul how = shape(threads);
  kdl_launch_desc grid =
      kdl_matmul_grid(&how, static_cast<uint32_t>(product.m), static_cast<uint32_t>(product.n));
  int64_t count = ShapedType::getNumElements(product.batch);
  if (product.batch.empty() || threads < 2 || count < grid.grid[0] * grid.grid[1])
    return buildStatic(adds, threads, batch());
  distributeBatch(builder.getIndexAttr(std::min<int64_t>(count, partsOn(threads))),
                  [&](Elements elements) { buildStatic(adds, 1, elements); });
}

/// For dynamic sizes: the library decides at run time.
void MatmulCalls::buildDynamic(Value adds, uint32_t on, const Range &m, const Range &n,
                               const Range &k, Elements elements) {
  kdl_matmul how = shape(on);
  // The same for all sizes.
  uint32_t bytes = declaredMemory + kdl_matmul_grid(&how, 1, 1).shared, packers = partsOn(on);
  std::string name = nameOf("", product) + "_dynamic_";
  Value scratch =
      call(name + "scratch", {{m.size, n.size, k.size, word(on)}}, builder.getI64Type())[0];
  scratch = number(builder.getIndexType(), scratch);
  Value none = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::eq, scratch, index(0));
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(builder, where, condition, yes, no);
  };
  // K is divided into no parts, or C is.
  Value depths;
  if (on > 1 && !how.whole_k) {
    Value all =
        number(builder.getIndexType(), call(name + "depths", {{m.size, n.size, k.size, word(on)}},
                                            builder.getI32Type())[0]);
    Value divides = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::ugt, all, index(1));
    auto size = [&](Value of) { return number(builder.getIndexType(), of); };
    depths = select(divides, all, index(0));
    scratch =
        select(divides, times(times(size(m.size), size(n.size)), times(all, index(4))), scratch);
    none = arith::OrIOp::create(builder, where, none, divides);
  }
  Value packed = allocate(scratch), to = pointer(packed, index(0), 1);
  Value packs = select(none, index(0), index(packers));
  OpFoldResult count = builder.getIndexAttr(1);
  Value memory;
  if (on < 2)
    memory = allocate(builder.getIndexAttr(bytes));
  else
    count = number(builder.getIndexType(),
                   call(name + "parts", {{m.size, n.size, word(on)}}, builder.getI32Type())[0]);
  if (depths)
    count =
        select(arith::CmpIOp::create(builder, where, arith::CmpIPredicate::eq, depths, index(0)),
               cast<Value>(count), index(0));
  each(elements, [&](ValueRange element) {
    SmallVector<Value> a = matrix(0, product.lhs, element, m.at, k.at),
                       b = matrix(1, product.rhs, element, k.at, n.at),
                       c = matrix(2, product.out, element, m.at, n.at);
    parts(packs, [&](Value part) {
      call(nameOf("pack_", product) + "_part", {b, {to, n.size, k.size, part, word(packers)}});
    });
    parts(count, [&](Value part) {
      Value own = memory ? memory : allocate(builder.getIndexAttr(bytes));
      call(name + "part", {a,
                           b,
                           {to},
                           c,
                           {m.size, n.size, k.size, adds, word(on), part, pointer(own, index(0), 1),
                            word(bytes)}});
      if (!memory)
        free(own);
    });
    if (!depths)
      return;
    Value all = number(builder.getI32Type(), depths);
    parts(depths,
          [&](Value part) { depthPart(a, b, to, {m.size, n.size, k.size}, part, all, bytes); });
    parts(depths, [&](Value part) {
      call(nameOf("sum_", product) + "_part", {{to, all}, c, {m.size, n.size, adds, part, all}});
    });
  });
  if (memory)
    free(memory);
  free(packed);
}

void MatmulCalls::buildDynamic(Value adds) {
  OpBuilder::InsertionGuard guard(builder);
  Range m = range(product.m, 2, product.out.row, 0), n = range(product.n, 2, product.out.column, 0),
        k = range(product.k, 0, product.lhs.column, 1); // zeros for no steps of K
  if (k.at) {
    Value first = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::eq, k.at, index(0));
    adds = arith::SelectOp::create(builder, where, first, adds, word(1));
  }
  if (product.batch.empty() || threads < 2)
    return buildDynamic(adds, threads, m, n, k, batch());
  Value all = batchCount();
  Value single = call(nameOf("", product) + "_dynamic_parts", {{m.size, n.size, word(threads)}},
                      builder.getI32Type())[0];
  Value many = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::uge, all,
                                     number(builder.getIndexType(), single));
  auto either = scf::IfOp::create(builder, where, many, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(either.thenBlock());
  Value most = index(partsOn(threads));
  distributeBatch(arith::MinUIOp::create(builder, where, all, most).getResult(),
                  [&](Elements elements) { buildDynamic(adds, 1, m, n, k, elements); });
  builder.setInsertionPointToStart(either.elseBlock());
  buildDynamic(adds, threads, m, n, k, batch());
}

void MatmulCalls::build() {
  Value adds = word(startsFromZero() ? 0 : 1);
  if (product.isStatic())
    buildStatic(adds);
  else
    buildDynamic(adds);
  builder.eraseOp(op);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The declaration of the microkernel that the kernels call. One that takes 16 steps at a time has
/// another name, because the tiles of mmt4d may call a different one.
FlatSymbolRefAttr declareCalled(ModuleOp module, const UnpackedContraction &product,
                                const UkernelSource &source, std::string &why) {
  std::string name = product.kind.ukernel;
  if (!module.lookupSymbol<func::FuncOp>(name)) {
    FailureOr<MmaUkernel> ukernel = findProvidedUkernel(module, product.types, source, why);
    if (failed(ukernel))
      return nullptr;
    if (ukernel->fixesSteps)
      name += "_blocks";
    if (!module.lookupSymbol<func::FuncOp>(name))
      declareUkernel(module, name, *ukernel);
  }
  return FlatSymbolRefAttr::get(module.getContext(), name);
}

struct CallMatmul : public OpInterfaceRewritePattern<linalg::LinalgOp> {
  CallMatmul(MLIRContext *context, const LowerContractionsOptions &options)
      : OpInterfaceRewritePattern(context), source{options.library, options.target},
        threads(options.threads) {}

  LogicalResult matchAndRewrite(linalg::LinalgOp op, PatternRewriter &rewriter) const override {
    std::string why;
    if (!isUnpackedOnMemrefs(op) || !op->getParentOfType<ModuleOp>())
      return rewriter.notifyMatchFailure(op, "not a contraction on memrefs in a module");
    FailureOr<UnpackedContraction> product = matchUnpackedContraction(op, why);
    auto module = op->getParentOfType<ModuleOp>();
    if (failed(product) || failed(hasMatmulKernelFor(module, *product, source, why)))
      return rewriter.notifyMatchFailure(op, why);
    FailureOr<std::string> bitcode = findMatmulKernels(nameOf("", *product), source.cpu(), why);
    if (failed(bitcode))
      return rewriter.notifyMatchFailure(op, why);
    FlatSymbolRefAttr called = declareCalled(module, *product, source, why);
    if (!called)
      return rewriter.notifyMatchFailure(op, why);
    auto declare = [&](StringRef name, FunctionType type) {
      if (auto known = module.lookupSymbol<func::FuncOp>(name))
        return known;
      OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
      auto made = func::FuncOp::create(outside, module.getLoc(), name, type);
      made.setPrivate();
      made->setAttr(objectAttr, addObject(module, "matmul", *bitcode));
      made->setAttr(callsAttr, called);
      return made;
    };
    MatmulCalls(rewriter, op, *product, threads, declare).build();
    return success();
  }

  static bool isUnpackedOnMemrefs(linalg::LinalgOp op) {
    return linalg::isaContractionOpInterface(op) && op.hasPureBufferSemantics() && !isMmt4d(op) &&
           !op->hasAttr(noUkernelAttr);
  }

private:
  UkernelSource source;
  bool threads;
};

struct LowerContractions : public kdl::impl::KdlLowerContractionsBase<LowerContractions> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateLowerContractionsPatterns(set, {library.getValue(), target.getValue(), threads});
    patterns = std::move(set);
    return checkUkernelSource(context, getArgument(), {library.getValue(), target.getValue()});
  }

  void runOnOperation() override {
    if (failed(checkProvider(getOperation())))
      return signalPassFailure();
    walkAndApplyPatterns(getOperation(), patterns);
    UkernelSource source{library.getValue(), target.getValue()};
    getOperation().walk([&](linalg::LinalgOp op) {
      if (!CallMatmul::isUnpackedOnMemrefs(op))
        return;
      std::string why;
      FailureOr<UnpackedContraction> product = matchUnpackedContraction(op, why);
      if (succeeded(product))
        (void)hasMatmulKernelFor(getOperation(), *product, source, why);
      if (noSilentFallback) {
        op.emitError(op->getName().getStringRef()) << " has no microkernel: " << why;
        signalPassFailure();
      } else {
        op.emitRemark("stays ") << op->getName().getStringRef() << ": " << why;
      }
    });
  }

private:
  FrozenRewritePatternSet patterns;
};

} // namespace

void kdl::populateLowerContractionsPatterns(RewritePatternSet &patterns,
                                            const LowerContractionsOptions &options) {
  patterns.add<CallMatmul>(patterns.getContext(), options);
}
