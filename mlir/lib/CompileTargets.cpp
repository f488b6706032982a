// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compat.h"
#include "Dialect.h"
#include "GpuModules.h"
#include "ObjectPacking.h"
#include "Passes.h"
#include "Toolchain.h"
#include "host/HostKernels.h"
#include "ukernels/GpuUkernels.h"
#include "ukernels/UkernelLink.h"
#include "ukernels/UkernelObjects.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/LLVMIR/XeVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLCOMPILETARGETS
#define GEN_PASS_DEF_KDLHOSTOBJECT
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

// Each one lowers a builtin.module with one gpu.module to what the target serializes. $BARE is 1 if
// memrefs are passed as bare pointers, $CHIP is the target's chip, $REDUX is 1 from sm_80 on, which
// has an instruction for reductions of i32.
constexpr StringLiteral nvidiaPipeline =
    "builtin.module(convert-nvgpu-to-nvvm,convert-vector-to-scf,convert-scf-to-cf,"
    "convert-nvvm-to-llvm,expand-strided-metadata,lower-affine,canonicalize,cse,"
    "gpu.module(convert-gpu-to-nvvm{has-redux=$REDUX "
    "use-bare-ptr-memref-call-conv=$BARE},canonicalize,cse),"
    "reconcile-unrealized-casts)";
// AMD's functions first: the other pass may choose an intrinsic that LLVM's AMDGPU backend lacks,
// such as that of tanh.
constexpr StringLiteral amdPipeline =
    "builtin.module(convert-vector-to-scf,convert-scf-to-cf,expand-strided-metadata,lower-affine,"
    "canonicalize,cse,convert-math-to-rocdl{chipset=$CHIP},"
    "gpu.module(convert-gpu-to-rocdl{chipset=$CHIP runtime=HIP "
    "use-bare-ptr-memref-call-conv=$BARE},canonicalize,cse),reconcile-unrealized-casts)";
// Address spaces and kernels as for SPIR-V; callPortableFunctions has replaced what depends on the
// device.
constexpr StringLiteral portablePipeline =
    "builtin.module(convert-vector-to-scf,expand-strided-metadata,lower-affine,canonicalize,cse,"
    "gpu.module(convert-gpu-to-llvm-spv{use-64bit-index=true}),convert-scf-to-cf,"
    "convert-vector-to-llvm,convert-to-llvm,reconcile-unrealized-casts,canonicalize,cse)";
constexpr StringLiteral spirvPreparation =
    "builtin.module(convert-vector-to-scf,expand-strided-metadata,lower-affine,canonicalize,cse)";
constexpr StringLiteral spirvPipeline =
    "builtin.module(gpu.module(convert-math-to-xevm,convert-gpu-to-llvm-spv{use-64bit-index=true}),"
    "convert-scf-to-cf,convert-vector-to-llvm,convert-to-llvm,convert-xevm-to-llvm,"
    "reconcile-unrealized-casts)";

std::string expandPipeline(StringRef pipeline, StringRef chip, bool barePointers) {
  std::string filled = pipeline.str();
  std::pair<StringRef, StringRef> values[] = {
      {"$CHIP", chip}, {"$BARE", barePointers ? "1" : "0"}, {"$REDUX", hasRedux(chip) ? "1" : "0"}};
  for (auto [name, value] : values) {
    for (size_t at; (at = filled.find(name)) != std::string::npos;)
      filled.replace(at, name.size(), value);
  }
  return filled;
}

/// Empty for targets that this pass does not compile.
std::string getPipeline(Attribute target, bool barePointers) {
  return TypeSwitch<Attribute, std::string>(target)
      .Case([&](NVVM::NVVMTargetAttr t) {
        return expandPipeline(nvidiaPipeline, t.getChip(), barePointers);
      })
      .Case([&](ROCDL::ROCDLTargetAttr t) {
        return expandPipeline(amdPipeline, t.getChip(), barePointers);
      })
      .Case([&](xevm::XeVMTargetAttr) { return spirvPipeline.str(); })
      .Case([&](PortableTargetAttr) { return portablePipeline.str(); })
      .Case([&](HostTargetAttr) { return getHostPipeline(barePointers).str(); })
      .Default([](Attribute) { return std::string(); });
}

