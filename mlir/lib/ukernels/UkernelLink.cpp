// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/UkernelLink.h"

#include "ukernels/UkernelObjects.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include "compiler/ir/linker/ukernel.h"

using namespace mlir;

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

/// Vectors of SVE are at least as long as a microkernel needs them: LLVM then keeps its vectors of
/// a fixed size in one register.
static void raiseVectorLength(llvm::Function &function, const llvm::Function &ukernel) {
  llvm::Attribute needed = ukernel.getFnAttribute(llvm::Attribute::VScaleRange);
  llvm::Attribute known = function.getFnAttribute(llvm::Attribute::VScaleRange);
  if (needed.isValid() &&
      (!known.isValid() || known.getVScaleRangeMin() < needed.getVScaleRangeMin()))
    function.addFnAttr(needed);
}

/// Accesses bf16 as integers where LLVM 22 selects no instructions: by masks, with SVE
/// (llvm/llvm-project#201149, fixed in July 2026).
static void accessMaskedBf16AsIntegers(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto *call = dyn_cast<llvm::IntrinsicInst>(&instruction);
    bool isStore = call && call->getIntrinsicID() == llvm::Intrinsic::masked_store;
    if (!isStore && (!call || call->getIntrinsicID() != llvm::Intrinsic::masked_load))
      continue;
    auto *type = dyn_cast<llvm::FixedVectorType>(isStore ? call->getArgOperand(0)->getType()
                                                         : call->getType());
    if (!type || !type->getElementType()->isBFloatTy())
      continue;
    llvm::IRBuilder<> builder(call);
    auto *integers = llvm::FixedVectorType::get(builder.getInt16Ty(), type->getNumElements());
    auto asIntegers = [&](unsigned argument) {
      return builder.CreateBitCast(call->getArgOperand(argument), integers);
    };
    llvm::Align aligned = call->getParamAlign(isStore ? 1 : 0).valueOrOne();
    if (isStore) {
      builder.CreateMaskedStore(asIntegers(0), call->getArgOperand(1), aligned,
                                call->getArgOperand(2));
    } else {
      llvm::Value *loaded = builder.CreateMaskedLoad(integers, call->getArgOperand(0), aligned,
                                                     call->getArgOperand(1), asIntegers(2));
      call->replaceAllUsesWith(builder.CreateBitCast(loaded, type));
    }
    call->eraseFromParent();
  }
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
  raiseVectorLength(function, ukernel);
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

LogicalResult kdl::checkLayout(StringRef bitcode, StringRef name, std::string &why) {
  llvm::LLVMContext context;
  auto parsed = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, name), context);
  if (!parsed) {
    why = llvm::toString(parsed.takeError());
    return failure();
  }
  const llvm::Function *found = (*parsed)->getFunction(name);
  if (!found || found->isDeclaration()) {
    why = ("found no function " + name + " in it").str();
    return failure();
  }
  ir_reason reason;
  if (ir_ukernel_has_layout(/*declared=*/nullptr, llvm::wrap(found), &reason))
    return success();
  why = reason.text;
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
    if (ukernel)
      raiseVectorLength(function, *ukernel);
    function.removeFnAttr(raisedTargetAttr);
  }
}

/// Moves a function's body to a declaration of the same type, which takes its place in the module:
/// LLVM inlines functions in their order, helpers before their callers.
static void moveBody(llvm::Function &from, llvm::Function &to) {
  to.copyAttributesFrom(&from);
  to.setLinkage(from.getLinkage());
  to.copyMetadata(&from, /*Offset=*/0);
  to.splice(to.begin(), &from);
  for (auto [old, argument] : llvm::zip_equal(from.args(), to.args()))
    old.replaceAllUsesWith(&argument);
  from.replaceAllUsesWith(&to);
  to.removeFromParent();
  from.getParent()->getFunctionList().insert(from.getIterator(), &to);
  from.eraseFromParent();
}

