// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Translates #kdl.runtime_select to LLVM IR: one library per gpu.binary, one slot per kernel. The
// structs are those of mlir/runtime/kdl_mlir.h and <kdl/launch.h>.
#include "Dialect.h"
#include "GpuModules.h"
#include "ObjectPacking.h"

#include "../runtime/kdl_mlir.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// As #gpu.select_object: after the C library's constructors, before the program's.
constexpr int constructorPriority = 123;

// The layout that this file emits. A module may be translated before it has a data layout, so none
// is queried.
static_assert(sizeof(kdl_mlir_library) == 48 && offsetof(kdl_mlir_library, name) == 16);
static_assert(sizeof(kdl_mlir_slot) == 16 && sizeof(kdl_kernel_head) == 24);
static_assert(sizeof(kdl_mlir_stub) == 48 && offsetof(kdl_mlir_stub, slot) == 24);
static_assert(sizeof(kdl_launch_desc) == 56 && offsetof(kdl_launch_desc, grid) == 8 &&
              offsetof(kdl_launch_desc, block) == 20 && offsetof(kdl_launch_desc, shared) == 32 &&
              offsetof(kdl_launch_desc, flags) == 36 && offsetof(kdl_launch_desc, cluster) == 40 &&
              offsetof(kdl_launch_desc, threads) == 52);
static_assert(sizeof(kdl_args) == 24 && offsetof(kdl_args, pointers) == 8);

/// The types of the runtime's structs in one LLVM context.
struct Types {
  explicit Types(llvm::LLVMContext &context)
      : i32(llvm::Type::getInt32Ty(context)), i64(llvm::Type::getInt64Ty(context)),
        ptr(llvm::PointerType::getUnqual(context)),
        library(llvm::StructType::get(context, {i32, i32, i32, i32, ptr, ptr, i64, ptr})),
        head(llvm::StructType::get(context, {ptr, ptr, ptr})),
        slot(llvm::StructType::get(context, {ptr, ptr})),
        stub(llvm::StructType::get(context, {head, ptr, ptr, ptr})),
        extent(llvm::ArrayType::get(i32, 3)),
        desc(llvm::StructType::get(context, {i64, extent, extent, i32, i32, extent, i32})),
        args(llvm::StructType::get(context, {i64, ptr, ptr})),
        entry(llvm::FunctionType::get(i32, {ptr, ptr, ptr, ptr}, false)) {}

  llvm::IntegerType *i32;
  llvm::IntegerType *i64;
  llvm::PointerType *ptr;
  llvm::StructType *library; // kdl_mlir_library
  llvm::StructType *head;    // kdl_kernel_head
  llvm::StructType *slot;    // kdl_mlir_slot
  llvm::StructType *stub;    // kdl_mlir_stub
  llvm::ArrayType *extent;
  llvm::StructType *desc;    // kdl_launch_desc
  llvm::StructType *args;    // kdl_args
  llvm::FunctionType *entry; // kdl_launch_entry
};

std::string symbol(StringRef binary, StringRef what) {
  return (binary + "_kdl_" + what).str();
}

llvm::GlobalVariable *makeString(llvm::Module &module, StringRef text, const llvm::Twine &name) {
  llvm::Constant *bytes = llvm::ConstantDataArray::getString(module.getContext(), text);
  auto *made = new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                                        llvm::GlobalValue::PrivateLinkage, bytes, name);
  made->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return made;
}

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

/// The library's struct. A launch may be translated before its binary, so either may create it.
llvm::GlobalVariable *getLibrary(llvm::Module &module, const Types &types, StringRef binary) {
  std::string name = symbol(binary, "library");
  if (llvm::GlobalVariable *known = module.getGlobalVariable(name, /*AllowInternal=*/true))
    return known;
  return new llvm::GlobalVariable(module, types.library, /*isConstant=*/false,
                                  llvm::GlobalValue::InternalLinkage,
                                  llvm::ConstantAggregateZero::get(types.library), name);
}

/// The bytes are in a section that linkers keep and that kdl lists; its size is a multiple of 8, so
/// that several libraries follow one another without gaps. In `.llvm.offloading`,
/// clang-linker-wrapper would link them as device code.
llvm::GlobalVariable *embed(llvm::Module &module, ArrayRef<char> bytes, StringRef binary) {
  llvm::Constant *data = llvm::ConstantDataArray::get(module.getContext(), bytes);
  auto *made =
      new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::InternalLinkage, data, symbol(binary, "data"));
  made->setSection(".kdl.offloading");
  made->setAlignment(llvm::Align(8));
  return made;
}

