// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host/HostKernels.h"
#include "GpuModules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

constexpr uint64_t sharedAlignment = 64;
constexpr int64_t exchangeSize = 16;

/// Expands reductions as MLIR's GPU pipelines do: shuffles, group memory and barriers.
LogicalResult expandReductions(gpu::GPUModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateGpuAllReducePatterns(patterns);
  populateGpuBreakDownSubgroupReducePatterns(patterns, /*maxShuffleBitwidth=*/64);
  populateGpuLowerSubgroupReduceToShufflePatterns(patterns, hostSubgroupSize,
                                                  /*shuffleBitwidth=*/64);
  populateGpuLowerClusteredSubgroupReduceToShufflePatterns(patterns, hostSubgroupSize,
                                                           /*shuffleBitwidth=*/64);
  populateGpuGlobalIdPatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

/// Group memory that a module declares as variables or allocations; each one has an offset in every
/// kernel's memory.
class SharedLayout {
public:
  FailureOr<uint64_t> add(MemRefType type, Location where) {
    if (!type.hasStaticShape() || !type.getLayout().isIdentity())
      return emitError(where) << "found group memory of type " << type
                              << ", expected a static shape without a layout";
    uint64_t at = llvm::alignTo(size, sharedAlignment);
    uint64_t bits = DataLayout().getTypeSizeInBits(type.getElementType());
    size = at + static_cast<uint64_t>(type.getNumElements()) * llvm::divideCeil(bits, 8);
    return at;
  }
  uint64_t end() const { return llvm::alignTo(size, sharedAlignment); }

private:
  uint64_t size = 0;
};

/// Rewrites one kernel into a function for one work-item.
class KernelRewriter {
public:
  KernelRewriter(gpu::GPUFuncOp kernel, SharedLayout layout,
                 const DenseMap<Operation *, uint64_t> &places)
      : kernel(kernel), layout(layout), places(places), builder(kernel.getContext()),
        where(kernel.getLoc()) {}

  FailureOr<HostKernel> rewrite();

private:
  func::FuncOp makeFunction();
  LogicalResult placeAttributions(Block &entry);
  LogicalResult replaceOps(func::FuncOp function);
  LogicalResult replaceOp(Operation *op);
  Value shuffle(gpu::ShuffleOp op, Value &valid);
  Value viewShared(MemRefType type, uint64_t at);
  Value sharedBytes();
  Value param(unsigned index) { return entryBlock->getArgument(index); }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, where, value); }
  Value linearItem();
  Value itemCount();
  void callWait(StringRef name) { LLVM::CallOp::create(builder, where, TypeRange(), name); }

  gpu::GPUFuncOp kernel;
  SharedLayout layout;
  const DenseMap<Operation *, uint64_t> &places;
  OpBuilder builder;
  Location where;
  Block *entryBlock = nullptr;
};

func::FuncOp KernelRewriter::makeFunction() {
  MLIRContext *context = kernel.getContext();
  Type indexType = builder.getIndexType();
  Type pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> types(HostItemParamCount, indexType);
  types[HostShared] = types[HostExchange] = types[HostState] = types[HostGroupStruct] = pointer;
  llvm::append_range(types, kernel.getFunctionType().getInputs());
  builder.setInsertionPoint(kernel->getParentOp());
  return func::FuncOp::create(builder, where, kernel.getName(),
                              FunctionType::get(context, types, {}));
}

/// The group's memory as a memref of bytes. No operation makes a memref from a pointer, so this
/// builds its descriptor; the cast folds away in a later lowering.
Value KernelRewriter::sharedBytes() {
  MLIRContext *context = kernel.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();
  Type array = LLVM::LLVMArrayType::get(i64, 1);
  auto type = LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, i64, array, array});
  auto number = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, where, i64, builder.getI64IntegerAttr(value));
  };
  Value size = arith::IndexCastOp::create(builder, where, i64, param(HostSharedSize));
  Value built = LLVM::UndefOp::create(builder, where, type);
  std::pair<Value, SmallVector<int64_t>> fields[] = {{param(HostShared), {0}},
                                                     {param(HostShared), {1}},
                                                     {number(0), {2}},
                                                     {size, {3, 0}},
                                                     {number(1), {4, 0}}};
  for (auto &[value, position] : fields)
    built = LLVM::InsertValueOp::create(builder, where, built, value, position);
  auto bytes = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  return UnrealizedConversionCastOp::create(builder, where, TypeRange{bytes}, ValueRange{built})
      .getResult(0);
}

