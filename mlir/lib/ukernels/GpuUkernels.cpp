// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/GpuUkernels.h"

#include "ukernels/UkernelLink.h"
#include "ukernels/UkernelObjects.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/TargetParser/Triple.h"

#include "compiler/ir/linker/ukernel.h"

using namespace mlir;
using namespace mlir::kdl;

func::FuncOp kdl::findGpuUkernel(gpu::GPUModuleOp module, Operation *op, const MmaKind &kind,
                                 std::string &why) {
  auto function = module.lookupSymbol<func::FuncOp>(kind.ukernel);
  SmallVector<StringRef> bitcodes =
      function ? bitcodesOf(function.getOperation()) : SmallVector<StringRef>();
  if (bitcodes.empty()) {
    why = "found no " + kind.ukernel + " with " + bitcodeAttr.str() +
          " in the gpu.module, expected one: libkdl has none for GPUs";
    return nullptr;
  }
  if (kind.left != LhsForm::Unchanged) {
    why = "found a left operand that has to be converted, which takes memory that a kernel has not";
    return nullptr;
  }
  auto hasSpace = [](Type type) {
    auto memref = dyn_cast<MemRefType>(type);
    return memref && memref.getMemorySpace() != nullptr;
  };
  if (llvm::any_of(op->getOperandTypes(), hasSpace)) {
    why = "found operands in a memory space, expected them in global memory";
    return nullptr;
  }
  for (StringRef bitcode : bitcodes) {
    if (failed(checkLayout(bitcode, kind.ukernel, why)))
      return nullptr;
  }
  return function;
}

/// MLIR's conversion gives a function without a body one that calls a C wrapper, which nothing
/// defines: removes that body.
static void removeWrappers(gpu::GPUModuleOp lowered) {
  SmallVector<LLVM::LLVMFuncOp> functions(lowered.getOps<LLVM::LLVMFuncOp>());
  for (LLVM::LLVMFuncOp wrapper : functions) {
    StringRef name = wrapper.getName();
    auto function = name.consume_front("_mlir_ciface_") && wrapper.isExternal()
                        ? lowered.lookupSymbol<LLVM::LLVMFuncOp>(name)
                        : nullptr;
    if (!function || !hasBitcode(function))
      continue;
    function.getBody().dropAllReferences();
    function.getBody().getBlocks().clear();
    function.setLinkage(LLVM::Linkage::External);
    wrapper.erase();
  }
}

/// The bitcode of a microkernel with its functions marked to be inlined and without a target CPU,
/// so that they are compiled for that of their callers. Fails with a reason.
static FailureOr<std::string> prepareUkernel(StringRef bitcode, StringRef name, std::string &why) {
  llvm::LLVMContext context;
  auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, bitcodeAttr), context);
  if (!parsed) {
    why = llvm::toString(parsed.takeError());
    return failure();
  }
  ir_reason reason;
  if (!ir_inline_mark(llvm::wrap(parsed->get()), {name.data(), name.size()}, /*keeps_calls=*/false,
                      &reason)) {
    why = reason.text;
    return failure();
  }
  for (llvm::Function &function : **parsed) {
    if (function.isDeclaration())
      continue;
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    function.setSection("");
  }
  std::string written;
  llvm::raw_string_ostream stream(written);
  llvm::WriteBitcodeToFile(**parsed, stream);
  return written;
}

LogicalResult GpuUkernels::collect(gpu::GPUModuleOp lowered, Attribute target) {
  auto isForTarget = [&](const llvm::Triple &triple) {
    return isa<NVVM::NVVMTargetAttr>(target)
               ? triple.getArch() == llvm::Triple::nvptx64
               : isa<ROCDL::ROCDLTargetAttr>(target) && triple.isAMDGCN();
  };
  removeWrappers(lowered);
  for (auto function : lowered.getOps<LLVM::LLVMFuncOp>()) {
    SmallVector<StringRef> bitcodes = bitcodesOf(function);
    if (bitcodes.empty() || !function.isExternal())
      continue;
    StringRef *mine = llvm::find_if(bitcodes, [&](StringRef bitcode) {
      llvm::Expected<std::string> triple =
          llvm::getBitcodeTargetTriple(llvm::MemoryBufferRef(bitcode, function.getName()));
      if (triple)
        return isForTarget(llvm::Triple(*triple));
      llvm::consumeError(triple.takeError());
      return false;
    });
    if (mine == bitcodes.end())
      return emitBitcodeError(function) << "found no bitcode for " << target;
    std::string why;
    FailureOr<std::string> ukernel = prepareUkernel(*mine, function.getName(), why);
    if (llvm::failed(ukernel))
      return emitBitcodeError(function) << why;
    SmallString<128> path;
    int file = -1;
    std::error_code failed = llvm::sys::fs::createTemporaryFile("kdl-ukernel", "bc", file, path);
    if (failed)
      return emitBitcodeError(function) << path << ": " << failed.message();
    files.push_back(std::make_unique<llvm::FileRemover>(path));
    llvm::raw_fd_ostream to(file, /*shouldClose=*/true);
    to << *ukernel;
    to.flush();
    if (to.has_error()) {
      why = to.error().message();
      to.clear_error();
      return emitBitcodeError(function) << path << ": " << why;
    }
    names.push_back(StringAttr::get(lowered.getContext(), path));
    function->removeAttr(bitcodeAttr);
    function->removeAttr(objectAttr);
  }
  return success();
}
