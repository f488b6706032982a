// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns functions for one work-item into functions for a group, in LLVM IR. Without barriers, the
// group is three loops around the item, which LLVM vectorises. With barriers, each item is a
// coroutine that suspends at barriers, and the group resumes them in turn: this handles barriers
// anywhere, also in loops and branches.
#include "host/HostKernels.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <kdl/host_abi.h>

using namespace mlir;
using namespace mlir::kdl;

namespace {

// The offsets that are used below.
static_assert(offsetof(kdl_host_group, group) == 4 && offsetof(kdl_host_group, group_count) == 16 &&
              offsetof(kdl_host_group, block) == 28 &&
              offsetof(kdl_host_group, shared_size) == 52 &&
              offsetof(kdl_host_group, shared) == 56);
static_assert(sizeof(kdl_host_kernel) == 56 && offsetof(kdl_host_kernel, run) == 8 &&
              offsetof(kdl_host_kernel, block) == 16 && offsetof(kdl_host_kernel, params) == 48);

/// What an item waits for.
enum WaitState : uint8_t { WaitGroup = 1, WaitSubgroup = 2 };

/// How a group schedules its items. `%handles` are coroutines that have each run to their first
/// wait or to their end, `%state` is what each waits for. An item that waits for its subgroup
/// resumes when all others of the subgroup wait or are done; one that waits for the group, when all
/// items do. A wait skips the items that it does not concern, so that a shuffle in one subgroup and
/// a barrier after it stay in step.
constexpr char turnsIR[] = R"(
declare i1 @llvm.coro.done(ptr)
declare void @llvm.coro.resume(ptr)
declare void @llvm.coro.destroy(ptr)

define internal i1 @kdl.resume(ptr %handles, ptr %state, i64 %first, i64 %end, i8 %kind) {
entry:
  br label %next
next:
  %i = phi i64 [ %first, %entry ], [ %i1, %step ]
  %any = phi i1 [ false, %entry ], [ %any1, %step ]
  %more = icmp ult i64 %i, %end
  br i1 %more, label %look, label %out
look:
  %handle_at = getelementptr ptr, ptr %handles, i64 %i
  %handle = load ptr, ptr %handle_at
  %done = call i1 @llvm.coro.done(ptr %handle)
  br i1 %done, label %step, label %alive
alive:
  %state_at = getelementptr i8, ptr %state, i64 %i
  %why = load i8, ptr %state_at
  %mine = icmp eq i8 %why, %kind
  br i1 %mine, label %resume, label %step
resume:
  call void @llvm.coro.resume(ptr %handle)
  br label %step
step:
  %any1 = phi i1 [ %any, %look ], [ %any, %alive ], [ true, %resume ]
  %i1 = add i64 %i, 1
  br label %next
out:
  ret i1 %any
}

define internal void @kdl.take_turns(ptr %handles, ptr %state, i64 %count) {
entry:
  br label %subgroup
subgroup:
  %first = phi i64 [ 0, %entry ], [ 0, %group ], [ %end, %settled ]
  %left = sub i64 %count, %first
  %size = call i64 @llvm.umin.i64(i64 %left, i64 32)
  %end = add i64 %first, %size
  br label %settle
settle:
  %moved = call i1 @kdl.resume(ptr %handles, ptr %state, i64 %first, i64 %end, i8 2)
  br i1 %moved, label %settle, label %settled
settled:
  %more = icmp ult i64 %end, %count
  br i1 %more, label %subgroup, label %group
group:
  %waited = call i1 @kdl.resume(ptr %handles, ptr %state, i64 0, i64 %count, i8 1)
  br i1 %waited, label %subgroup, label %end_all
end_all:
  br label %next
next:
  %i = phi i64 [ 0, %end_all ], [ %i1, %destroy ]
  %i_more = icmp ult i64 %i, %count
  br i1 %i_more, label %destroy, label %out
destroy:
  %handle_at = getelementptr ptr, ptr %handles, i64 %i
  %handle = load ptr, ptr %handle_at
  call void @llvm.coro.destroy(ptr %handle)
  %i1 = add i64 %i, 1
  br label %next
out:
  ret void
}
)";
static_assert(hostSubgroupSize == 32 && WaitGroup == 1 && WaitSubgroup == 2,
              "these numbers stand in the text above");

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

SmallVector<llvm::CallInst *> callsOf(llvm::Function &function, StringRef callee) {
  SmallVector<llvm::CallInst *> calls;
  if (llvm::Function *called = function.getParent()->getFunction(callee)) {
    for (llvm::User *user : called->users()) {
      auto *call = dyn_cast<llvm::CallInst>(user);
      if (call && call->getFunction() == &function)
        calls.push_back(call);
    }
  }
  return calls;
}