Value KernelRewriter::viewShared(MemRefType type, uint64_t at) {
  return memref::ViewOp::create(builder, where, type, sharedBytes(),
                                index(static_cast<int64_t>(at)), ValueRange());
}

/// Arguments of the entry block for memory of the group or of the work-item.
LogicalResult KernelRewriter::placeAttributions(Block &entry) {
  unsigned first = HostItemParamCount + kernel.getFunctionType().getNumInputs();
  unsigned workgroups = kernel.getNumWorkgroupAttributions();
  builder.setInsertionPointToStart(&entry);
  for (unsigned i = first, end = entry.getNumArguments(); i < end; ++i) {
    BlockArgument argument = entry.getArgument(i);
    auto type = cast<MemRefType>(argument.getType());
    Value memory;
    if (i < first + workgroups) {
      FailureOr<uint64_t> at = layout.add(type, where);
      if (failed(at))
        return failure();
      memory = viewShared(type, *at);
    } else {
      memory = memref::AllocaOp::create(builder, where, type);
    }
    argument.replaceAllUsesWith(memory);
  }
  entry.eraseArguments(first, entry.getNumArguments() - first);
  return success();
}

Value KernelRewriter::linearItem() {
  auto add = [&](Value a, Value b) { return arith::AddIOp::create(builder, where, a, b); };
  auto mul = [&](Value a, Value b) { return arith::MulIOp::create(builder, where, a, b); };
  Value rows = add(param(HostItem + 1), mul(param(HostItem + 2), param(HostBlock + 1)));
  return add(param(HostItem), mul(rows, param(HostBlock)));
}

Value KernelRewriter::itemCount() {
  Value plane = arith::MulIOp::create(builder, where, param(HostBlock), param(HostBlock + 1));
  return arith::MulIOp::create(builder, where, plane, param(HostBlock + 2));
}

/// Each work-item stores a value, waits for the subgroup, loads another's, and waits until all have
/// loaded.
Value KernelRewriter::shuffle(gpu::ShuffleOp op, Value &valid) {
  Type i64 = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  auto wide = [&](Value value) -> Value {
    return isa<IndexType>(value.getType())
               ? arith::IndexCastOp::create(builder, where, i64, value).getResult()
               : arith::ExtUIOp::create(builder, where, i64, value).getResult();
  };
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, where, i64, value);
  };
  auto place = [&](Value item) -> Value {
    Value offset = arith::MulIOp::create(builder, where, item, number(exchangeSize));
    return LLVM::GEPOp::create(builder, where, pointer, builder.getI8Type(), param(HostExchange),
                               ValueRange{offset});
  };
  Value item = wide(linearItem());
  Value lane = arith::RemUIOp::create(builder, where, item, number(hostSubgroupSize));
  Value first = arith::SubIOp::create(builder, where, item, lane);
  Value offset = wide(op.getOffset());
  Value from;
  switch (op.getMode()) {
  case gpu::ShuffleMode::XOR:
    from = arith::XOrIOp::create(builder, where, lane, offset);
    break;
  case gpu::ShuffleMode::DOWN:
    from = arith::AddIOp::create(builder, where, lane, offset);
    break;
  case gpu::ShuffleMode::UP: // below the first lane it wraps around, and is then out of range
    from = arith::SubIOp::create(builder, where, lane, offset);
    break;
  case gpu::ShuffleMode::IDX:
    from = offset;
    break;
  }
  auto below = [&](Value a, Value b) {
    return arith::CmpIOp::create(builder, where, arith::CmpIPredicate::ult, a, b);
  };
  Value source = arith::AddIOp::create(builder, where, first, from);
  valid = arith::AndIOp::create(builder, where, below(from, wide(op.getWidth())),
                                below(source, wide(itemCount())));
  source = arith::SelectOp::create(builder, where, valid, source, item);
  LLVM::StoreOp::create(builder, where, op.getValue(), place(item));
  callWait(hostExchange);
  Value taken = LLVM::LoadOp::create(builder, where, op.getValue().getType(), place(source));
  callWait(hostExchange);
  return taken;
}

