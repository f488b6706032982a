// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dialect.h"
#include "GpuModules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/Utils/GPUUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

constexpr unsigned globalSpace = 1;

/// While the module is lowered; 0 afterwards.
constexpr unsigned privateSpace = 5;

/// The version of the form: the declared functions and the mark have it (docs/portable.md).
constexpr StringLiteral formVersion = "1";

//===----------------------------------------------------------------------===//
// Declared functions
//===----------------------------------------------------------------------===//

/// Operations of floating-point numbers that <kdl/math.h> has.
constexpr std::pair<StringLiteral, StringLiteral> mathFunctions[] = {
    {"arith.remf", "fmod"},  {"math.acos", "acos"},   {"math.acosh", "acosh"},
    {"math.asin", "asin"},   {"math.asinh", "asinh"}, {"math.atan", "atan"},
    {"math.atan2", "atan2"}, {"math.atanh", "atanh"}, {"math.cbrt", "cbrt"},
    {"math.cos", "cos"},     {"math.cosh", "cosh"},   {"math.erf", "erf"},
    {"math.erfc", "erfc"},   {"math.exp", "exp"},     {"math.exp2", "exp2"},
    {"math.expm1", "expm1"}, {"math.log", "log"},     {"math.log10", "log10"},
    {"math.log1p", "log1p"}, {"math.log2", "log2"},   {"math.powf", "pow"},
    {"math.rsqrt", "rsqrt"}, {"math.sin", "sin"},     {"math.sinh", "sinh"},
    {"math.tan", "tan"},     {"math.tanh", "tanh"},
};

class FunctionCaller {
public:
  explicit FunctionCaller(gpu::GPUModuleOp module) : module(module), builder(module.getContext()) {}

  /// Whether the operation is replaced.
  bool replace(Operation *op);

private:
  Value call(const Twine &name, Type result, ValueRange operands);
  Value query(StringRef name);
  Value query(StringRef name, gpu::Dimension dimension);
  Value callMath(StringRef name, ValueRange operands);
  Value callMathOfElements(StringRef name, VectorType type, ValueRange operands);
  Value reduce(gpu::SubgroupReduceOp op);

  gpu::GPUModuleOp module;
  OpBuilder builder;
  Location where = builder.getUnknownLoc();
};

/// The result is null for functions without one.
Value FunctionCaller::call(const Twine &name, Type result, ValueRange operands) {
  std::string symbol = name.str();
  if (!module.lookupSymbol(symbol)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    Type returned = result ? result : LLVM::LLVMVoidType::get(module.getContext());
    LLVM::LLVMFuncOp::create(
        builder, where, symbol,
        LLVM::LLVMFunctionType::get(returned, llvm::to_vector(operands.getTypes())));
  }
  auto made = LLVM::CallOp::create(builder, where, result ? TypeRange(result) : TypeRange(), symbol,
                                   operands);
  return result ? made.getResult() : Value();
}

/// A number of 32 bits as an index.
Value FunctionCaller::query(StringRef name) {
  Value number = call("kdl_p1_" + name, builder.getI32Type(), {});
  return arith::IndexCastUIOp::create(builder, where, builder.getIndexType(), number);
}

Value FunctionCaller::query(StringRef name, gpu::Dimension dimension) {
  Type i32 = builder.getI32Type();
  Value number = arith::ConstantIntOp::create(builder, where, i32, static_cast<int>(dimension));
  return arith::IndexCastUIOp::create(builder, where, builder.getIndexType(),
                                      call("kdl_p1_" + name, i32, number));
}

/// Functions of float serve narrower types.
Value FunctionCaller::callMath(StringRef name, ValueRange operands) {
  auto type = cast<FloatType>(operands.front().getType());
  if (type.isF64())
    return call("kdl_math_" + name, type, operands);
  SmallVector<Value> wide(operands);
  Type f32 = builder.getF32Type();
  if (!type.isF32()) {
    for (Value &operand : wide)
      operand = arith::ExtFOp::create(builder, where, f32, operand, {});
  }
  Value result = call("kdl_math_" + name + "f", f32, wide);
  return type.isF32() ? result : arith::TruncFOp::create(builder, where, type, result).getResult();
}

Value FunctionCaller::callMathOfElements(StringRef name, VectorType type, ValueRange operands) {
  Value result = arith::ConstantOp::create(builder, where, builder.getZeroAttr(type));
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<int64_t> position = delinearize(i, strides);
    SmallVector<Value> elements;
    for (Value operand : operands)
      elements.push_back(vector::ExtractOp::create(builder, where, operand, position));
    result = vector::InsertOp::create(builder, where, callMath(name, elements), result, position);
  }
  return result;
}