/// Turns the item into a coroutine that starts when it is called. It stores what it waits for in
/// its state, and the call returns its handle.
class Coroutine {
public:
  explicit Coroutine(llvm::Function &item)
      : item(item), module(*item.getParent()), context(item.getContext()),
        builder(&item.getEntryBlock()) {}

  llvm::Function *make();

private:
  void begin();
  void makeEnds();
  void suspend(llvm::CallInst *call, WaitState why);
  llvm::CallInst *intrinsic(llvm::Intrinsic::ID id, ArrayRef<llvm::Value *> args,
                            ArrayRef<llvm::Type *> types = {}) {
    return builder.CreateCall(llvm::Intrinsic::getOrInsertDeclaration(&module, id, types), args);
  }

  llvm::Function &item;
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> builder;
  llvm::Function *made = nullptr;
  llvm::Value *id = nullptr, *handle = nullptr, *state = nullptr;
  llvm::BasicBlock *cleanup = nullptr, *leave = nullptr;
};

void Coroutine::begin() {
  auto *pointer = builder.getPtrTy();
  auto *null = llvm::ConstantPointerNull::get(pointer);
  llvm::BasicBlock *first = &made->getEntryBlock();
  auto *entry = llvm::BasicBlock::Create(context, "begin", made, first);
  builder.SetInsertPoint(entry);
  id = intrinsic(llvm::Intrinsic::coro_id, {builder.getInt32(0), null, null, null});
  llvm::Value *size = intrinsic(llvm::Intrinsic::coro_size, {}, builder.getInt64Ty());
  llvm::FunctionCallee allocate =
      module.getOrInsertFunction("malloc", pointer, builder.getInt64Ty());
  handle = intrinsic(llvm::Intrinsic::coro_begin, {id, builder.CreateCall(allocate, size)});
  builder.CreateBr(first);
  // Moves allocas to the entry block: those that live across a wait go into the frame.
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(*first)) {
    if (isa<llvm::AllocaInst>(instruction))
      instruction.moveBefore(entry->begin());
  }
}

void Coroutine::makeEnds() {
  cleanup = llvm::BasicBlock::Create(context, "cleanup", made);
  leave = llvm::BasicBlock::Create(context, "leave", made);
  builder.SetInsertPoint(cleanup);
  llvm::Value *memory = intrinsic(llvm::Intrinsic::coro_free, {id, handle});
  builder.CreateCall(module.getOrInsertFunction("free", builder.getVoidTy(), builder.getPtrTy()),
                     memory);
  builder.CreateBr(leave);
  builder.SetInsertPoint(leave);
  intrinsic(llvm::Intrinsic::coro_end,
            {handle, builder.getFalse(), llvm::ConstantTokenNone::get(context)});
  builder.CreateRet(handle);
}

void Coroutine::suspend(llvm::CallInst *call, WaitState why) {
  llvm::BasicBlock *after = call->getParent()->splitBasicBlock(call->getIterator(), "resumed");
  builder.SetInsertPoint(after->getSinglePredecessor()->getTerminator());
  builder.CreateStore(builder.getInt8(why), state);
  llvm::Value *outcome = intrinsic(llvm::Intrinsic::coro_suspend,
                                   {llvm::ConstantTokenNone::get(context), builder.getFalse()});
  llvm::SwitchInst *branch = builder.CreateSwitch(outcome, leave, 2);
  branch->addCase(builder.getInt8(0), after);
  branch->addCase(builder.getInt8(1), cleanup);
  branch->getParent()->getTerminator()->eraseFromParent();
  call->eraseFromParent();
}

llvm::Function *Coroutine::make() {
  auto *type = llvm::FunctionType::get(builder.getPtrTy(), item.getFunctionType()->params(), false);
  made = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, item.getName() + ".item",
                                module);
  made->setPresplitCoroutine();
  made->splice(made->begin(), &item);
  for (auto [from, to] : llvm::zip_equal(item.args(), made->args()))
    from.replaceAllUsesWith(&to);
  state = made->getArg(HostState);
  begin();
  makeEnds();
  for (auto [callee, why] : {std::pair{hostBarrier, WaitGroup}, {hostExchange, WaitSubgroup}}) {
    for (llvm::CallInst *call : callsOf(*made, callee))
      suspend(call, why);
  }
  // A coroutine has one last suspend point.
  auto *end = llvm::BasicBlock::Create(context, "end", made, cleanup);
  for (llvm::BasicBlock &block : *made) {
    auto *ret = dyn_cast_or_null<llvm::ReturnInst>(block.empty() ? nullptr : &block.back());
    if (!ret || &block == leave)
      continue;
    builder.SetInsertPoint(ret);
    builder.CreateBr(end);
    ret->eraseFromParent();
  }
  builder.SetInsertPoint(end);
  llvm::Value *outcome = intrinsic(llvm::Intrinsic::coro_suspend,
                                   {llvm::ConstantTokenNone::get(context), builder.getTrue()});
  builder.CreateSwitch(outcome, leave, 1)->addCase(builder.getInt8(1), cleanup);
  return made;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The exported function of a kernel: one group per call.
