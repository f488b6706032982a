// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gpu.printf and cf.assert on a CPU. printf is the C library's. An assertion that fails prints what
// CUDA's do and ends the work-item; the launch then fails (kdl_host_group::error). The branch is
// made in LLVM IR, where every function is made of blocks: until then it is a call of `kdl.assert`.
#include "host/HostKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

#include <kdl/host_abi.h>

using namespace mlir;
using namespace mlir::kdl;

static_assert(offsetof(kdl_host_group, error) == 64 && sizeof(kdl_host_group) == 72);

namespace {

constexpr StringLiteral hostAssert = "kdl.assert";

/// A constant of the gpu.module that ends with a NUL.
LLVM::GlobalOp makeText(gpu::GPUModuleOp module, Location where, const Twine &text) {
  SmallVector<char> bytes;
  text.toVector(bytes);
  bytes.push_back(0);
  std::string name;
  for (unsigned i = 0; name.empty() || module.lookupSymbol(name); ++i)
    name = "kdl.text." + std::to_string(i);
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
  return LLVM::GlobalOp::create(builder, where, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                name, builder.getStringAttr(StringRef(bytes.data(), bytes.size())));
}

/// The declaration of a function, or null if the name means something else.
LLVM::LLVMFuncOp declare(gpu::GPUModuleOp module, StringRef name, LLVM::LLVMFunctionType type) {
  if (Operation *known = module.lookupSymbol(name)) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(known);
    return function && function.getFunctionType() == type ? function : LLVM::LLVMFuncOp();
  }
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

/// As C promotes an argument of a function with a variable number of them; null if it has no such
/// form.
Value promote(OpBuilder &builder, Location where, Value value) {
  Type type = value.getType();
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, where, builder.getI64Type(), value);
  if (isa<LLVM::LLVMPointerType>(type) || type.isInteger(32) || type.isInteger(64) || type.isF64())
    return value;
  if (type.isInteger(1))
    return arith::ExtUIOp::create(builder, where, builder.getI32Type(), value);
  if (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() < 32)
    return arith::ExtSIOp::create(builder, where, builder.getI32Type(), value);
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 64)
    return arith::ExtFOp::create(builder, where, builder.getF64Type(), value, {});
  return {};
}

LogicalResult lowerPrintf(gpu::GPUModuleOp module, gpu::PrintfOp op) {
  OpBuilder builder(op);
  Location where = op.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  LLVM::LLVMFuncOp printf =
      declare(module, "printf",
              LLVM::LLVMFunctionType::get(builder.getI32Type(), {pointer}, /*isVarArg=*/true));
  if (!printf)
    return op.emitError("found another function printf in the module");
  SmallVector<Value> args = {
      LLVM::AddressOfOp::create(builder, where, makeText(module, where, op.getFormat()))};
  for (Value value : op.getArgs()) {
    args.push_back(promote(builder, where, value));
    if (!args.back())
      return op.emitError("found an argument of type ") << value.getType() << ", expected a number";
  }
  LLVM::CallOp::create(builder, where, printf, args);
  op.erase();
  return success();
}

/// "FILE:LINE: FUNCTION" of the innermost call site.
std::string describeLocation(Location where) {
  if (auto call = dyn_cast<CallSiteLoc>(where))
    return describeLocation(call.getCallee());
  std::string function = "(unknown)";
  if (auto named = dyn_cast<NameLoc>(where)) {
    function = named.getName().str();
    where = named.getChildLoc();
  }
  auto file = dyn_cast<FileLineColLoc>(where);
  return (Twine(file ? file.getFilename().getValue() : "(unknown)") + ":" +
          Twine(file ? file.getLine() : 0) + ": " + function)
      .str();
}

std::string escapePercent(StringRef text) {
  std::string escaped;
  for (char c : text)
    escaped.append(c == '%' ? 2 : 1, c);
  return escaped;
}