/// Functions exchange numbers of 32 and 64 bits.
std::pair<Type, StringRef> findExchanged(Type type, OpBuilder &builder) {
  if (type.isF64())
    return {type, "f64"};
  if (isa<FloatType>(type))
    return {builder.getF32Type(), "f32"};
  if (type.isInteger(64))
    return {type, "u64"};
  return {builder.getI32Type(), "u32"};
}

/// In a tree, as deep as the largest subgroups need; a step that the device's do not have keeps the
/// value. Null for types that are not numbers of at most 64 bits.
Value FunctionCaller::reduce(gpu::SubgroupReduceOp op) {
  constexpr int mostLanes = 64;
  Type type = op.getType();
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() > 64 || op.getClusterSize())
    return {};
  bool isFloat = isa<FloatType>(type);
  bool isSigned =
      op.getOp() == gpu::AllReduceOperation::MINSI || op.getOp() == gpu::AllReduceOperation::MAXSI;
  auto [exchanged, suffix] = findExchanged(type, builder);
  Value value = op.getValue();
  if (type != exchanged)
    value = isFloat    ? arith::ExtFOp::create(builder, where, exchanged, value, {}).getResult()
            : isSigned ? arith::ExtSIOp::create(builder, where, exchanged, value).getResult()
                       : arith::ExtUIOp::create(builder, where, exchanged, value).getResult();
  Type i32 = builder.getI32Type();
  Value lane = call("kdl_p1_lane_id", i32, {}), lanes = call("kdl_p1_num_lanes", i32, {});
  Value mask = call("kdl_p1_lane_mask", builder.getI64Type(), {});
  for (int step = mostLanes / 2; step > 0; step /= 2) {
    Value distance = arith::ConstantIntOp::create(builder, where, i32, step);
    Value other = arith::XOrIOp::create(builder, where, lane, distance);
    Value received = call("kdl_p1_shuffle_idx_" + suffix, exchanged, {mask, other, value, lanes});
    Value both = vector::makeArithReduction(builder, where, gpu::convertReductionKind(op.getOp()),
                                            value, received);
    Value isThere =
        arith::CmpIOp::create(builder, where, arith::CmpIPredicate::ult, distance, lanes);
    value = arith::SelectOp::create(builder, where, isThere, both, value);
  }
  return type == exchanged ? value
         : isFloat         ? arith::TruncFOp::create(builder, where, type, value).getResult()
                           : arith::TruncIOp::create(builder, where, type, value).getResult();
}

bool FunctionCaller::replace(Operation *op) {
  builder.setInsertionPoint(op);
  where = op->getLoc();
  auto replaceBy = [&](Value value) {
    op->replaceAllUsesWith(ValueRange(value));
    op->erase();
    return true;
  };
  const auto *math = llvm::find_if(
      mathFunctions, [&](const auto &row) { return op->getName().getStringRef() == row.first; });
  if (math != std::end(mathFunctions)) {
    Type type = op->getResult(0).getType();
    Type element = getElementTypeOrSelf(type);
    auto vector = dyn_cast<VectorType>(type);
    if (!element.isF64() && element.getIntOrFloatBitWidth() > 32)
      return false;
    if (vector && vector.isScalable())
      return false;
    return replaceBy(vector ? callMathOfElements(math->second, vector, op->getOperands())
                            : callMath(math->second, op->getOperands()));
  }
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](gpu::ThreadIdOp id) { return replaceBy(query("thread_id", id.getDimension())); })
      .Case([&](gpu::BlockIdOp id) { return replaceBy(query("block_id", id.getDimension())); })
      .Case([&](gpu::BlockDimOp n) { return replaceBy(query("num_threads", n.getDimension())); })
      .Case([&](gpu::GridDimOp n) { return replaceBy(query("num_blocks", n.getDimension())); })
      .Case([&](gpu::GlobalIdOp id) {
        gpu::Dimension d = id.getDimension();
        Value first =
            arith::MulIOp::create(builder, where, query("block_id", d), query("num_threads", d));
        return replaceBy(arith::AddIOp::create(builder, where, first, query("thread_id", d)));
      })
      .Case([&](gpu::LaneIdOp) { return replaceBy(query("lane_id")); })
      .Case([&](gpu::SubgroupSizeOp) { return replaceBy(query("num_lanes")); })
      .Case([&](gpu::SubgroupReduceOp reduction) {
        Value value = reduce(reduction);
        return value && replaceBy(value);
      })
      .Case([&](gpu::BarrierOp) {
        call("kdl_p1_sync_threads", nullptr, {});
        op->erase();
        return true;
      })
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// A memref of static shape in global memory, from its address. No operation makes one, so this
/// builds its descriptor; the cast folds away in a later lowering.
Value viewMemory(OpBuilder &builder, Location where, MemRefType type, Value address) {
  Type i64 = builder.getI64Type();
  auto [strides, offset] = type.getStridesAndOffset();
  SmallVector<Type> fields = {address.getType(), address.getType(), i64};
  if (type.getRank())
    fields.append(2, LLVM::LLVMArrayType::get(i64, static_cast<unsigned>(type.getRank())));
  Type structure = LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
  Value built = LLVM::UndefOp::create(builder, where, structure);
  auto set = [&](Value value, ArrayRef<int64_t> position) {
    built = LLVM::InsertValueOp::create(builder, where, built, value, position);
  };
  auto number = [&](int64_t value) {
    return LLVM::ConstantOp::create(builder, where, i64, builder.getI64IntegerAttr(value));
  };
  set(address, {0});
  set(address, {1});
  set(number(offset), {2});
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    set(number(size), {3, static_cast<int64_t>(i)});
    set(number(strides[i]), {4, static_cast<int64_t>(i)});
  }
  return UnrealizedConversionCastOp::create(builder, where, TypeRange{type}, ValueRange{built})
      .getResult(0);
}