class GroupFunction {
public:
  GroupFunction(llvm::Function &item, const HostKernel &kernel)
      : item(item), kernel(kernel), module(*item.getParent()), builder(&item.getEntryBlock()) {}

  llvm::Function *make();
  void describe(llvm::Function *run);

private:
  llvm::Value *loadWord(uint64_t offset);
  SmallVector<llvm::Value *> loadParams();
  void forEachItem(function_ref<void(llvm::Value *linear)> body);
  void runItems();
  void runCoroutines();

  llvm::Function &item;
  const HostKernel &kernel;
  llvm::Module &module;
  llvm::IRBuilder<> builder;
  llvm::Function *made = nullptr;
  SmallVector<llvm::Value *> params;
};

llvm::Value *GroupFunction::loadWord(uint64_t offset) {
  llvm::Value *at =
      builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), made->getArg(0), offset);
  llvm::Value *word = builder.CreateAlignedLoad(builder.getInt32Ty(), at, llvm::Align(4));
  return builder.CreateZExt(word, builder.getInt64Ty());
}

SmallVector<llvm::Value *> GroupFunction::loadParams() {
  SmallVector<llvm::Value *> loaded(HostItemParamCount);
  for (unsigned i = 0; i < 3; ++i) {
    loaded[HostGroup + i] = loadWord(offsetof(kdl_host_group, group) + 4 * i);
    loaded[HostGroupCount + i] = loadWord(offsetof(kdl_host_group, group_count) + 4 * i);
    loaded[HostBlock + i] = kernel.block.empty()
                                ? loadWord(offsetof(kdl_host_group, block) + 4 * i)
                                : builder.getInt64(static_cast<uint64_t>(kernel.block[i]));
  }
  loaded[HostSharedSize] = loadWord(offsetof(kdl_host_group, shared_size));
  loaded[HostShared] = builder.CreateAlignedLoad(
      builder.getPtrTy(),
      builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), made->getArg(0),
                                         offsetof(kdl_host_group, shared)),
      llvm::Align(8));
  loaded[HostGroupStruct] = made->getArg(0);
  loaded[HostExchange] = loaded[HostState] = llvm::ConstantPointerNull::get(builder.getPtrTy());
  for (unsigned i = HostItemParamCount; i < item.arg_size(); ++i) {
    llvm::Value *at = builder.CreateConstInBoundsGEP1_64(builder.getPtrTy(), made->getArg(1),
                                                         i - HostItemParamCount);
    llvm::Value *value = builder.CreateLoad(builder.getPtrTy(), at);
    loaded.push_back(builder.CreateLoad(item.getArg(i)->getType(), value));
  }
  return loaded;
}

/// Three loops, x innermost; sets the item of each iteration in `params`.
void GroupFunction::forEachItem(function_ref<void(llvm::Value *)> body) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i64 = builder.getInt64Ty();
  struct Loop {
    llvm::BasicBlock *head, *done;
    llvm::PHINode *counter;
  };
  SmallVector<Loop> loops;
  llvm::Value *linear = builder.getInt64(0);
  for (unsigned i : {2u, 1u, 0u}) {
    llvm::BasicBlock *before = builder.GetInsertBlock();
    Loop loop{llvm::BasicBlock::Create(context, "item", made),
              llvm::BasicBlock::Create(context, "done", made), nullptr};
    builder.CreateBr(loop.head);
    builder.SetInsertPoint(loop.head);
    loop.counter = builder.CreatePHI(i64, 2);
    loop.counter->addIncoming(builder.getInt64(0), before);
    linear = builder.CreateAdd(builder.CreateMul(linear, params[HostBlock + i]), loop.counter);
    params[HostItem + i] = loop.counter;
    loops.push_back(loop);
  }
  body(linear);
  for (unsigned i : {0u, 1u, 2u}) {
    Loop loop = loops.pop_back_val();
    llvm::Value *next = builder.CreateAdd(loop.counter, builder.getInt64(1), "", /*NUW=*/true);
    loop.counter->addIncoming(next, builder.GetInsertBlock());
    builder.CreateCondBr(builder.CreateICmpULT(next, params[HostBlock + i]), loop.head, loop.done);
    builder.SetInsertPoint(loop.done);
  }
}

