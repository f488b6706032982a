// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/UkernelLink.h"

#include "Compat.h"
#include "ukernels/UkernelObjects.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include "lib/inspect/ukernel_passes.h"

#include <kdl/ukernel.h>

using namespace mlir;

/// Marks a microkernel and its callees to be inlined into the caller.
static void markForInlining(llvm::Module &ukernels) {
  for (llvm::Function &function : ukernels) {
    if (function.isDeclaration())
      continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

/// Hides what is linked in from the program's exports.
static void makeInternal(llvm::GlobalValue &value) {
  value.setLinkage(llvm::GlobalValue::InternalLinkage);
  value.setVisibility(llvm::GlobalValue::DefaultVisibility);
}

/// The union of both feature lists.
static std::string uniteFeatures(StringRef first, StringRef second) {
  llvm::SetVector<StringRef> features;
  for (StringRef list : {first, second}) {
    SmallVector<StringRef> parts;
    list.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    features.insert_range(parts);
  }
  // A feature that one of them disables may be needed by the other.
  features.remove_if([&](StringRef feature) {
    return feature.starts_with("-") && features.contains(("+" + feature.drop_front()).str());
  });
  return llvm::join(features, ",");
}

/// Compiles a function for the CPU of a microkernel.
static void raiseTarget(llvm::Function &function, const llvm::Function &ukernel) {
  StringRef features = ukernel.getFnAttribute("target-features").getValueAsString();
  if (!features.empty())
    function.addFnAttr(
        "target-features",
        uniteFeatures(function.getFnAttribute("target-features").getValueAsString(), features));
  if (ukernel.hasFnAttribute("target-cpu"))
    function.addFnAttr(ukernel.getFnAttribute("target-cpu"));
}

/// LLVM inlines nothing into code for a lesser CPU.
static void raiseTargetOfCallers(llvm::Function &ukernel) {
  for (llvm::User *user : ukernel.users()) {
    if (auto *call = dyn_cast<llvm::CallBase>(user))
      raiseTarget(*call->getFunction(), ukernel);
  }
}

/// Linux lets a process use AMX tiles once it has requested permission. A constructor does so; if
/// the system refuses, it prints that before the first tile instruction ends the program.
static void emitTilePermissionRequest(llvm::Module &module) {
  constexpr StringLiteral name = "kdl_request_amx";
  constexpr int64_t archPrctl = 158, requestState = 0x1023, tileData = 18;
  if (module.getFunction(name) || !module.getTargetTriple().isOSLinux())
    return;
  llvm::LLVMContext &context = module.getContext();
  auto *ask = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), /*isVarArg=*/false),
      llvm::GlobalValue::InternalLinkage, name, module);
  auto *entry = llvm::BasicBlock::Create(context, "entry", ask);
  auto *refused = llvm::BasicBlock::Create(context, "refused", ask);
  auto *done = llvm::BasicBlock::Create(context, "done", ask);
  llvm::IRBuilder<> builder(entry);
  llvm::FunctionCallee syscall = module.getOrInsertFunction(
      "syscall", llvm::FunctionType::get(builder.getInt64Ty(), {builder.getInt64Ty()},
                                         /*isVarArg=*/true));
  llvm::Value *result =
      builder.CreateCall(syscall, {builder.getInt64(archPrctl), builder.getInt64(requestState),
                                   builder.getInt64(tileData)});
  builder.CreateCondBr(builder.CreateIsNull(result), done, refused);
  builder.SetInsertPoint(refused);
  llvm::FunctionCallee tell =
      module.getOrInsertFunction("perror", builder.getVoidTy(), builder.getPtrTy());
  builder.CreateCall(tell, builder.CreateGlobalString(
                               "kdl: the system refuses AMX, which this program was compiled for"));
  builder.CreateBr(done);
  builder.SetInsertPoint(done);
  builder.CreateRetVoid();
  llvm::appendToGlobalCtors(module, ask, /*Priority=*/65535);
}

LogicalResult kdl::checkLayout(const llvm::Function &ukernel, StringRef name, std::string &why) {
  constexpr StringLiteral prefix = KDL_UKERNEL_LAYOUT_PREFIX, wanted = KDL_MMA_LAYOUT;
  StringRef found = ukernel.getSection();
  if (!name.starts_with("kdl_uk_mma_") || (found.consume_front(prefix) && found == wanted))
    return success();
  llvm::raw_string_ostream(why) << "'" << name << "' has "
                                << (ukernel.getSection().starts_with(prefix)
                                        ? "the layout '" + found.str() + "'"
                                        : "no layout mark")
                                << ", expected the layout '" << wanted
                                << "': its operands may lie otherwise in memory; compile it with "
                                   "<kdl/mma.h>";
  return failure();
}

LogicalResult kdl::checkLayout(StringRef bitcode, StringRef name, std::string &why) {
  llvm::LLVMContext context;
  auto parsed = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, name), context);
  if (!parsed) {
    why = llvm::toString(parsed.takeError());
    return failure();
  }
  const llvm::Function *found = (*parsed)->getFunction(name);
  if (found && !found->isDeclaration())
    return checkLayout(*found, name, why);
  why = ("found no function " + name + " in it").str();
  return failure();
}

