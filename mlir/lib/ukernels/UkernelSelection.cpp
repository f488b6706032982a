// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/UkernelSelection.h"

#include "Attributes.h"
#include "ukernels/UkernelLibrary.h"
#include "ukernels/UkernelLink.h"
#include "ukernels/UkernelObjects.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::kdl;

LogicalResult kdl::checkUkernelSource(MLIRContext *context, StringRef pass,
                                      const UkernelSource &source) {
  auto complain = [&] { return emitError(UnknownLoc::get(context)) << pass << ": "; };
  kdl_device *device = nullptr;
  kdl_device_info info{};
  info.size = sizeof info;
  if (!source.target.empty()) {
    if (kdl_device_find(source.target.c_str(), &device) != KDL_OK ||
        kdl_device_get(device, &info) != KDL_OK)
      return complain() << "found target=" << source.target << ": " << kdl_error_message();
    if (!info.is_host)
      return complain() << "found target=" << source.target
                        << ", expected a CPU, as host or host:x86-64-v4";
  }
  std::string why;
  if (!source.library.empty() && !openLibrary(source.library, why))
    return complain() << "found library=" << source.library << ": " << why;
  return success();
}

func::FuncOp kdl::findOwnUkernel(ModuleOp module, StringRef name) {
  auto own = module.lookupSymbol<func::FuncOp>(name);
  return own && hasBitcode(own) ? own : nullptr;
}

/// A function of the module in a microkernel's place: one with bitcode, which must have the layout.
static FailureOr<MmaUkernel> readOwnUkernel(func::FuncOp own, const MmaKind &kind,
                                            std::string &why) {
  std::string bitcode = bitcodeOf(own).str();
  if (bitcode.empty()) {
    why = "found a function " + kind.ukernel + " without " + bitcodeAttr.str();
    return failure();
  }
  if (failed(checkLayout(bitcode, kind.ukernel, why)))
    return failure();
  MmaTile tile = readTile(bitcode, kind.ukernel);
  bool fixesSteps = own->hasAttr(tilesAttr) || tile.steps == mmaSteps;
  return MmaUkernel{kind,      bitcode,      /*tag=*/"",
                    tile.rows, tile.columns, fixesSteps ? mmaSteps : tile.steps,
                    fixesSteps};
}

/// Whether what a provider answers can be called.
static LogicalResult checkUkernel(const MmaUkernel &ukernel, std::string &why) {
  bool hasTile = ukernel.rows != 0 && ukernel.columns != 0;
  if ((hasTile && (ukernel.rows < 1 || ukernel.columns < 1 || ukernel.columns % mmaColumns != 0)) ||
      ukernel.steps < 1 || ukernel.kind.values < 1) {
    llvm::raw_string_ostream(why) << "found a tile of " << ukernel.rows << " rows, "
                                  << ukernel.columns << " columns, " << ukernel.steps
                                  << " steps and " << ukernel.kind.values
                                  << " values, expected 1 or more of each and " << mmaColumns
                                  << " columns or a multiple";
    return failure();
  }
  if (ukernel.fixesSteps && ukernel.steps != mmaSteps) {
    llvm::raw_string_ostream(why) << "found a microkernel that takes " << ukernel.steps
                                  << " steps alone, expected " << mmaSteps;
    return failure();
  }
  return success();
}

FailureOr<MmaUkernel> kdl::findProvidedUkernel(ModuleOp module, MmaProduct product,
                                               const UkernelSource &source, std::string &why) {
  product.target = source.cpu();
  auto provider = module->getAttrOfType<UkernelProviderInterface>(providerAttr);
  if (!provider)
    provider = UkernelLibraryAttr::get(module.getContext(), source.library);
  FailureOr<MmaUkernel> found = provider.findMmaUkernel(product, why);
  if (failed(found) || failed(checkUkernel(*found, why)))
    return failure();
  return found;
}

FailureOr<func::FuncOp> kdl::findFunction(ModuleOp module, StringRef name, std::string &why) {
  Operation *symbol = module.lookupSymbol(name);
  auto function = dyn_cast_or_null<func::FuncOp>(symbol);
  if (!symbol || function)
    return function;
  why = ("found a symbol " + name + " that is no func.func").str();
  return failure();
}

FailureOr<MmaUkernel> kdl::findMmaUkernel(ModuleOp module, const MmaProduct &product,
                                          const UkernelSource &source, std::string &why) {
  std::optional<MmaKind> kind = getMmaKind(product);
  FailureOr<func::FuncOp> own = func::FuncOp();
  if (kind && failed(own = findFunction(module, kind->ukernel, why)))
    return failure();
  FailureOr<MmaUkernel> found =
      *own ? readOwnUkernel(*own, *kind, why) : findProvidedUkernel(module, product, source, why);
  if (failed(found))
    return failure();
  if (found->rows == 0 || found->columns == 0) {
    why = explainNoTile(found->kind.ukernel);
    return failure();
  }
  return found;
}

LogicalResult kdl::checkProvider(ModuleOp module) {
  auto library = module->getAttrOfType<UkernelLibraryAttr>(providerAttr);
  std::string why;
  if (!library || library.getPath().empty() || openLibrary(library.getPath().str(), why))
    return success();
  return module.emitError(providerAttr) << ": " << why;
}

func::FuncOp kdl::declareUkernel(ModuleOp module, StringRef name, const MmaUkernel &ukernel) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  auto type =
      builder.getFunctionType({pointer, i64, pointer, i64, pointer, i64, i32, i32, i32, i32}, {});
  auto made = func::FuncOp::create(builder, module.getLoc(), name, type);
  made.setPrivate();
  made->setAttr(variantAttr, builder.getStringAttr(ukernel.tag));
  made->setAttr(objectAttr,
                addObject(module, ukernel.tag.empty() ? "ukernel" : ukernel.tag, ukernel.bitcode));
  if (ukernel.fixesSteps)
    made->setAttr(tilesAttr, builder.getUnitAttr());
  if (name != ukernel.kind.ukernel)
    made->setAttr(functionAttr, builder.getStringAttr(ukernel.kind.ukernel));
  return made;
}