void takeBarePointers(gpu::GPUFuncOp kernel) {
  Block &entry = kernel.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  SmallVector<Type> inputs(kernel.getFunctionType().getInputs());
  for (auto [index, input] : llvm::enumerate(inputs)) {
    auto type = dyn_cast<MemRefType>(input);
    if (!type || !type.hasStaticShape() || !type.isStrided())
      continue;
    BlockArgument argument = entry.getArgument(static_cast<unsigned>(index));
    input = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
    argument.setType(input);
    Value memory = viewMemory(builder, kernel.getLoc(), type, argument);
    argument.replaceUsesWithIf(
        memory, [](OpOperand &use) { return !isa<LLVM::InsertValueOp>(use.getOwner()); });
  }
  kernel.setFunctionType(builder.getFunctionType(inputs, {}));
}

//===----------------------------------------------------------------------===//
// Private memory
//===----------------------------------------------------------------------===//

void convertPrivateAttributions(gpu::GPUFuncOp kernel) {
  unsigned first = kernel.getFunctionType().getNumInputs();
  Block &entry = kernel.getBody().front();
  unsigned count = entry.getNumArguments() - first;
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  for (BlockArgument argument : entry.getArguments().drop_front(first))
    argument.replaceAllUsesWith(
        memref::AllocaOp::create(builder, kernel.getLoc(), cast<MemRefType>(argument.getType())));
  entry.eraseArguments(first, count);
}

/// Sets the memory space of an allocation and of all views of it.
void markPrivate(Value memory) {
  auto type = dyn_cast<MemRefType>(memory.getType());
  if (!type || type.getMemorySpace())
    return;
  Builder builder(memory.getContext());
  memory.setType(MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(),
                                 builder.getI64IntegerAttr(privateSpace)));
  for (Operation *user : memory.getUsers()) {
    if (isa<ViewLikeOpInterface>(user)) {
      for (Value view : user->getResults())
        markPrivate(view);
    }
  }
}

//===----------------------------------------------------------------------===//
// The image
//===----------------------------------------------------------------------===//

/// Whether targets disagree on the type's layout: pointers to group memory have 4 bytes on AMD's
/// GPUs.
bool hasPointerToGroup(Type type) {
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type))
    return llvm::any_of(structure.getBody(), [](Type part) {
      auto pointer = dyn_cast<LLVM::LLVMPointerType>(part);
      return (pointer && pointer.getAddressSpace() == workgroupSpace) || hasPointerToGroup(part);
    });
  return false;
}

std::string spellKernel(LLVM::LLVMFuncOp kernel) {
  SmallVector<int32_t> block = {0, 0, 0};
  for (NamedAttribute attribute : kernel->getAttrs()) {
    auto known = dyn_cast<DenseI32ArrayAttr>(attribute.getValue());
    if (known && attribute.getName().getValue().ends_with("known_block_size"))
      block.assign(known.asArrayRef().begin(), known.asArrayRef().end());
  }
  std::string extents = llvm::join(llvm::map_range(block, llvm::itostr), ",");
  return extents + "," + extents + ",-1";
}

/// Whether a device defines the function.
bool isDeclared(StringRef name) {
  return name.starts_with("kdl_p1_") || name.starts_with("kdl_math_");
}