LogicalResult KernelRewriter::replaceOp(Operation *op) {
  auto dimension = [](gpu::Dimension d) { return static_cast<unsigned>(d); };
  auto replace = [&](ValueRange values) {
    op->replaceAllUsesWith(values);
    op->erase();
    return success();
  };
  auto subgroups = [&](Value items, bool up) -> Value {
    Value size = index(hostSubgroupSize);
    return up ? arith::CeilDivUIOp::create(builder, where, items, size).getResult()
              : arith::DivUIOp::create(builder, where, items, size).getResult();
  };
  builder.setInsertionPoint(op);
  where = op->getLoc();
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](gpu::ThreadIdOp id) {
        return replace(param(HostItem + dimension(id.getDimension())));
      })
      .Case([&](gpu::BlockIdOp id) {
        return replace(param(HostGroup + dimension(id.getDimension())));
      })
      .Case([&](gpu::BlockDimOp dim) {
        return replace(param(HostBlock + dimension(dim.getDimension())));
      })
      .Case([&](gpu::GridDimOp dim) {
        return replace(param(HostGroupCount + dimension(dim.getDimension())));
      })
      // A group is its own cluster.
      .Case([&](gpu::ClusterIdOp id) {
        return replace(param(HostGroup + dimension(id.getDimension())));
      })
      .Case([&](gpu::ClusterDimOp dim) {
        return replace(param(HostGroupCount + dimension(dim.getDimension())));
      })
      .Case<gpu::ClusterDimBlocksOp>([&](auto) { return replace(index(1)); })
      .Case<gpu::ClusterBlockIdOp>([&](auto) { return replace(index(0)); })
      .Case<gpu::LaneIdOp>([&](auto) {
        Value size = index(hostSubgroupSize);
        return replace(arith::RemUIOp::create(builder, where, linearItem(), size).getResult());
      })
      .Case<gpu::SubgroupIdOp>([&](auto) { return replace(subgroups(linearItem(), false)); })
      .Case<gpu::NumSubgroupsOp>([&](auto) { return replace(subgroups(itemCount(), true)); })
      .Case<gpu::SubgroupSizeOp>([&](auto) { return replace(index(hostSubgroupSize)); })
      .Case<gpu::BarrierOp>([&](auto) {
        callWait(hostBarrier);
        return replace({});
      })
      .Case([&](gpu::ShuffleOp op) -> LogicalResult {
        if (DataLayout().getTypeSize(op.getValue().getType()).getFixedValue() > exchangeSize)
          return op.emitError("found a shuffle of ")
                 << op.getValue().getType() << ", expected at most 16 bytes";
        Value valid, taken = shuffle(op, valid);
        return replace({taken, valid});
      })
      .Case<gpu::DynamicSharedMemoryOp>([&](auto) {
        Value at = index(static_cast<int64_t>(layout.end()));
        Value size = arith::SubIOp::create(builder, where, param(HostSharedSize), at);
        auto bytes = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
        return replace(
            memref::ViewOp::create(builder, where, bytes, sharedBytes(), at, size).getResult());
      })
      .Case([&](memref::MemorySpaceCastOp cast) { return replace(cast.getSource()); })
      .Case<memref::GetGlobalOp, memref::AllocOp>([&](auto op) {
        auto found = places.find(op);
        return found == places.end() ? success() : replace(viewShared(op.getType(), found->second));
      })
      .Case([&](memref::DeallocOp op) {
        bool isShared = places.contains(op.getMemref().getDefiningOp());
        return isShared ? replace({}) : success();
      })
      .Case<gpu::ReturnOp>([&](auto) {
        func::ReturnOp::create(builder, where);
        op->erase();
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        if (isa_and_nonnull<gpu::GPUDialect>(other->getDialect()))
          return other->emitError("found an operation that has no meaning on a CPU");
        return success();
      });
}

/// Deallocations before allocations: an allocation is needed to find its deallocations.
LogicalResult KernelRewriter::replaceOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops)) {
    if (op != function && failed(replaceOp(op)))
      return failure();
  }
  return success();
}

FailureOr<HostKernel> KernelRewriter::rewrite() {
  HostKernel made{kernel.getName().str(), 0, {}};
  if (DenseI32ArrayAttr block = kernel.getKnownBlockSizeAttr())
    llvm::append_range(made.block, block.asArrayRef());
  func::FuncOp function = makeFunction();
  function.getBody().takeBody(kernel.getBody());
  entryBlock = &function.getBody().front();
  for (unsigned i = 0; i < HostItemParamCount; ++i)
    entryBlock->insertArgument(i, function.getFunctionType().getInput(i), where);
  if (failed(placeAttributions(*entryBlock)) || failed(replaceOps(function)))
    return failure();
  made.sharedSize = layout.end();
  kernel.erase();
  return made;
}