bool kdl::definesFunction(StringRef bitcode, StringRef name) {
  llvm::LLVMContext context;
  auto parsed = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, name), context);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return false;
  }
  const llvm::Function *found = (*parsed)->getFunction(name);
  return found && !found->isDeclaration();
}

/// The suffix of a microkernel's name relative to its name in the bitcode: one program may contain
/// two variants. Its companion functions (its tile, its blocks) have the same suffix.
static StringRef suffixOf(LLVM::LLVMFuncOp ukernel) {
  StringRef name = ukernel.getName();
  auto inside = ukernel->getAttrOfType<StringAttr>(kdl::functionAttr);
  return inside && name.consume_front(inside.getValue()) ? name : StringRef();
}

/// Adds the suffix to the microkernel functions that a module defines, or calls.
static void addSuffix(llvm::Module &module, bool defined, StringRef suffix) {
  for (llvm::Function &function : module) {
    if (!function.hasLocalLinkage() && function.isDeclaration() != defined &&
        function.getName().starts_with("kdl_uk_"))
      function.setName(function.getName() + suffix);
  }
}

/// Functions with this attribute are compiled for the CPU of the microkernel that it names.
static constexpr StringLiteral raisedTargetAttr = "kdl-lifted-to";

/// Compiles the functions around a microkernel's callers for its CPU, too.
static void raiseTargetOfMatmulKernels(llvm::Module &module) {
  for (llvm::Function &function : module) {
    llvm::Attribute lifted = function.getFnAttribute(raisedTargetAttr);
    if (!lifted.isValid())
      continue;
    const llvm::Function *ukernel = module.getFunction(lifted.getValueAsString());
    for (StringRef name : {"target-cpu", "target-features"}) {
      if (ukernel && ukernel->hasFnAttribute(name))
        function.addFnAttr(ukernel->getFnAttribute(name));
    }
    function.removeFnAttr(raisedTargetAttr);
  }
}

/// Links bitcode that calls microkernels: its constants get their values, and its symbols become
/// internal. Bitcode that holds several functions is linked once.
static LogicalResult linkMatmulKernels(LLVM::LLVMFuncOp declaration, StringRef bitcode,
                                       FlatSymbolRefAttr called, llvm::Module &module) {
  llvm::Function *known = module.getFunction(declaration.getName());
  if (!known || !known->isDeclaration())
    return success();
  auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, declaration.getName()),
                                       module.getContext());
  if (!parsed)
    return kdl::emitBitcodeError(declaration) << llvm::toString(parsed.takeError());
  auto ukernel = SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(declaration, called);
  if (!ukernel)
    return declaration.emitError(kdl::callsAttr) << ": found no function " << called;
  addSuffix(**parsed, /*defined=*/false, suffixOf(ukernel));
  SmallVector<std::string> names;
  for (llvm::GlobalValue &value : (*parsed)->global_values()) {
    if (!value.isDeclaration() && !value.hasLocalLinkage())
      names.push_back(value.getName().str());
  }
  for (llvm::Function &function : **parsed) {
    if (!function.isDeclaration())
      function.addFnAttr(raisedTargetAttr, called.getValue());
  }
  if (module.getTargetTriple().empty()) {
    module.setTargetTriple((*parsed)->getTargetTriple());
    module.setDataLayout((*parsed)->getDataLayout());
  }
  if (llvm::Linker::linkModules(module, std::move(*parsed), llvm::Linker::LinkOnlyNeeded))
    return kdl::emitBitcodeError(declaration) << "cannot be linked";
  for (const std::string &name : names) {
    llvm::GlobalValue *value = module.getNamedValue(name);
    if (value && !value->isDeclaration())
      makeInternal(*value);
  }
  if (known = module.getFunction(declaration.getName()); known && !known->isDeclaration())
    return success();
  return kdl::emitBitcodeError(declaration) << "found no function of that name in it";
}