/// Dialects of the pipelines, to load before any of them runs: passes do not load dialects.
void addDependentDialects(DialectRegistry &registry) {
  registry.insert<KdlDialect, LLVM::LLVMDialect, func::FuncDialect, ub::UBDialect,
                  vector::VectorDialect>();
  std::string pipelines[] = {expandPipeline(nvidiaPipeline, "sm_90", false),
                             expandPipeline(amdPipeline, "gfx942", false),
                             spirvPreparation.str(),
                             spirvPipeline.str(),
                             portablePipeline.str(),
                             getHostPipeline(false).str(),
                             getHostPipeline(true).str()};
  for (const std::string &pipeline : pipelines) {
    FailureOr<OpPassManager> passes = parsePassPipeline(pipeline, llvm::errs());
    if (succeeded(passes))
      passes->getDependentDialects(registry);
  }
}

//===----------------------------------------------------------------------===//
// One module for one target
//===----------------------------------------------------------------------===//

struct Options {
  std::string cudaToolkit, rocmBitcode, linker;
  bool barePointers = false;
  bool keepPTX = false;
};

using RunPipeline = std::function<LogicalResult(OpPassManager &, Operation *)>;

class Compiler {
public:
  Compiler(gpu::GPUModuleOp source, const Options &options, RunPipeline runPipeline)
      : source(source), options(options), runPipeline(std::move(runPipeline)) {
    for (auto kernel : source.getOps<gpu::GPUFuncOp>()) {
      if (kernel.isKernel())
        kernels.push_back(kernel);
    }
  }

  /// The object, or null after an error.
  gpu::ObjectAttr compile(Attribute target);

private:
  ModuleOp copy(Attribute target);
  LogicalResult run(StringRef pipeline, ModuleOp module, Attribute target);
  LogicalResult lower(ModuleOp module, Attribute target);
  gpu::ObjectAttr compileHost(ModuleOp module, HostTargetAttr target);
  gpu::ObjectAttr compileGPU(ModuleOp module, Attribute target);
  gpu::ObjectAttr finish(gpu::ObjectAttr object, function_ref<Type(StringRef)> findType);

  gpu::GPUModuleOp source;
  const Options &options;
  RunPipeline runPipeline;
  SmallVector<gpu::GPUFuncOp> kernels;
};

/// Clones the module into a module of its own next to it, for this target only.
ModuleOp Compiler::copy(Attribute target) {
  OpBuilder builder(source);
  auto module = ModuleOp::create(builder, source.getLoc());
  auto copied = cast<gpu::GPUModuleOp>(source->clone());
  copied.setTargetsAttr(builder.getArrayAttr({target}));
  module.push_back(copied);
  return module;
}

LogicalResult Compiler::run(StringRef pipeline, ModuleOp module, Attribute target) {
  FailureOr<OpPassManager> passes = parsePassPipeline(pipeline, llvm::errs());
  if (failed(passes) || failed(runPipeline(*passes, module)))
    return source.emitError("cannot be lowered for ") << target;
  return success();
}

LogicalResult Compiler::lower(ModuleOp module, Attribute target) {
  return run(getPipeline(target, options.barePointers), module, target);
}