llvm::Function *makeCaller(llvm::Module &module, const Types &types, StringRef name,
                           StringRef callee, llvm::Value *argument) {
  llvm::LLVMContext &context = module.getContext();
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto *made = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", made));
  llvm::FunctionCallee called = module.getOrInsertFunction(callee, builder.getVoidTy(), types.ptr);
  builder.CreateCall(called, argument);
  builder.CreateRetVoid();
  return made;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// If only another launch follows, its wait is enough: launches without a stream run in order.
/// kdl-defer-waits works across blocks.
bool isWaitNeeded(gpu::LaunchFuncOp launch, SymbolTableCollection &symbols) {
  if (launch->hasAttr(deferredAttr))
    return false;
  for (Operation *next = launch->getNextNode(); next; next = next->getNextNode()) {
    if (auto other = dyn_cast<gpu::LaunchFuncOp>(next))
      return !isSynchronousLaunch(other, symbols);
    if (canObserveKernels(*next) || next->hasTrait<OpTrait::IsTerminator>())
      return true;
  }
  return true;
}

class Launch {
public:
  Launch(gpu::LaunchFuncOp op, gpu::BinaryOp binary, llvm::IRBuilderBase &builder,
         LLVM::ModuleTranslation &translation)
      : op(op), binary(binary), builder(builder), translation(translation),
        module(*translation.getLLVMModule()), types(module.getContext()),
        function(*builder.GetInsertBlock()->getParent()) {}

  void emit();

private:
  llvm::Value *value(Value mlirValue) { return translation.lookupValue(mlirValue); }
  llvm::Value *makeAlloca(llvm::Type *type, const llvm::Twine &name);
  llvm::Value *makeExtent(Value dimension);
  llvm::Value *makeDesc();
  llvm::Value *makeArgs();
  llvm::GlobalVariable *getSlot();
  llvm::GlobalVariable *makeStub(llvm::GlobalVariable *slot);
  llvm::Value *loadShared(llvm::Value *from, const llvm::Twine &name);
  void failIf(llvm::Value *status, llvm::Value *desc);

  gpu::LaunchFuncOp op;
  gpu::BinaryOp binary;
  llvm::IRBuilderBase &builder;
  LLVM::ModuleTranslation &translation;
  llvm::Module &module;
  Types types;
  llvm::Function &function;
};

/// In the entry block: a launch in a loop then uses one stack slot, not one per iteration.
llvm::Value *Launch::makeAlloca(llvm::Type *type, const llvm::Twine &name) {
  llvm::BasicBlock &entry = function.getEntryBlock();
  const llvm::DataLayout &layout = module.getDataLayout();
  return new llvm::AllocaInst(type, layout.getAllocaAddrSpace(), /*ArraySize=*/nullptr,
                              std::max(layout.getPrefTypeAlign(type), llvm::Align(8)), name,
                              entry.begin());
}

/// A dimension as the driver takes it. One that does not fit becomes the largest value, so that the
/// launch is refused and not done in part.
llvm::Value *Launch::makeExtent(Value dimension) {
  llvm::Value *size = value(dimension);
  unsigned width = size->getType()->getIntegerBitWidth();
  if (width > 32)
    size = builder.CreateBinaryIntrinsic(
        llvm::Intrinsic::umin, size,
        llvm::ConstantInt::get(size->getType(), llvm::APInt::getLowBitsSet(width, 32)));
  return builder.CreateZExtOrTrunc(size, types.i32);
}

/// The kdl_launch_desc: a constant if the launch's shape is constant, else on the stack.
llvm::Value *Launch::makeDesc() {
  auto three = [&](gpu::KernelDim3 dims) {
    return std::array{makeExtent(dims.x), makeExtent(dims.y), makeExtent(dims.z)};
  };
  llvm::Value *zero = builder.getInt32(0);
  std::array<llvm::Value *, 3> grid = three(op.getGridSizeOperandValues());
  std::array<llvm::Value *, 3> block = three(op.getBlockSizeOperandValues());
  std::array<llvm::Value *, 3> cluster = {zero, zero, zero};
  if (op.hasClusterSize())
    cluster = three(op.getClusterSizeOperandValues());
  llvm::Value *shared = zero;
  if (Value size = op.getDynamicSharedMemorySize())
    shared = makeExtent(size);

  SmallVector<llvm::Value *> words(grid.begin(), grid.end());
  words.append(block.begin(), block.end());
  words.append({shared, /*flags=*/zero});
  words.append(cluster.begin(), cluster.end());
  words.push_back(/*threads=*/zero);
  llvm::ConstantInt *size = builder.getInt64(sizeof(kdl_launch_desc));
  if (llvm::all_of(words, llvm::IsaPred<llvm::Constant>)) {
    auto constant = [&](size_t i) { return cast<llvm::Constant>(words[i]); };
    auto extent = [&](size_t i) {
      return llvm::ConstantArray::get(types.extent,
                                      {constant(i), constant(i + 1), constant(i + 2)});
    };
    llvm::Constant *whole =
        llvm::ConstantStruct::get(types.desc, {size, extent(0), extent(3), constant(6), constant(7),
                                               extent(8), constant(11)});
    auto *made = new llvm::GlobalVariable(module, types.desc, /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, whole,
                                          symbol(binary.getName(), "desc"));
    made->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return made;
  }
  llvm::Value *desc = makeAlloca(types.desc, "kdl.desc");
  builder.CreateStore(size, desc);
  for (auto [i, word] : llvm::enumerate(words))
    builder.CreateStore(word, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), desc,
                                                                 8 + 4 * static_cast<uint64_t>(i)));
  return desc;
}

