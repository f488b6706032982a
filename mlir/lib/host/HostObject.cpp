// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles host kernels with LLVM and links them with lld.
#include "host/HostCode.h"
#include "host/HostKernels.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <kdl/host_abi.h>
#include <kdl/kdl.h>

extern "C" {
#include "lib/inspect/images.h"
}

using namespace mlir;
using namespace mlir::kdl;

namespace {

std::unique_ptr<llvm::TargetMachine> makeMachine(HostTargetAttr target,
                                                 function_ref<InFlightDiagnostic()> emitError) {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  std::string error;
  llvm::Triple triple(target.getTriple());
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) {
    emitError() << error;
    return nullptr;
  }
  // LLVM treats levels of x86-64 as CPUs, those of Arm as features.
  bool isArmLevel = triple.isAArch64() && target.getArch().starts_with("armv");
  std::string cpu = isArmLevel ? "generic" : target.getArch().str();
  std::string features =
      isArmLevel ? "+v" + target.getArch().drop_front(4).split('-').first.str() + "a" : "";
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
                                 std::nullopt, static_cast<llvm::CodeGenOptLevel>(target.getO())));
  if (!hasCPU(*machine, cpu)) {
    emitError() << "found arch = \"" << target.getArch() << "\", which LLVM does not know for "
                << target.getTriple();
    return nullptr;
  }
  return machine;
}

/// The note that names the CPU the object needs.
void addNote(llvm::Module &module, StringRef arch) {
  llvm::LLVMContext &context = module.getContext();
  std::string text = arch.str();
  text.resize(llvm::alignTo(text.size() + 1, 4));
  auto word = [&](uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  };
  llvm::Constant *note = llvm::ConstantStruct::getAnon(
      {word(sizeof KDL_HOST_NOTE_OWNER), word(arch.size() + 1), word(KDL_HOST_NOTE_CPU),
       llvm::ConstantDataArray::getString(context, KDL_HOST_NOTE_OWNER),
       llvm::ConstantDataArray::getString(context, text, /*AddNull=*/false)});
  auto *variable =
      new llvm::GlobalVariable(module, note->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::PrivateLinkage, note, "kdl_host_cpu");
  variable->setSection(".note.kdl");
  variable->setAlignment(llvm::Align(4));
}

/// Undefined symbols must belong to the C library, or the object cannot be loaded.
LogicalResult checkUndefined(llvm::MemoryBufferRef shared,
                             function_ref<InFlightDiagnostic()> emitError) {
  auto parsed = llvm::object::ObjectFile::createObjectFile(shared);
  if (!parsed)
    return emitError() << llvm::toString(parsed.takeError());
  for (auto symbol : cast<llvm::object::ELFObjectFileBase>(**parsed).getDynamicSymbolIterators()) {
    uint32_t flags = llvm::cantFail(symbol.getFlags());
    StringRef name = llvm::cantFail(symbol.getName());
    if (flags & llvm::object::SymbolRef::SF_Undefined && !name.empty() &&
        kdl_host_import_of({name.data(), name.size()}) == KDL_HOST_IMPORT_NONE)
      return emitError() << "needs '" << name
                         << "', which it does not define and a host image cannot count on";
  }
  return success();
}

FailureOr<SmallVector<char, 0>> emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                                           StringRef linker,
                                           function_ref<InFlightDiagnostic()> emitError) {
  TemporaryFile shared("so");
  if (shared.error)
    return emitError() << "cannot make a temporary file: " << shared.error.message();
  FailureOr<SmallVector<char, 0>> object = compileObject(module, machine, emitError);
  if (failed(object) ||
      failed(linkShared(linker, {object->data(), object->size()}, machine.getTargetTriple(),
                        {"-Bsymbolic", "-z", "now"}, shared.path, emitError)))
    return failure();
  auto bytes = llvm::MemoryBuffer::getFile(shared.path, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return emitError() << "cannot read " << shared.path << ": " << bytes.getError().message();
  if (failed(checkUndefined(**bytes, emitError)))
    return failure();
  StringRef buffer = (*bytes)->getBuffer();
  return SmallVector<char, 0>(buffer.begin(), buffer.end());
}

/// Code that calls a function of the C library would call the kernel of that name.
LogicalResult checkNames(const llvm::Module &module, ArrayRef<HostKernel> kernels,
                         function_ref<InFlightDiagnostic()> emitError) {
  static constexpr StringLiteral called[] = {"dprintf", "free",   "malloc", "memcpy",
                                             "memmove", "memset", "printf"};
  for (const HostKernel &kernel : kernels) {
    std::string intrinsic = "llvm." + kernel.name + ".";
    bool isCalled = llvm::is_contained(called, StringRef(kernel.name)) ||
                    llvm::any_of(module, [&](const llvm::Function &function) {
                      return function.getName().starts_with(intrinsic);
                    });
    if (isCalled)
      return emitError() << "found a kernel '" << kernel.name
                         << "', which is also the name of a C function that the code calls";
  }
  return success();
}

} // namespace

FailureOr<SmallVector<char, 0>> kdl::compileForHost(ModuleOp module, ArrayRef<HostKernel> kernels,
                                                    HostTargetAttr target, StringRef linker) {
  auto emitError = [&] { return module.emitError() << target << ": "; };
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(target, emitError);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(module, context);
  if (!translated)
    return failure();
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());

  if (failed(checkNames(*translated, kernels, emitError)))
    return failure();
  makeHostGroups(*translated, kernels);
  std::string words;
  llvm::raw_string_ostream stream(words);
  if (llvm::verifyModule(*translated, &stream))
    return emitError() << words;
  optimize(*translated, *machine, target.getO());
  addNote(*translated, target.getArch());
  return emitObject(*translated, *machine, linker, emitError);
}