/// Adds what this pass knows: the kernels, their parameters as lowered, and the module's
/// properties. Omits compile times, which would make every object different.
gpu::ObjectAttr Compiler::finish(gpu::ObjectAttr object, function_ref<Type(StringRef)> findType) {
  Builder builder(object.getContext());
  NamedAttrList properties;
  if (object.getProperties()) {
    for (NamedAttribute property : object.getProperties()) {
      if (!property.getName().getValue().ends_with("TimeInMs"))
        properties.append(property);
    }
  }
  if (auto wanted = source->getAttrOfType<DictionaryAttr>(propertiesAttr)) {
    FailureOr<DictionaryAttr> mine = propertiesFor(source, wanted, object.getTarget());
    if (failed(mine))
      return {};
    for (NamedAttribute property : *mine)
      properties.set(property.getName(), property.getValue());
  }
  SmallVector<gpu::KernelMetadataAttr> table;
  for (gpu::GPUFuncOp kernel : kernels) {
    NamedAttrList metadata;
    if (DenseI32ArrayAttr block = kernel.getKnownBlockSizeAttr())
      metadata.append(knownBlockKey, block);
    table.push_back(gpu::KernelMetadataAttr::get(
        kernel.getNameAttr(), findType(kernel.getName()), /*argAttrs=*/nullptr,
        metadata.empty() ? nullptr : metadata.getDictionary(object.getContext())));
  }
  return gpu::ObjectAttr::get(
      object.getContext(), object.getTarget(), object.getFormat(), object.getObject(),
      properties.empty() ? nullptr : properties.getDictionary(object.getContext()),
      gpu::KernelTableAttr::get(object.getContext(), table));
}

/// OpenCL's environment for SPIR-V has only 32-bit and 64-bit atomics; LLVM emits others
/// nevertheless.
bool isNarrow(Type type) {
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() < 32;
}

/// Whether LLVM's backend for the target aborts on an operation of the LLVM dialect, or emits code
/// that no driver accepts. The SPIR-V backend has no expansion for atomics that SPIR-V lacks or
/// only has as extensions. For it, MLIR lowers private memory to a variable in device memory, which
/// is invalid SPIR-V.
bool isFatal(Operation *op, Attribute target) {
  if (!isa<xevm::XeVMTargetAttr>(target))
    return false;
  if (auto own = dyn_cast<LLVM::AllocaOp>(op))
    return cast<LLVM::LLVMPointerType>(own.getType()).getAddressSpace() != 0;
  if (auto exchange = dyn_cast<LLVM::AtomicCmpXchgOp>(op))
    return isNarrow(exchange.getVal().getType());
  auto atomic = dyn_cast<LLVM::AtomicRMWOp>(op);
  if (!atomic)
    return false;
  if (isNarrow(atomic.getVal().getType()))
    return true;
  switch (atomic.getBinOp()) {
  case LLVM::AtomicBinOp::xchg:
  case LLVM::AtomicBinOp::add:
  case LLVM::AtomicBinOp::sub:
  case LLVM::AtomicBinOp::_and:
  case LLVM::AtomicBinOp::_or:
  case LLVM::AtomicBinOp::_xor:
  case LLVM::AtomicBinOp::max:
  case LLVM::AtomicBinOp::min:
  case LLVM::AtomicBinOp::umax:
  case LLVM::AtomicBinOp::umin:
    return false;
  default:
    return true;
  }
}

/// Refuses what a pipeline did not lower, and what LLVM cannot compile: the translation would
/// report either one without a location. An operation that was not lowered has casts around it: the
/// error names the operation.
LogicalResult rejectUnlowered(Operation *lowered, Attribute target) {
  Operation *left = nullptr;
  lowered->walk([&](Operation *op) {
    if (isFatal(op, target)) {
      left = op;
      return WalkResult::interrupt();
    }
    if (isa<ModuleOp, gpu::GPUModuleOp>(op) ||
        isa_and_nonnull<LLVM::LLVMDialect, NVVM::NVVMDialect, ROCDL::ROCDLDialect,
                        xevm::XeVMDialect>(op->getDialect()))
      return WalkResult::advance();
    if (!left || isa<UnrealizedConversionCastOp>(left))
      left = op;
    return WalkResult(success(isa<UnrealizedConversionCastOp>(left)));
  });
  if (!left)
    return success();
  InFlightDiagnostic error = left->emitError("'") << left->getName() << "'";
  if (auto atomic = dyn_cast<LLVM::AtomicRMWOp>(left))
    error << " of '" << stringifyAtomicBinOp(atomic.getBinOp()) << "' and "
          << atomic.getVal().getType();
  if (auto exchange = dyn_cast<LLVM::AtomicCmpXchgOp>(left))
    error << " of " << exchange.getVal().getType();
  return error << " has no lowering for " << target;
}