/// Removes what names a target, and marks the module.
void neutralize(llvm::Module &module, gpu::GPUModuleOp lowered) {
  llvm::LLVMContext &context = module.getContext();
  for (llvm::Function &function : module) {
    if (function.getCallingConv() == llvm::CallingConv::SPIR_KERNEL) {
      auto kernel = lowered.lookupSymbol<LLVM::LLVMFuncOp>(function.getName());
      function.addFnAttr("kdl.kernel", spellKernel(kernel));
      function.addFnAttr(llvm::Attribute::Convergent);
      function.setVisibility(llvm::GlobalValue::ProtectedVisibility);
    } else if (!function.isDeclaration()) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    } else if (function.getName() == "kdl_p1_sync_threads") {
      function.addFnAttr(llvm::Attribute::Convergent);
    } else if (isDeclared(function.getName())) {
      function.setDoesNotAccessMemory();
      function.addFnAttr(llvm::Attribute::WillReturn);
    }
    if (function.isDeclaration() && isDeclared(function.getName()))
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    function.setDoesNotThrow();
  }
  for (llvm::GlobalVariable &variable : module.globals()) {
    if (variable.getAddressSpace() == workgroupSpace && variable.hasInitializer())
      variable.setInitializer(llvm::PoisonValue::get(variable.getValueType()));
  }
  module.setTargetTriple(llvm::Triple());
  module.setDataLayout("");
  module.setSourceFileName("kdl.portable");
  llvm::StripDebugInfo(module);
  auto *version = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), formVersion, 10);
  module.getOrInsertNamedMetadata("kdl.portable")
      ->addOperand(llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(version)));
}

/// The numbers that a device must have: "fp16+fp64".
std::string findNeeds(Operation *module) {
  bool half = false, twice = false;
  auto look = [&](TypeRange types) {
    for (Type type : types) {
      Type element = getElementTypeOrSelf(type);
      half |= element.isF16();
      twice |= element.isF64();
    }
  };
  module->walk([&](Operation *op) {
    look(op->getResultTypes());
    look(op->getOperandTypes());
  });
  return half && twice ? "fp16+fp64" : half ? "fp16" : twice ? "fp64" : "";
}

} // namespace

LogicalResult kdl::callPortableFunctions(gpu::GPUModuleOp module, Attribute target,
                                         bool barePointers) {
  convertAttributionsToGlobals(module);
  for (auto kernel : module.getOps<gpu::GPUFuncOp>()) {
    convertPrivateAttributions(kernel);
    if (barePointers && kernel.isKernel())
      takeBarePointers(kernel);
  }
  module.walk([](memref::AllocaOp own) { markPrivate(own); });
  SmallVector<Operation *> all;
  FunctionCaller caller(module);
  module->walk([&](Operation *op) { all.push_back(op); });
  for (Operation *op : all) {
    if (caller.replace(op) || !isa_and_nonnull<gpu::GPUDialect>(op->getDialect()) ||
        isa<gpu::GPUModuleOp, gpu::GPUFuncOp, gpu::ReturnOp>(op))
      continue;
    return op->emitError("'") << op->getName() << "' has no lowering for " << target;
  }
  return success();
}

LogicalResult kdl::finishPortable(gpu::GPUModuleOp lowered, Attribute target) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](LLVM::LLVMPointerType type) -> std::optional<Type> {
    return type.getAddressSpace() == privateSpace ? LLVM::LLVMPointerType::get(type.getContext())
                                                  : type;
  });
  replacer.recursivelyReplaceElementsIn(lowered, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  WalkResult refused = lowered.walk([&](Operation *op) -> WalkResult {
    if (op->getNumOperands() && llvm::any_of(op->getResultTypes(), hasPointerToGroup))
      return op->emitError("'") << op->getName()
                                << "' with a pointer to group memory in a structure has no "
                                   "lowering for "
                                << target;
    return WalkResult::advance();
  });
  return failure(refused.wasInterrupted());
}

std::optional<kdl::SerializedObject>
PortableTargetAttr::serializeToObject(Operation *module, const gpu::TargetOptions &) const {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(module, context);
  if (!translated) {
    module->emitError("cannot be translated for ") << *this;
    return std::nullopt;
  }
  for (const llvm::Function &function : *translated) {
    if (!function.isTargetIntrinsic())
      continue;
    module->emitError("found ") << function.getName()
                                << ", which a portable image cannot have: run kdl-compile-targets "
                                   "before passes that lower the module for a GPU";
    return std::nullopt;
  }
  neutralize(*translated, cast<gpu::GPUModuleOp>(module));
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::WriteBitcodeToFile(*translated, stream);
  return kdl::SerializedObject(std::move(bytes));
}

Attribute PortableTargetAttr::createObject(Operation *module, const kdl::SerializedObject &bytes,
                                           const gpu::TargetOptions &) const {
  Builder builder(module->getContext());
  NamedAttrList properties;
  properties.append("kdl.portable", builder.getStringAttr(formVersion));
  properties.append("kdl.llvm", builder.getStringAttr(LLVM_VERSION_STRING));
  std::string needs = findNeeds(module);
  if (!needs.empty())
    properties.append("kdl.needs", builder.getStringAttr(needs));
  return gpu::ObjectAttr::get(builder.getContext(), *this, gpu::CompilationTarget::Offload,
                              builder.getStringAttr(kdl::getBytes(bytes)),
                              properties.getDictionary(builder.getContext()), nullptr);
}
