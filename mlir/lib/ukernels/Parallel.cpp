// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs loops with independent iterations on the threads of libkdl's host device. Outlining happens
// while values have MLIR types; the calls are created once these are pointers and numbers, which
// fit into a struct.
#include "Attributes.h"
#include "Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLOUTLINEPARALLEL
#define GEN_PASS_DEF_KDLLOWERPARALLELCALLS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// In libkdl_mlir_runtime.
constexpr StringLiteral runtimeName = "kdl_mlir_parallel";

//===----------------------------------------------------------------------===//
// Outlining
//===----------------------------------------------------------------------===//

struct OutlineParallel : public kdl::impl::KdlOutlineParallelBase<OutlineParallel> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<scf::ForallOp> loops;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::ForallOp op) {
      if (op->getNumResults() == 0)
        loops.push_back(op);
      return WalkResult::skip(); // its body runs in one thread
    });
    SymbolTable symbols(getOperation());
    for (scf::ForallOp op : loops)
      outline(op, symbols);
  }

private:
  static void outline(scf::ForallOp op, SymbolTable &symbols);
};

/// Constants are cloned; every other value from outside becomes a parameter.
void OutlineParallel::outline(scf::ForallOp op, SymbolTable &symbols) {
  auto caller = op->getParentOfType<func::FuncOp>();
  if (!caller)
    return;
  OpBuilder builder(op);
  Location where = op.getLoc();
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op.getRegion(), used);
  SmallVector<Value> ends = op.getUpperBound(builder), begins = op.getLowerBound(builder),
                     steps = op.getStep(builder);
  SmallVector<Value> sizes;
  Value count = arith::ConstantIndexOp::create(builder, where, 1);
  for (auto [begin, end, step] : llvm::zip_equal(begins, ends, steps)) {
    Value length = arith::SubIOp::create(builder, where, end, begin);
    sizes.push_back(arith::CeilDivSIOp::create(builder, where, length, step));
    count = arith::MulIOp::create(builder, where, count, sizes.back());
  }
  for (ArrayRef<Value> more :
       {ArrayRef<Value>(sizes), ArrayRef<Value>(begins), ArrayRef<Value>(steps)})
    used.insert(more.begin(), more.end());
  SmallVector<Value> captured;
  SmallVector<Operation *> constants;
  for (Value value : used) {
    Operation *from = value.getDefiningOp();
    if (from && from->hasTrait<OpTrait::ConstantLike>())
      constants.push_back(from);
    else
      captured.push_back(value);
  }
  SmallVector<Type> types{builder.getIndexType()};
  llvm::append_range(types, TypeRange(ValueRange(captured)));
  OpBuilder outside(caller);
  FunctionType type = builder.getFunctionType(types, {});
  auto body = func::FuncOp::create(outside, where, (caller.getName() + "_part").str(), type);
  body.setPrivate();
  symbols.insert(body);
  auto all = func::FuncOp::create(outside, where, (body.getName() + "_all").str(), type);
  all.setPrivate();
  all->setAttr(parallelBodyAttr, FlatSymbolRefAttr::get(body.getSymNameAttr()));
  symbols.insert(all);

  SmallVector<Value> arguments{count};
  llvm::append_range(arguments, captured);
  func::CallOp::create(builder, where, all, arguments);

  Block *entry = body.addEntryBlock();
  OpBuilder inner = OpBuilder::atBlockBegin(entry);
  IRMapping mapping;
  for (Operation *constant : constants)
    inner.clone(*constant, mapping);
  mapping.map(captured, entry->getArguments().drop_front());
  // The last variable is the fastest.
  Value rest = entry->getArgument(0);
  for (size_t i = sizes.size(); i-- > 0;) {
    Value size = mapping.lookup(sizes[i]);
    Value at = arith::RemUIOp::create(inner, where, rest, size);
    rest = arith::DivUIOp::create(inner, where, rest, size);
    at = arith::MulIOp::create(inner, where, at, mapping.lookup(steps[i]));
    at = arith::AddIOp::create(inner, where, at, mapping.lookup(begins[i]));
    mapping.map(op.getInductionVars()[i], at);
  }
  for (Operation &inside : op.getBody()->without_terminator())
    inner.clone(inside, mapping);
  func::ReturnOp::create(inner, where);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

struct LowerParallelCalls : public kdl::impl::KdlLowerParallelCallsBase<LowerParallelCalls> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> declared;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal() && function->hasAttr(parallelBodyAttr))
        declared.push_back(function);
    }
    for (LLVM::LLVMFuncOp function : declared)
      lowerCall(function);
  }

private:
  void lowerCall(LLVM::LLVMFuncOp all);
  LLVM::LLVMFuncOp runtime(OpBuilder &builder);
};

LLVM::LLVMFuncOp LowerParallelCalls::runtime(OpBuilder &builder) {
  ModuleOp module = getOperation();
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(runtimeName))
    return known;
  Type pointer = LLVM::LLVMPointerType::get(&getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                          {builder.getI64Type(), pointer, pointer});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), runtimeName, type);
}

/// Creates a struct of the arguments, a function that unpacks it, and a call with both.
void LowerParallelCalls::lowerCall(LLVM::LLVMFuncOp all) {
  MLIRContext *context = &getContext();
  Location where = all.getLoc();
  OpBuilder builder(all);
  Type pointer = LLVM::LLVMPointerType::get(context), number = builder.getI64Type();
  auto body = all->getAttrOfType<FlatSymbolRefAttr>(parallelBodyAttr);
  ArrayRef<Type> types = all.getFunctionType().getParams().drop_front();
  auto record = LLVM::LLVMStructType::getLiteral(context, types);
  auto nothing = LLVM::LLVMVoidType::get(context);

  auto one = LLVM::LLVMFuncOp::create(builder, where, (all.getName() + "_one").str(),
                                      LLVM::LLVMFunctionType::get(nothing, {pointer, number}),
                                      LLVM::Linkage::Internal);
  Block *entry = one.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  auto field = [&](Value base, size_t i) -> Value {
    return LLVM::GEPOp::create(builder, where, pointer, record, base,
                               ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
  };
  SmallVector<Value> arguments{entry->getArgument(1)};
  for (auto [i, type] : llvm::enumerate(types))
    arguments.push_back(
        LLVM::LoadOp::create(builder, where, type, field(entry->getArgument(0), i)));
  LLVM::CallOp::create(builder, where, TypeRange(), body, arguments);
  LLVM::ReturnOp::create(builder, where, ValueRange());

  SmallVector<LLVM::CallOp> calls;
  getOperation().walk([&](LLVM::CallOp call) {
    if (call.getCallee() == all.getName())
      calls.push_back(call);
  });
  LLVM::LLVMFuncOp run = runtime(builder);
  for (LLVM::CallOp call : calls) {
    builder.setInsertionPointToStart(&call->getParentOfType<LLVM::LLVMFuncOp>().getBody().front());
    Value single = LLVM::ConstantOp::create(builder, where, number, builder.getI64IntegerAttr(1));
    Value place = LLVM::AllocaOp::create(builder, where, pointer, record, single);
    builder.setInsertionPoint(call);
    for (auto [i, value] : llvm::enumerate(call.getArgOperands().drop_front()))
      LLVM::StoreOp::create(builder, where, value, field(place, i));
    Value function = LLVM::AddressOfOp::create(builder, where, one);
    LLVM::CallOp::create(builder, where, run,
                         ValueRange{call.getArgOperands()[0], function, place});
    call.erase();
  }
  all.erase();
}

} // namespace