gpu::ObjectAttr Compiler::compileHost(ModuleOp module, HostTargetAttr target) {
  for (auto function : source.getOps<func::FuncOp>()) {
    if (hasBitcode(function)) {
      emitBitcodeError(function) << "found no bitcode for " << target;
      return {};
    }
  }
  FailureOr<SmallVector<HostKernel>> lowered = lowerKernelsForHost(module);
  if (failed(lowered) || failed(lower(module, target)) || failed(rejectUnlowered(module, target)))
    return {};
  auto findType = [&](StringRef name) -> Type {
    auto item = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    return LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(module.getContext()),
        item.getFunctionType().getParams().drop_front(HostItemParamCount));
  };
  gpu::ObjectAttr object = finish(gpu::ObjectAttr::get(target, gpu::CompilationTarget::Binary,
                                                       StringAttr::get(module.getContext(), "")),
                                  findType);
  if (!object)
    return {};
  std::string linker = findLinker(options.linker);
  if (linker.empty()) {
    module.emitError() << target << ": " << describeMissingLinker(options.linker)
                       << ", which links host objects";
    return {};
  }
  FailureOr<SmallVector<char, 0>> bytes = compileForHost(module, *lowered, target, linker);
  if (failed(bytes))
    return {};
  return gpu::ObjectAttr::get(
      module.getContext(), target, object.getFormat(),
      StringAttr::get(module.getContext(), StringRef(bytes->data(), bytes->size())),
      object.getProperties(), object.getKernels());
}

/// `isUnknown` becomes true, without an error, if ptxas does not know the architecture: later
/// toolkits drop some, as CUDA 13 did sm_70.
std::optional<kdl::SerializedObject> serialize(gpu::TargetAttrInterface compiler,
                                               gpu::GPUModuleOp lowered,
                                               const gpu::TargetOptions &options, bool &isUnknown) {
  std::vector<Diagnostic> said;
  std::optional<kdl::SerializedObject> bytes;
  {
    ScopedDiagnosticHandler handler(lowered.getContext(), [&](Diagnostic &diagnostic) {
      said.push_back(std::move(diagnostic));
      return success();
    });
    bytes = compiler.serializeToObject(lowered, options);
  }
  isUnknown = !bytes && llvm::any_of(said, [](const Diagnostic &diagnostic) {
    return StringRef(diagnostic.str()).contains("is not defined for option 'gpu-name'");
  });
  for (Diagnostic &diagnostic : said) {
    if (!isUnknown)
      lowered.getContext()->getDiagEngine().emit(std::move(diagnostic));
  }
  return bytes;
}