/// Links what the module needs of an object, and makes it internal. A function that the module
/// declares gets the body: the linker would replace it, and the translation refers to it.
static LogicalResult linkObject(LLVM::LLVMFuncOp declaration, std::unique_ptr<llvm::Module> object,
                                llvm::Module &module) {
  if (module.getTargetTriple().empty()) {
    module.setTargetTriple(object->getTargetTriple());
    module.setDataLayout(object->getDataLayout());
  }
  SmallVector<std::pair<llvm::Function *, std::string>> declared;
  SmallVector<std::string> names;
  for (llvm::GlobalValue &value : object->global_values()) {
    if (value.isDeclaration() || value.hasLocalLinkage())
      continue;
    auto *function = dyn_cast<llvm::Function>(&value);
    llvm::Function *known = function ? module.getFunction(function->getName()) : nullptr;
    if (known && known->isDeclaration()) {
      ir_reason why;
      if (!ir_ukernel_has_signature(llvm::wrap(known), llvm::wrap(function), "the module", &why))
        return kdl::emitBitcodeError(declaration) << why.text;
      function->setName(known->getName() + ".body");
      llvm::Function::Create(function->getFunctionType(), llvm::GlobalValue::ExternalLinkage,
                             function->getName(), module);
      declared.push_back({known, function->getName().str()});
    }
    names.push_back(value.getName().str());
  }
  if (llvm::Linker::linkModules(module, std::move(object), llvm::Linker::LinkOnlyNeeded))
    return kdl::emitBitcodeError(declaration) << "cannot be linked";
  for (const std::string &name : names) {
    llvm::GlobalValue *value = module.getNamedValue(name);
    if (value)
      ir_internalize(llvm::wrap(value));
  }
  for (const auto &[function, name] : declared)
    moveBody(*module.getFunction(name), *function);
  return success();
}

/// The object that defines a function. Null after an error.
static std::unique_ptr<llvm::Module> parseObject(LLVM::LLVMFuncOp declaration,
                                                 llvm::LLVMContext &context) {
  StringRef bitcode = kdl::bitcodeOf(declaration);
  auto parsed =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, declaration.getName()), context);
  if (parsed)
    return std::move(*parsed);
  kdl::emitBitcodeError(declaration) << llvm::toString(parsed.takeError());
  return nullptr;
}

/// Links an object that calls microkernels. One that holds several functions is linked once.
static LogicalResult linkMatmulKernels(LLVM::LLVMFuncOp declaration, FlatSymbolRefAttr called,
                                       llvm::Module &module) {
  llvm::Function *known = module.getFunction(declaration.getName());
  if (!known->isDeclaration())
    return success();
  std::unique_ptr<llvm::Module> object = parseObject(declaration, module.getContext());
  if (!object)
    return failure();
  auto ukernel = SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(declaration, called);
  if (!ukernel)
    return declaration.emitError(kdl::callsAttr) << ": found no function " << called;
  addSuffix(*object, /*defined=*/false, suffixOf(ukernel));
  for (llvm::Function &function : *object) {
    if (!function.isDeclaration())
      function.addFnAttr(raisedTargetAttr, called.getValue());
  }
  if (failed(linkObject(declaration, std::move(object), module)))
    return failure();
  if (known->isDeclaration())
    return kdl::emitBitcodeError(declaration) << "found no function of that name in it";
  return success();
}

static LogicalResult linkUkernel(LLVM::LLVMFuncOp declaration, llvm::Module &module) {
  std::unique_ptr<llvm::Module> object = parseObject(declaration, module.getContext());
  if (!object)
    return failure();
  auto inside = declaration->getAttrOfType<StringAttr>(kdl::functionAttr);
  llvm::Function *found = object->getFunction(inside ? inside.getValue() : declaration.getName());
  if (!found || found->isDeclaration())
    return kdl::emitBitcodeError(declaration) << "found no function of that name in it";
  ir_reason why;
  if (!ir_ukernel_has_layout(/*declared=*/nullptr, llvm::wrap(found), &why))
    return kdl::emitBitcodeError(declaration) << why.text;
  addSuffix(*object, /*defined=*/true, suffixOf(declaration));
  found->setName(declaration.getName());
  for (llvm::Function &function : *object) {
    if (!function.isDeclaration())
      function.setSection("");
  }
  bool needsTiles =
      found->getFnAttribute("target-features").getValueAsString().contains("+amx-tile");
  kdl_string name = {found->getName().data(), found->getName().size()};
  if (!ir_ukernel_is_stateless(llvm::wrap(object.get()), name.data, &why) ||
      !ir_inline_mark(llvm::wrap(object.get()), name, /*keeps_calls=*/false, &why))
    return kdl::emitBitcodeError(declaration) << why.text;
  if (failed(linkObject(declaration, std::move(object), module)))
    return failure();
  if (needsTiles)
    emitTilePermissionRequest(module);
  return success();
}