/// A function that kernels call.
void rewriteDeviceFunction(gpu::GPUFuncOp function) {
  OpBuilder builder(function);
  auto made = func::FuncOp::create(builder, function.getLoc(), function.getName(),
                                   function.getFunctionType());
  made.setPrivate();
  made.getBody().takeBody(function.getBody());
  made.walk([&](gpu::ReturnOp op) {
    builder.setInsertionPoint(op);
    func::ReturnOp::create(builder, op.getLoc(), op.getOperands());
    op.erase();
  });
  function.erase();
}

/// Only kernels know their work-item, so functions that query it must have been inlined.
LogicalResult checkNoneLeft(ModuleOp module) {
  WalkResult walked = module.walk([](Operation *op) {
    if (!isa_and_nonnull<gpu::GPUDialect>(op->getDialect()) && !isa<cf::AssertOp>(op))
      return WalkResult::advance();
    op->emitError("found in a function that is no kernel: inline it before it is compiled for a "
                  "CPU");
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

void declareWait(ModuleOp module, StringRef name) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), {});
  LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

/// Assigns an offset to group memory that is not an attribution. All kernels of a module share its
/// variables, so each one has space for all of them.
LogicalResult layoutShared(gpu::GPUModuleOp module, SharedLayout &layout,
                           DenseMap<Operation *, uint64_t> &places) {
  llvm::StringMap<uint64_t> globals;
  SmallVector<memref::GlobalOp> placed;
  for (auto global : module.getOps<memref::GlobalOp>()) {
    if (!isWorkgroupMemory(global.getType()))
      continue;
    FailureOr<uint64_t> at = layout.add(global.getType(), global.getLoc());
    if (failed(at))
      return failure();
    globals[global.getName()] = *at;
    placed.push_back(global);
  }
  WalkResult walked = module.walk([&](Operation *op) {
    if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
      auto found = globals.find(get.getName());
      if (found != globals.end())
        places[op] = found->second;
    } else if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      if (!isWorkgroupMemory(alloc.getType()))
        return WalkResult::advance();
      FailureOr<uint64_t> at = layout.add(alloc.getType(), alloc.getLoc());
      if (failed(at))
        return WalkResult::interrupt();
      places[op] = *at;
    }
    return WalkResult::advance();
  });
  for (memref::GlobalOp global : placed)
    global.erase();
  return failure(walked.wasInterrupted());
}

} // namespace

FailureOr<SmallVector<HostKernel>> kdl::lowerKernelsForHost(ModuleOp module) {
  gpu::GPUModuleOp gpuModule = *module.getOps<gpu::GPUModuleOp>().begin();
  SharedLayout layout;
  DenseMap<Operation *, uint64_t> places;
  SmallVector<HostKernel> kernels;
  if (failed(lowerMessagesForHost(gpuModule)) || failed(expandReductions(gpuModule)) ||
      failed(layoutShared(gpuModule, layout, places)))
    return failure();
  // A CPU has one kind of memory.
  mapMemorySpaces(gpuModule, [](Attribute) { return Attribute(); });
  for (gpu::GPUFuncOp function : llvm::make_early_inc_range(gpuModule.getOps<gpu::GPUFuncOp>())) {
    if (!function.isKernel()) {
      rewriteDeviceFunction(function);
      continue;
    }
    FailureOr<HostKernel> kernel = KernelRewriter(function, layout, places).rewrite();
    if (failed(kernel))
      return failure();
    kernels.push_back(std::move(*kernel));
  }
  for (Operation &op : llvm::make_early_inc_range(*gpuModule.getBody()))
    op.moveBefore(gpuModule);
  gpuModule.erase();
  if (failed(checkNoneLeft(module)))
    return failure();
  declareWait(module, hostBarrier);
  declareWait(module, hostExchange);
  return kernels;
}

StringRef kdl::getHostPipeline(bool barePointers) {
  static constexpr char before[] =
      "lower-affine,convert-vector-to-scf,convert-scf-to-cf,expand-strided-metadata,lower-affine,"
      "convert-math-to-llvm,convert-math-to-libm,convert-vector-to-llvm,";
  static constexpr char after[] = "convert-to-llvm,reconcile-unrealized-casts";
  static const std::string descriptors = std::string("builtin.module(") + before + after + ")";
  static const std::string bare = std::string("builtin.module(") + before +
                                  "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}," + after +
                                  ")";
  return barePointers ? bare : descriptors;
}