gpu::ObjectAttr Compiler::compileGPU(ModuleOp module, Attribute target) {
  bool isXeVM = isa<xevm::XeVMTargetAttr>(target);
  auto copied = *module.getOps<gpu::GPUModuleOp>().begin();
  if (isXeVM &&
      (failed(prepareForSpirv(copied, target)) || failed(run(spirvPreparation, module, target)) ||
       failed(checkShuffles(copied, target))))
    return {};
  bool isPortable = isa<PortableTargetAttr>(target);
  if (failed(isPortable ? callPortableFunctions(copied, target, options.barePointers)
                        : lowerSubgroups(copied, target)))
    return {};
  if (failed(lower(module, target)) ||
      failed(rejectUnlowered(*module.getOps<gpu::GPUModuleOp>().begin(), target)))
    return {};
  auto compiler = dyn_cast<gpu::TargetAttrInterface>(target);
  if (!compiler) {
    source.emitError("found the target ") << target << ", for which this tool has no compiler";
    return {};
  }
  auto lowered = *module.getOps<gpu::GPUModuleOp>().begin();
  if (isXeVM)
    demandSubgroups(lowered, source);
  if (isPortable && failed(finishPortable(lowered, target)))
    return {};
  gpu::CompilationTarget format = gpu::CompilationTarget::Binary;
  std::string toolkit;
  std::optional<CUDAFolder> cuda;
  std::optional<ROCmFolder> rocm;
  if (isa<NVVM::NVVMTargetAttr>(target)) {
    cuda.emplace(options.cudaToolkit);
    toolkit = cuda->path().str();
    if (!options.cudaToolkit.empty() && !cuda->hasPtxas() && !options.keepPTX) {
      source.emitError("cuda-toolkit: found no bin/ptxas in ") << options.cudaToolkit;
      return {};
    }
    if (!cuda->hasPtxas() || options.keepPTX)
      format = gpu::CompilationTarget::Assembly;
  } else if (isa<ROCDL::ROCDLTargetAttr>(target)) {
    rocm.emplace(findROCmBitcode(options.rocmBitcode), findLinker(options.linker),
                 cast<ROCDL::ROCDLTargetAttr>(target).getChip());
    toolkit = rocm->path().str();
  } else if (isXeVM) {
    format = spirvFormat;
  }
  GpuUkernels ukernels;
  if (failed(ukernels.collect(lowered, target)))
    return {};
  auto makeOptions = [&] { return gpu::TargetOptions(toolkit, ukernels.paths(), "", "", format); };
  bool isUnknown = false;
  std::optional<kdl::SerializedObject> bytes =
      serialize(compiler, lowered, makeOptions(), isUnknown);
  if (isUnknown) {
    source.emitWarning("ptxas does not know ") << cast<NVVM::NVVMTargetAttr>(target).getChip()
                                               << ": the object is PTX, which the driver compiles";
    format = gpu::CompilationTarget::Assembly;
    bytes = serialize(compiler, lowered, makeOptions(), isUnknown);
  }
  if (!bytes) {
    source.emitError("cannot be compiled for ") << target;
    return {};
  }
  auto object = cast<gpu::ObjectAttr>(compiler.createObject(lowered, *bytes, makeOptions()));
  if (isXeVM)
    object = gpu::ObjectAttr::get(object.getContext(), object.getTarget(),
                                  gpu::CompilationTarget::Binary, object.getObject(),
                                  object.getProperties(), object.getKernels());
  return finish(object, [&](StringRef name) -> Type {
    return lowered.lookupSymbol<LLVM::LLVMFuncOp>(name).getFunctionType();
  });
}