SmallVector<LLVM::LLVMFuncOp> kdl::getUkernels(Operation *module) {
  return llvm::filter_to_vector(
      module->getRegion(0).getOps<LLVM::LLVMFuncOp>(), [](LLVM::LLVMFuncOp function) {
        return function.isExternal() && hasBitcode(function) && !function->hasAttr(callsAttr);
      });
}

void kdl::raiseTargetOfCallers(Operation *op, llvm::Module &module) {
  for (LLVM::LLVMFuncOp declaration : getUkernels(op)) {
    llvm::Function *ukernel = module.getFunction(declaration.getName());
    auto raise = [&](LLVM::LLVMFuncOp caller) {
      if (llvm::Function *function = caller ? module.getFunction(caller.getName()) : nullptr)
        raiseTarget(*function, *ukernel);
    };
    if (std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(declaration, op)) {
      for (SymbolTable::SymbolUse use : *uses)
        raise(use.getUser()->getParentOfType<LLVM::LLVMFuncOp>());
    }
    if (op->hasAttr(forTargetAttr)) {
      for (auto function : op->getRegion(0).getOps<LLVM::LLVMFuncOp>()) {
        if (!function.isExternal())
          raise(function);
      }
    }
    for (llvm::User *user : ukernel->users()) {
      if (auto *call = dyn_cast<llvm::CallBase>(user))
        raiseTarget(*call->getFunction(), *ukernel);
    }
  }
  for (llvm::Function &function : module) {
    if (function.getFnAttribute("target-features").getValueAsString().contains("+sve"))
      accessMaskedBf16AsIntegers(function);
  }
}

/// Links the objects of a module's declarations. Callers of microkernels come before these.
static LogicalResult linkObjects(Operation *op, llvm::Module &module) {
  for (auto function : op->getRegion(0).getOps<LLVM::LLVMFuncOp>()) {
    auto called = function->getAttrOfType<FlatSymbolRefAttr>(kdl::callsAttr);
    if (called && function.isExternal() && kdl::hasBitcode(function) &&
        failed(linkMatmulKernels(function, called, module)))
      return failure();
  }
  for (LLVM::LLVMFuncOp ukernel : kdl::getUkernels(op)) {
    if (failed(linkUkernel(ukernel, module)))
      return failure();
  }
  raiseTargetOfMatmulKernels(module);
  kdl::raiseTargetOfCallers(op, module);
  return success();
}

namespace {

/// Links objects when a module is translated: the first declaration with one links all of them, so
/// that a function is defined before its callers are translated.
struct LinkInterface : public LLVMTranslationDialectInterface {
  explicit LinkInterface(Dialect *dialect) : LLVMTranslationDialectInterface(dialect) {}

  LogicalResult amendOperation(Operation *op, ArrayRef<llvm::Instruction *>,
                               NamedAttribute attribute,
                               LLVM::ModuleTranslation &translation) const override {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    StringRef name = attribute.getName();
    if (!function || !function.isExternal() ||
        (name != kdl::objectAttr && name != kdl::bitcodeAttr))
      return success();
    if (isa<gpu::GPUModuleOp>(op->getParentOp()))
      return kdl::emitBitcodeError(op)
             << "found it in a gpu.module, expected kdl-compile-targets to have linked it";
    llvm::Function *translated = translation.lookupFunction(function.getName());
    if (!translated->isDeclaration())
      return success();
    return linkObjects(op->getParentOp(), *translation.getLLVMModule());
  }
};

} // namespace

void kdl::registerLinkInterface(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *, KdlDialect *dialect) { dialect->addInterfaces<LinkInterface>(); });
}