/// The kdl_args: pointers to values on the stack.
llvm::Value *Launch::makeArgs() {
  SmallVector<llvm::Value *> values = translation.lookupValues(op.getKernelOperands());
  auto *pointersType = llvm::ArrayType::get(types.ptr, values.size());
  llvm::Value *pointers = makeAlloca(pointersType, "kdl.pointers");
  for (auto [i, value] : llvm::enumerate(values)) {
    llvm::Value *place = makeAlloca(value->getType(), "kdl.arg");
    builder.CreateStore(value, place);
    builder.CreateStore(place, builder.CreateConstInBoundsGEP2_64(pointersType, pointers, 0, i));
  }
  llvm::Value *args = makeAlloca(types.args, "kdl.args");
  llvm::Value *fields[] = {builder.getInt64(values.size()), pointers,
                           llvm::ConstantPointerNull::get(types.ptr)};
  for (auto [i, field] : llvm::enumerate(fields))
    builder.CreateStore(field, builder.CreateStructGEP(types.args, args, static_cast<unsigned>(i)));
  return args;
}

llvm::GlobalVariable *Launch::makeStub(llvm::GlobalVariable *slot) {
  StringRef kernel = op.getKernelName().getValue();
  llvm::Constant *null = llvm::ConstantPointerNull::get(types.ptr);
  auto *bind =
      cast<llvm::Constant>(module.getOrInsertFunction("kdl_mlir_bind", types.entry).getCallee());
  llvm::Constant *head = llvm::ConstantStruct::get(types.head, {bind, null, null});
  llvm::Constant *whole = llvm::ConstantStruct::get(
      types.stub, {head, slot, getLibrary(module, types, binary.getName()),
                   makeString(module, kernel, slot->getName() + "_name")});
  return new llvm::GlobalVariable(module, types.stub, /*isConstant=*/true,
                                  llvm::GlobalValue::InternalLinkage, whole,
                                  symbol(binary.getName(), ("stub_" + kernel).str()));
}

llvm::GlobalVariable *Launch::getSlot() {
  std::string name = symbol(binary.getName(), ("slot_" + op.getKernelName().getValue()).str());
  if (llvm::GlobalVariable *known = module.getGlobalVariable(name, /*AllowInternal=*/true))
    return known;
  auto *slot = new llvm::GlobalVariable(module, types.slot, /*isConstant=*/false,
                                        llvm::GlobalValue::InternalLinkage, nullptr, name);
  slot->setInitializer(llvm::ConstantStruct::get(
      types.slot, {makeStub(slot), llvm::ConstantPointerNull::get(types.ptr)}));
  return slot;
}

/// Loads a pointer that another thread may be replacing.
llvm::Value *Launch::loadShared(llvm::Value *from, const llvm::Twine &name) {
  llvm::LoadInst *load = builder.CreateAlignedLoad(types.ptr, from, llvm::Align(8), name);
  load->setAtomic(llvm::AtomicOrdering::Acquire);
  return load;
}