static LogicalResult linkUkernel(LLVM::LLVMFuncOp declaration, StringRef bitcode,
                                 llvm::Module &module) {
  auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, declaration.getName()),
                                       module.getContext());
  if (!parsed)
    return kdl::emitBitcodeError(declaration) << llvm::toString(parsed.takeError());
  auto inside = declaration->getAttrOfType<StringAttr>(kdl::functionAttr);
  llvm::Function *found =
      (*parsed)->getFunction(inside ? inside.getValue() : declaration.getName());
  if (!found || found->isDeclaration())
    return kdl::emitBitcodeError(declaration) << "found no function of that name in it";
  std::string why;
  if (failed(kdl::checkLayout(*found, found->getName(), why)))
    return kdl::emitBitcodeError(declaration) << why;
  if (module.getTargetTriple().empty()) {
    module.setTargetTriple((*parsed)->getTargetTriple());
    module.setDataLayout((*parsed)->getDataLayout());
  }
  addSuffix(**parsed, /*defined=*/true, suffixOf(declaration));
  found->setName(declaration.getName());
  SmallVector<std::string> names;
  for (llvm::Function &function : **parsed) {
    // A static function may have the name of a function of the program.
    if (!function.isDeclaration()) {
      function.setSection("");
      if (!function.hasLocalLinkage())
        names.push_back(function.getName().str());
    }
  }
  bool needsTiles =
      found->getFnAttribute("target-features").getValueAsString().contains("+amx-tile");
  markForInlining(**parsed);
  if (llvm::Linker::linkModules(module, std::move(*parsed), llvm::Linker::LinkOnlyNeeded))
    return kdl::emitBitcodeError(declaration) << "cannot be linked";
  for (const std::string &name : names) {
    llvm::Function *linked = module.getFunction(name);
    if (linked && !linked->isDeclaration())
      makeInternal(*linked);
  }
  raiseTargetOfCallers(*module.getFunction(declaration.getName()));
  if (needsTiles)
    emitTilePermissionRequest(module);
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// The target machine for the passes; CPU-specific settings are in the functions' attributes. Null
/// for a target that this LLVM lacks.
static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const llvm::Module &module) {
  static const bool initialized = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    return true;
  }();
  (void)initialized;
  std::string problem;
  const llvm::Triple &triple = module.getTargetTriple();
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, /*CPU=*/"", /*Features=*/"", llvm::TargetOptions(), llvm::Reloc::PIC_));
}

static LogicalResult runPasses(Operation *op, llvm::Module &module, llvm::TargetMachine *machine,
                               StringRef text) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  std::unique_ptr<llvm::PassBuilder> builder =
      kdl::makePassBuilder(module.getContext(), machine, llvm::PipelineTuningOptions());
  builder->registerModuleAnalyses(modules);
  builder->registerCGSCCAnalyses(components);
  builder->registerFunctionAnalyses(functions);
  builder->registerLoopAnalyses(loops);
  builder->crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder->parsePassPipeline(passes, text))
    return op->emitError("LLVM's passes: ") << llvm::toString(std::move(error));
  passes.run(module, modules);
  return success();
}

/// As in kdl-ld.
static LogicalResult inlineAndOptimize(Operation *op, llvm::Module &module,
                                       ArrayRef<LLVM::LLVMFuncOp> ukernels) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(module);
  if (failed(runPasses(op, module, machine.get(), KDL_UKERNEL_INLINE_PASSES)))
    return failure();
  for (LLVM::LLVMFuncOp ukernel : ukernels) {
    if (module.getFunction(ukernel.getName()))
      return kdl::emitBitcodeError(ukernel)
             << "was not inlined: it calls itself, or its address is taken";
  }
  if (failed(runPasses(op, module, machine.get(), KDL_UKERNEL_OPTIMISE_PASSES)))
    return failure();
  for (const llvm::Function &function : module) {
    if (function.isDeclaration() && function.getName().starts_with("kdl_uk_") &&
        !function.use_empty())
      return op->emitError("the microkernel '")
             << function.getName() << "' is called, and nothing in the module defines it";
  }
  return success();
}

/// gpu-to-llvm leaves these unlowered, and the error would be about the casts around them.
static LogicalResult refuseBlocking(Operation *op) {
  return failure(op->walk([](gpu::AsyncOpInterface left) {
                     if (isa<gpu::LaunchFuncOp>(left))
                       return WalkResult::advance();
                     left->emitError("found '")
                         << left->getName()
                         << "', expected it lowered: run kdl-async-memory and gpu-to-llvm before";
                     return WalkResult::interrupt();
                   }).wasInterrupted());
}

std::unique_ptr<llvm::Module> kdl::translateWithUkernels(Operation *op,
                                                         llvm::LLVMContext &context) {
  if (failed(refuseBlocking(op)))
    return nullptr;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(op, context);
  if (!module)
    return nullptr;
  SmallVector<llvm::Function *> own; // compiled for the CPU of its microkernels
  for (llvm::Function &function : *module) {
    if (op->hasAttr(forTargetAttr) && !function.isDeclaration())
      own.push_back(&function);
  }
  // Callers of microkernels are linked before them.
  SmallVector<LLVM::LLVMFuncOp> ukernels;
  for (bool calls : {true, false}) {
    WalkResult walked = op->walk([&](LLVM::LLVMFuncOp function) {
      StringRef bitcode = bitcodeOf(function);
      auto called = function->getAttrOfType<FlatSymbolRefAttr>(callsAttr);
      if (bitcode.empty() || !function.isExternal() || bool(called) != calls)
        return WalkResult::advance();
      if (called)
        return WalkResult(linkMatmulKernels(function, bitcode, called, *module));
      ukernels.push_back(function);
      return WalkResult(linkUkernel(function, bitcode, *module));
    });
    if (walked.wasInterrupted())
      return nullptr;
  }
  raiseTargetOfMatmulKernels(*module);
  for (LLVM::LLVMFuncOp ukernel : ukernels) {
    for (llvm::Function *function : own)
      raiseTarget(*function, *module->getFunction(ukernel.getName()));
  }
  if (!ukernels.empty() && failed(inlineAndOptimize(op, *module, ukernels)))
    return nullptr;
  return module;
}