gpu::ObjectAttr Compiler::compile(Attribute target) {
  if (auto variant = dyn_cast<VariantAttr>(target)) {
    gpu::ObjectAttr object = compile(variant.getTarget());
    return object ? variant.addProperties(object) : nullptr;
  }
  if (getPipeline(target, options.barePointers).empty()) {
    source.emitError("found the target ")
        << target
        << ", expected #nvvm.target, #rocdl.target, #xevm.target, "
           "#kdl.portable or #kdl.host";
    return {};
  }
  ModuleOp module = copy(target);
  auto host = dyn_cast<HostTargetAttr>(target);
  gpu::ObjectAttr object = host ? compileHost(module, host) : compileGPU(module, target);
  module.erase();
  return object;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// A kernel that takes different parameters for two targets cannot be served by one launch.
LogicalResult checkParameters(gpu::GPUModuleOp module, ArrayRef<gpu::ObjectAttr> objects) {
  for (gpu::ObjectAttr object : objects.drop_front(objects.empty() ? 0 : 1)) {
    for (auto [first, other] : llvm::zip(objects.front().getKernels(), object.getKernels())) {
      auto firstType = cast<LLVM::LLVMFunctionType>(first.getFunctionType());
      auto otherType = cast<LLVM::LLVMFunctionType>(other.getFunctionType());
      if (firstType.getNumParams() != otherType.getNumParams())
        return module.emitError("kernel ")
               << first.getName() << " has " << firstType.getNumParams() << " parameters for "
               << objects.front().getTarget() << " and " << otherType.getNumParams() << " for "
               << object.getTarget() << ", so that no launch fits both";
    }
  }
  return success();
}

/// A block of zero or fewer work-items is an error at every launch; this one has a location.
LogicalResult checkLaunches(ModuleOp module) {
  return failure(module
                     .walk([](gpu::LaunchFuncOp launch) {
                       gpu::KernelDim3 block = launch.getBlockSizeOperandValues();
                       for (Value size : {block.x, block.y, block.z}) {
                         llvm::APInt value;
                         if (matchPattern(size, m_ConstantInt(&value)) && value.slt(1)) {
                           launch.emitError("found a block of ")
                               << value.getSExtValue() << " threads, expected at least 1";
                           return WalkResult::interrupt();
                         }
                       }
                       return WalkResult::advance();
                     })
                     .wasInterrupted());
}

struct CompileTargets : public kdl::impl::KdlCompileTargetsBase<CompileTargets> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    addDependentDialects(registry);
  }

  void runOnOperation() override {
    Options options{cudaToolkit, rocmBitcode, linker, barePointers, ptx};
    if (failed(checkLaunches(getOperation())))
      return signalPassFailure();
    auto modules = llvm::to_vector(getOperation().getOps<gpu::GPUModuleOp>());
    for (gpu::GPUModuleOp module : modules) {
      if (!module.getTargetsAttr()) {
        module.emitError("found no targets: run kdl-attach-targets first");
        return signalPassFailure();
      }
      if (failed(compile(module, options)))
        return signalPassFailure();
    }
  }

private:
  LogicalResult compile(gpu::GPUModuleOp module, const Options &options) {
    Compiler compiler(module, options, [&](OpPassManager &passes, Operation *op) {
      return runPipeline(passes, op);
    });
    SmallVector<Attribute> targets;
    SmallVector<gpu::ObjectAttr> objects;
    for (Attribute target : module.getTargetsAttr()) {
      if (!isa<CompiledAttr>(target)) {
        gpu::ObjectAttr object = compiler.compile(target);
        if (!object)
          return failure();
        objects.push_back(object);
        target = CompiledAttr::get(&getContext(), object);
      }
      targets.push_back(target);
    }
    module.setTargetsAttr(ArrayAttr::get(&getContext(), targets));
    return checkParameters(module, objects);
  }
};

struct HostObject : public kdl::impl::KdlHostObjectBase<HostObject> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    addDependentDialects(registry);
  }

  void runOnOperation() override {
    Options options{"", "", linker, barePointers};
    auto target = HostTargetAttr::get(&getContext(), optLevel,
                                      arch.empty() ? getHostArch() : arch.getValue());
    if (failed(checkLaunches(getOperation())))
      return signalPassFailure();
    auto modules = llvm::to_vector(getOperation().getOps<gpu::GPUModuleOp>());
    for (gpu::GPUModuleOp module : modules) {
      Compiler compiler(module, options, [&](OpPassManager &passes, Operation *op) {
        return runPipeline(passes, op);
      });
      gpu::ObjectAttr object = compiler.compile(target);
      if (!object)
        return signalPassFailure();
      SmallVector<Attribute> targets;
      if (ArrayAttr before = module.getTargetsAttr())
        llvm::append_range(targets, before);
      targets.push_back(CompiledAttr::get(&getContext(), object));
      module.setTargetsAttr(ArrayAttr::get(&getContext(), targets));
    }
  }
};

} // namespace
