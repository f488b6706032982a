// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the LLVM dialect to a shared object.
#include "compile.h"

#include "host/HostCode.h"
#include "ukernels/UkernelLibrary.h"
#include "ukernels/UkernelLink.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <dlfcn.h>

extern "C" {
#include "lib/inspect/images.h"
}

using namespace mlir;
using namespace mlir::kdl;

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// Gives constants one dimension: LLVM would create a constant for each innermost row, which for
/// the weights of convolutions are a few elements. Code has their addresses alone.
static void flattenConstants(ModuleOp module) {
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    auto value = dyn_cast_or_null<ElementsAttr>(global.getValueOrNull());
    auto tensor = value ? dyn_cast<RankedTensorType>(value.getShapedType()) : nullptr;
    if (!tensor || tensor.getRank() < 2)
      continue;
    Type element = global.getGlobalType();
    while (auto array = dyn_cast<LLVM::LLVMArrayType>(element))
      element = array.getElementType();
    int64_t count = tensor.getNumElements();
    auto flat = RankedTensorType::get({count}, tensor.getElementType());
    if (auto dense = dyn_cast<DenseElementsAttr>(value))
      global.setValueAttr(dense.reshape(flat));
    else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
      global.setValueAttr(DenseResourceElementsAttr::get(flat, resource.getRawHandle()));
    else
      continue;
    global.setGlobalType(LLVM::LLVMArrayType::get(element, static_cast<unsigned>(count)));
  }
}

/// Callers see the model's functions and its description alone.
static void exportModel(llvm::Module &module, const Model &model) {
  for (llvm::GlobalValue &value : module.global_values()) {
    if (!value.isDeclaration() && !value.getName().starts_with("llvm."))
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  for (const ModelFunction &function : model.functions) {
    llvm::Function *made = module.getFunction(function.symbol);
    made->setLinkage(llvm::GlobalValue::ExternalLinkage);
    // C's callers may count on a narrow number that fills its register.
    if (auto *type = dyn_cast<llvm::IntegerType>(made->getReturnType());
        type && type->getBitWidth() < 32)
      made->addRetAttr(type->getBitWidth() == 1 ||
                               StringRef(function.results[0].type).front() == 'u'
                           ? llvm::Attribute::ZExt
                           : llvm::Attribute::SExt);
  }
  constexpr StringLiteral name = "kdl_model";
  if (llvm::GlobalValue *other = module.getNamedValue(name))
    other->setName("kdl_model.function");
  llvm::Constant *text =
      llvm::ConstantDataArray::getString(module.getContext(), describeModel(model));
  new llvm::GlobalVariable(module, text->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, text, name);
}

/// Whether the pipeline kept the functions as callers know them.
static LogicalResult checkFunctions(ModuleOp module, const Model &model) {
  for (const ModelFunction &function : model.functions) {
    auto plain = module.lookupSymbol<LLVM::LLVMFuncOp>(function.name);
    if (!plain || !module.lookupSymbol<LLVM::LLVMFuncOp>(function.symbol))
      return module.emitError() << "found no function '" << function.name << "' after lowering";
    Type type = plain.getFunctionType().getReturnType();
    auto fields = dyn_cast<LLVM::LLVMStructType>(type);
    size_t count = isa<LLVM::LLVMVoidType>(type)          ? 0
                   : function.hasResultStruct() && fields ? fields.getBody().size()
                                                          : 1;
    if (count != function.results.size())
      return plain.emitError() << "'" << function.name << "' has " << count
                               << " results after lowering, expected " << function.results.size();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

namespace {

/// What an object needs of libraries.
struct Needs {
  bool runtime = false;
};

bool isInLibc(StringRef name) {
  return kdl_host_import_of({name.data(), name.size()}) != KDL_HOST_IMPORT_NONE ||
         llvm::is_contained({"_GLOBAL_OFFSET_TABLE_", "aligned_alloc", "perror", "puts", "syscall"},
                            name);
}

/// In <kdl/kernel/half_runtime.h>.
bool convertsHalf(StringRef name) {
  return llvm::is_contained(
      {"__extendhfsf2", "__truncsfhf2", "__truncdfhf2", "__truncsfbf2", "__truncdfbf2"}, name);
}

FailureOr<Needs> findNeeds(ModuleOp module, StringRef object) {
  auto parsed = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!parsed)
    return module.emitError() << llvm::toString(parsed.takeError());
  Needs needs;
  bool isComplete = true;
  for (llvm::object::SymbolRef symbol : (*parsed)->symbols()) {
    StringRef name = llvm::cantFail(symbol.getName());
    if (!(llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined) ||
        name.empty() || isInLibc(name) || convertsHalf(name))
      continue;
    if (name.starts_with("kdl_mlir_") || name.starts_with("mgpu")) {
      needs.runtime = true;
      continue;
    }
    auto declared = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    mlir::emitError(declared ? declared.getLoc() : module.getLoc())
        << "found no definition of '" << name
        << "', which the module calls: expected one in the module, or an object (kdl.object)";
    isComplete = false;
  }
  if (!isComplete)
    return failure();
  return needs;
}

/// The file that this program has a function of the C library from.
StringRef fileOf(const char *function) {
  Dl_info info;
  void *found = dlsym(RTLD_DEFAULT, function);
  return found && dladdr(found, &info) && info.dli_fname ? info.dli_fname : "";
}

} // namespace

static LogicalResult linkModel(ModuleOp module, const llvm::Triple &triple, StringRef linker,
                               StringRef object, StringRef name, StringRef output) {
  FailureOr<Needs> needs = findNeeds(module, object);
  if (failed(needs))
    return failure();
  SmallVector<StringRef> options = {"-Bsymbolic", "-z", "now", "-s", "-soname", name};
  std::string runtime;
  SmallString<128> folder;
  if (needs->runtime) {
    runtime = findInstalledLibrary("../libkdl_mlir_runtime.so");
    if (runtime.empty())
      return module.emitError("found no libkdl_mlir_runtime.so next to this program, which threads "
                              "and GPUs need");
    (void)llvm::sys::fs::real_path(llvm::sys::path::parent_path(runtime), folder);
    options.append({runtime, "-rpath", folder});
  }
  // Another CPU's programs have the C library from their own system.
  if (triple.getArch() == llvm::Triple(llvm::sys::getProcessTriple()).getArch())
    options.append(
        {"--as-needed", fileOf("fmod"), fileOf("getpid"), "-z", "defs", "--allow-shlib-undefined"});
  llvm::erase(options, "");
  return linkShared(linker, object, triple, options, output, [&] { return module.emitError(); });
}

LogicalResult kdl::buildShared(ModuleOp module, const Model &model, const cpu_target *target,
                               StringRef linker, StringRef name, StringRef output, Steps &steps) {
  if (failed(checkFunctions(module, model)))
    return failure();
  llvm::LLVMContext context;
  steps.begin("translating");
  flattenConstants(module);
  std::unique_ptr<llvm::Module> translated = translateAndInline(module, context);
  if (!translated)
    return failure();
  auto &machine = *reinterpret_cast<llvm::TargetMachine *>(cpu_target_machine(target));
  exportModel(*translated, model);
  cpu_target_apply(target, llvm::wrap(translated.get()));
  steps.begin("optimising");
  optimize(*translated, machine, 3);
  steps.begin("generating code");
  auto emitError = [&] { return module.emitError(); };
  FailureOr<SmallVector<char, 0>> object = compileObject(*translated, machine, emitError);
  if (failed(object))
    return failure();
  steps.begin("linking");
  return linkModel(module, machine.getTargetTriple(), linker, {object->data(), object->size()},
                   name, output);
}