void GroupFunction::runItems() {
  item.addFnAttr(llvm::Attribute::AlwaysInline);
  forEachItem([&](llvm::Value *) { builder.CreateCall(&item, params); });
}

/// Allocates for a group of coroutines: handles, and 16 bytes to exchange and a state for each.
void GroupFunction::runCoroutines() {
  llvm::Type *i64 = builder.getInt64Ty(), *pointer = builder.getPtrTy();
  llvm::Function *coroutine = Coroutine(item).make();
  llvm::Value *count = builder.CreateMul(
      builder.CreateMul(params[HostBlock], params[HostBlock + 1]), params[HostBlock + 2]);
  auto place = [&](llvm::Value *base, llvm::Value *index, uint64_t size) {
    return builder.CreateGEP(builder.getInt8Ty(), base,
                             builder.CreateMul(index, builder.getInt64(size)));
  };
  llvm::Value *memory =
      builder.CreateCall(module.getOrInsertFunction("malloc", pointer, i64),
                         builder.CreateMul(count, builder.getInt64(16 + sizeof(void *) + 1)));
  llvm::Value *handles = place(memory, count, 16);
  llvm::Value *states = place(handles, count, sizeof(void *));
  params[HostExchange] = memory;
  forEachItem([&](llvm::Value *linear) {
    params[HostState] = place(states, linear, 1);
    llvm::Value *handle = builder.CreateCall(coroutine, params);
    builder.CreateStore(handle, place(handles, linear, sizeof(void *)));
  });
  builder.CreateCall(module.getFunction("kdl.take_turns"), {handles, states, count});
  builder.CreateCall(module.getOrInsertFunction("free", builder.getVoidTy(), pointer), memory);
}

llvm::Function *GroupFunction::make() {
  llvm::Type *pointer = builder.getPtrTy();
  makeHostAssertions(item);
  bool waits = !callsOf(item, hostBarrier).empty() || !callsOf(item, hostExchange).empty();
  std::string name = item.getName().str();
  item.setName(name + ".item");
  item.setLinkage(llvm::GlobalValue::InternalLinkage);
  made = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer}, false),
      llvm::GlobalValue::ExternalLinkage, name, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", made));
  params = loadParams();
  if (waits)
    runCoroutines();
  else
    runItems();
  builder.CreateRetVoid();
  describe(made);
  if (item.use_empty())
    item.eraseFromParent();
  return made;
}

/// kdl_host_kernel_NAME.
void GroupFunction::describe(llvm::Function *run) {
  llvm::LLVMContext &context = module.getContext();
  const llvm::DataLayout &layout = module.getDataLayout();
  auto *word = builder.getInt32Ty();
  auto number = [&](uint64_t value) {
    return llvm::ConstantInt::get(word, static_cast<uint32_t>(value));
  };
  SmallVector<llvm::Constant *> words;
  unsigned count = 0;
  for (const llvm::Argument &argument : item.args()) {
    if (argument.getArgNo() < HostItemParamCount)
      continue;
    words.push_back(number(layout.getTypeAllocSize(argument.getType())));
    words.push_back(number(layout.getABITypeAlign(argument.getType()).value()));
    ++count;
  }
  auto *list = llvm::ConstantArray::get(llvm::ArrayType::get(word, words.size()), words);
  auto *shown =
      new llvm::GlobalVariable(module, list->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::PrivateLinkage, list, run->getName() + ".params");
  shown->setAlignment(llvm::Align(4));
  SmallVector<llvm::Constant *> block(3, number(0));
  for (auto [i, size] : llvm::enumerate(kernel.block))
    block[i] = number(static_cast<uint64_t>(size));
  llvm::Constant *extent = llvm::ConstantArray::get(llvm::ArrayType::get(word, 3), block);
  llvm::Constant *whole = llvm::ConstantStruct::getAnon(
      context, {number(KDL_HOST_ABI), number(sizeof(kdl_host_kernel)), run, extent, extent,
                number(kernel.sharedSize), number(count), shown});
  new llvm::GlobalVariable(module, whole->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, whole,
                           "kdl_host_kernel_" + run->getName());
}

} // namespace

void kdl::makeHostGroups(llvm::Module &module, ArrayRef<HostKernel> kernels) {
  llvm::SMDiagnostic problem;
  if (llvm::parseAssemblyInto(llvm::MemoryBufferRef(turnsIR, "turns"), &module, nullptr, problem))
    llvm::report_fatal_error(problem.getMessage());
  for (const HostKernel &kernel : kernels)
    GroupFunction(*module.getFunction(kernel.name), kernel).make();
}
