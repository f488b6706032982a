// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Attributes.h"

#include "ObjectPacking.h"
#include "ukernels/UkernelObjects.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// What an attribute is for and what its value is, each with the words for a message.
struct Discardable {
  StringLiteral name;
  bool (*isFor)(Operation *);
  StringLiteral operation;
  bool (*takes)(Attribute);
  StringLiteral value;
};

template <typename... Ops> bool isOp(Operation *op) {
  return isa<Ops...>(op);
}

template <typename... Attrs> bool isAttr(Attribute attribute) {
  return isa<Attrs...>(attribute);
}

bool isAny(Operation *) {
  return true;
}

template <typename Element> bool isListOf(Attribute attribute) {
  auto several = dyn_cast<ArrayAttr>(attribute);
  return several && !several.empty() && llvm::all_of(several, llvm::IsaPred<Element>);
}

bool isTextOrList(Attribute attribute) {
  return isa<StringAttr>(attribute) || isListOf<StringAttr>(attribute);
}

constexpr StringLiteral function = "a function", text = "a string", unit = "no value",
                        symbol = "the symbol of a function";

constexpr Discardable discardables[] = {
    {propertiesAttr, isOp<gpu::GPUModuleOp>, "a gpu.module", isAttr<DictionaryAttr>,
     "a dictionary"},
    {forTargetAttr, isOp<ModuleOp>, "a module", isAttr<UnitAttr>, unit},
    {objectsAttr, isOp<ModuleOp, gpu::GPUModuleOp>, "a module", isListOf<ObjectAttr>,
     "a list of #kdl.object"},
    {objectAttr, isOp<FunctionOpInterface>, function, isTextOrList, "a name, or a list of names"},
    {bitcodeAttr, isOp<FunctionOpInterface>, function, isTextOrList, "bitcode, or a list of it"},
    {functionAttr, isOp<FunctionOpInterface>, function, isAttr<StringAttr>, text},
    {variantAttr, isOp<FunctionOpInterface>, function, isAttr<StringAttr>, text},
    {tilesAttr, isOp<FunctionOpInterface>, function, isAttr<UnitAttr>, unit},
    {callsAttr, isOp<FunctionOpInterface>, function, isAttr<FlatSymbolRefAttr>, symbol},
    {parallelBodyAttr, isOp<FunctionOpInterface>, function, isAttr<FlatSymbolRefAttr>, symbol},
    {manualDeallocationAttr, isOp<FunctionOpInterface>, function, isAttr<UnitAttr>, unit},
    {noUkernelAttr, isAny, "an operation", isAttr<UnitAttr>, unit},
    {layoutAttr, isOp<linalg::LinalgOp>, "an operation of linalg", isAttr<MmaLayoutAttr>,
     "#kdl.mma_layout"},
    {providerAttr, isOp<ModuleOp>, "a module", isAttr<UkernelProviderInterface>,
     "a provider of microkernels, such as #kdl.ukernel_library"},
    {deferredAttr, isOp<gpu::LaunchFuncOp>, "a gpu.launch_func", isAttr<UnitAttr>, unit},
};

using EmitError = function_ref<InFlightDiagnostic()>;

LogicalResult verifyObjectList(EmitError emitError, ArrayAttr objects) {
  llvm::SmallDenseSet<StringAttr> names;
  for (auto object : objects.getAsRange<ObjectAttr>()) {
    if (!names.insert(object.getName()).second)
      return emitError() << "found two objects " << object.getName();
    if (!bytesOf(object))
      return emitError() << "found no bytes of the object " << object.getName();
  }
  return success();
}

LogicalResult verifyObjectNames(EmitError emitError, Operation *op, Attribute value) {
  auto several = dyn_cast<ArrayAttr>(value);
  for (Attribute name : several ? several.getValue() : ArrayRef(value)) {
    if (!findObject(op, cast<StringAttr>(name)))
      return emitError() << "found " << name << ", expected the name of an object in "
                         << objectsAttr << " of the module";
  }
  return success();
}

} // namespace

LogicalResult kdl::verifyDiscardable(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto emitError = [&] { return op->emitError(name) << ": "; };
  const Discardable *found =
      llvm::find_if(discardables, [&](const Discardable &each) { return each.name == name; });
  if (found == std::end(discardables)) {
    auto names =
        llvm::map_range(discardables, [](const Discardable &each) { return each.name.str(); });
    return emitError() << "found an unknown attribute, expected one of " << llvm::join(names, ", ");
  }
  if (!found->isFor(op))
    return emitError() << "found it on '" << op->getName() << "', expected it on "
                       << found->operation;
  if (!found->takes(attribute.getValue()))
    return emitError() << "found " << attribute.getValue() << ", expected " << found->value;
  if (name == propertiesAttr)
    return verifyProperties(emitError, cast<DictionaryAttr>(attribute.getValue()));
  if (name == objectsAttr)
    return verifyObjectList(emitError, cast<ArrayAttr>(attribute.getValue()));
  if (name == objectAttr)
    return verifyObjectNames(emitError, op, attribute.getValue());
  if (name == layoutAttr)
    return cast<MmaLayoutAttr>(attribute.getValue()).verifyOperands(emitError, op);
  return success();
}