void Launch::failIf(llvm::Value *status, llvm::Value *desc) {
  llvm::LLVMContext &context = module.getContext();
  auto *failed = llvm::BasicBlock::Create(context, "kdl.failed", &function);
  auto *launched = llvm::BasicBlock::Create(context, "kdl.launched", &function);
  builder.CreateCondBr(builder.CreateICmpNE(status, builder.getInt32(0)), failed, launched,
                       llvm::MDBuilder(context).createUnlikelyBranchWeights());
  builder.SetInsertPoint(failed);
  llvm::FunctionCallee tell = module.getOrInsertFunction("kdl_mlir_launch_failed",
                                                         builder.getVoidTy(), types.ptr, types.ptr);
  auto *stub = module.getGlobalVariable(
      symbol(binary.getName(), ("stub_" + op.getKernelName().getValue()).str()),
      /*AllowInternal=*/true);
  builder.CreateCall(tell, {stub, desc});
  builder.CreateBr(launched);
  builder.SetInsertPoint(launched);
}

void Launch::emit() {
  llvm::GlobalVariable *slot = getSlot();
  llvm::Value *desc = makeDesc();
  llvm::Value *args = makeArgs();
  llvm::Value *handle = loadShared(slot, "kdl.handle");
  llvm::Value *entry = loadShared(handle, "kdl.entry");
  Value stream = op.getAsyncObject();
  llvm::Value *queueAt =
      stream ? value(stream) : builder.CreateStructGEP(types.slot, slot, 1, "kdl.queue_at");
  llvm::LoadInst *queue =
      builder.CreateAlignedLoad(types.ptr, queueAt, llvm::Align(8), "kdl.queue");
  if (!stream)
    queue->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::Value *status = builder.CreateCall(types.entry, entry, {handle, desc, args, queue});
  failIf(status, desc);
  SymbolTableCollection symbols;
  if (!stream && isWaitNeeded(op, symbols))
    builder.CreateCall(module.getOrInsertFunction("kdl_mlir_wait", builder.getVoidTy()));
}

} // namespace

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

LogicalResult RuntimeSelectAttr::embedBinary(Operation *operation, llvm::IRBuilderBase &,
                                             LLVM::ModuleTranslation &translation) const {
  auto binary = dyn_cast<gpu::BinaryOp>(operation);
  if (!binary)
    return operation->emitError("found no gpu.binary");
  FailureOr<SmallVector<char, 0>> bytes = packObjects(binary);
  if (failed(bytes))
    return failure();
  llvm::Module &module = *translation.getLLVMModule();
  Types types(module.getContext());
  StringRef name = binary.getName();
  auto word = [&](uint32_t number) { return llvm::ConstantInt::get(types.i32, number); };
  llvm::GlobalVariable *library = getLibrary(module, types, name);
  library->setInitializer(llvm::ConstantStruct::get(
      types.library, {word(KDL_MLIR_ABI), word(static_cast<uint32_t>(getPolicy())),
                      word(static_cast<uint32_t>(getFallback())), word(0),
                      makeString(module, ("@" + name).str(), symbol(name, "name")),
                      embed(module, *bytes, name), llvm::ConstantInt::get(types.i64, bytes->size()),
                      llvm::ConstantPointerNull::get(types.ptr)}));
  llvm::appendToGlobalCtors(
      module, makeCaller(module, types, symbol(name, "register"), "kdl_mlir_register", library),
      constructorPriority);
  llvm::appendToGlobalDtors(
      module, makeCaller(module, types, symbol(name, "unregister"), "kdl_mlir_unregister", library),
      constructorPriority);
  return success();
}

LogicalResult RuntimeSelectAttr::launchKernel(Operation *launchOperation,
                                              Operation *binaryOperation,
                                              llvm::IRBuilderBase &builder,
                                              LLVM::ModuleTranslation &translation) const {
  auto launch = dyn_cast<gpu::LaunchFuncOp>(launchOperation);
  auto binary = dyn_cast<gpu::BinaryOp>(binaryOperation);
  if (!launch || !binary)
    return launchOperation->emitError("found no gpu.launch_func of a gpu.binary");
  if (failed(verifyLaunch(launch, binary)))
    return failure();
  Launch(launch, binary, builder, translation).emit();
  return success();
}