void lowerAssert(gpu::GPUModuleOp module, cf::AssertOp op) {
  OpBuilder builder(op);
  Location where = op.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()),
                                          {builder.getI1Type(), pointer, pointer});
  std::string place = describeLocation(where),
              claim = ("Assertion `" + op.getMsg() + "` failed.").str();
  LLVM::GlobalOp format =
      makeText(module, where,
               escapePercent(place) + ": block: [%llu,%llu,%llu], thread: [%llu,%llu,%llu] " +
                   escapePercent(claim) + "\n");
  LLVM::GlobalOp error = makeText(module, where, place + ": " + claim);
  LLVM::CallOp::create(builder, where, declare(module, hostAssert, type),
                       ValueRange{op.getArg(), LLVM::AddressOfOp::create(builder, where, format),
                                  LLVM::AddressOfOp::create(builder, where, error)});
  op.erase();
}

} // namespace

LogicalResult kdl::lowerMessagesForHost(gpu::GPUModuleOp module) {
  WalkResult walked =
      module.walk([&](gpu::PrintfOp op) { return WalkResult(lowerPrintf(module, op)); });
  if (walked.wasInterrupted())
    return failure();
  for (auto kernel : module.getOps<gpu::GPUFuncOp>()) {
    if (kernel.isKernel())
      kernel.walk([&](cf::AssertOp op) { lowerAssert(module, op); });
  }
  return success();
}

/// Ends the item behind a failed assertion: prints it, and stores it where the launch looks.
static void makeFailure(llvm::BasicBlock *block, llvm::Function &item, llvm::Value *format,
                        llvm::Value *error) {
  llvm::Module &module = *item.getParent();
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(block);
  llvm::Type *word = builder.getInt32Ty(), *pointer = builder.getPtrTy();
  SmallVector<llvm::Value *> args = {builder.getInt32(2), format};
  for (unsigned first : {HostGroup, HostItem}) {
    for (unsigned i = 0; i < 3; ++i)
      args.push_back(item.getArg(first + i));
  }
  builder.CreateCall(
      module.getOrInsertFunction("dprintf", llvm::FunctionType::get(word, {word, pointer}, true)),
      args);
  llvm::Value *group = item.getArg(HostGroupStruct);
  auto *end = llvm::BasicBlock::Create(context, "kdl.end", &item);
  auto branch = [&](llvm::Value *goesOn) {
    auto *next = llvm::BasicBlock::Create(context, "kdl.error", &item, end);
    builder.CreateCondBr(goesOn, next, end);
    builder.SetInsertPoint(next);
  };
  branch(builder.CreateICmpUGE(builder.CreateAlignedLoad(word, group, llvm::Align(4)),
                               builder.getInt32(sizeof(kdl_host_group))));
  llvm::Value *place =
      builder.CreateAlignedLoad(pointer,
                                builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), group,
                                                                   offsetof(kdl_host_group, error)),
                                llvm::Align(8));
  branch(builder.CreateIsNotNull(place));
  builder.CreateAlignedStore(error, place, llvm::Align(8))
      ->setAtomic(llvm::AtomicOrdering::Monotonic);
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
}

void kdl::makeHostAssertions(llvm::Function &item) {
  llvm::Function *assertion = item.getParent()->getFunction(hostAssert);
  if (!assertion)
    return;
  for (llvm::User *user : llvm::make_early_inc_range(assertion->users())) {
    auto *call = dyn_cast<llvm::CallInst>(user);
    if (!call || call->getFunction() != &item)
      continue;
    llvm::BasicBlock *before = call->getParent();
    llvm::BasicBlock *after = before->splitBasicBlock(call->getIterator(), "kdl.holds");
    auto *failed = llvm::BasicBlock::Create(item.getContext(), "kdl.fails", &item);
    before->getTerminator()->eraseFromParent();
    llvm::IRBuilder<>(before).CreateCondBr(
        call->getArgOperand(0), after, failed,
        llvm::MDBuilder(item.getContext()).createLikelyBranchWeights());
    makeFailure(failed, item, call->getArgOperand(1), call->getArgOperand(2));
    call->eraseFromParent();
  }
}
