// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Translation to LLVM IR with microkernels inlined, and back into the LLVM dialect for tools that
// load no plugins.
#include "Compat.h"
#include "Passes.h"
#include "ukernels/UkernelLink.h"
#include "ukernels/UkernelObjects.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Target/LLVMIR/Import.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include "compiler/ir/linker/ukernel.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLLINKOBJECTS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

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

/// As in kdl-ld.
static LogicalResult runInKdlLd(bool (*run)(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                            ir_reason *why),
                                Operation *op, llvm::Module &module) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(module);
  ir_reason why;
  if (!run(llvm::wrap(&module), reinterpret_cast<LLVMTargetMachineRef>(machine.get()), &why))
    return op->emitError(why.text);
  return success();
}

/// After optimisation, which removes the calls that are never made.
static LogicalResult checkUkernelsAreDefined(Operation *op, const llvm::Module &module) {
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

std::unique_ptr<llvm::Module> kdl::translateAndInline(Operation *op, llvm::LLVMContext &context) {
  if (failed(refuseBlocking(op)))
    return nullptr;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(op, context);
  if (!module || getUkernels(op).empty())
    return module;
  raiseTargetOfCallers(op, *module); // the translation of a function may have set its own features
  return succeeded(runInKdlLd(ir_inline_run, op, *module)) ? std::move(module) : nullptr;
}

std::unique_ptr<llvm::Module> kdl::translateWithUkernels(Operation *op,
                                                         llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> module = translateAndInline(op, context);
  if (!module || getUkernels(op).empty())
    return module;
  bool optimised = succeeded(runInKdlLd(ir_inline_optimise, op, *module)) &&
                   succeeded(checkUkernelsAreDefined(op, *module));
  return optimised ? std::move(module) : nullptr;
}

namespace {

struct LinkObjects : public kdl::impl::KdlLinkObjectsBase<LinkObjects> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<DLTIDialect, KdlDialect, LLVM::LLVMDialect>();
    registerAllToLLVMIRTranslations(registry);
    registerAllFromLLVMIRTranslations(registry);
  }

  void runOnOperation() override {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> translated = translateWithUkernels(getOperation(), context);
    if (!translated)
      return signalPassFailure();
    std::string layout = translated->getDataLayoutStr();
    OwningOpRef<ModuleOp> linked = translateLLVMIRToModule(
        std::move(translated), &getContext(), /*emitExpensiveWarnings=*/false,
        /*dropDICompositeTypeElements=*/false, /*loadAllDialects=*/false);
    if (!linked)
      return signalPassFailure();
    ModuleOp module = getOperation();
    module.getBodyRegion().takeBody(linked->getBodyRegion());
    module->setAttrs((*linked)->getAttrDictionary());
    // mlir-runner does not know the dialect of the imported layout.
    module->removeAttr(DLTIDialect::kDataLayoutAttrName);
    module->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                    StringAttr::get(&getContext(), layout));
  }
};

} // namespace
