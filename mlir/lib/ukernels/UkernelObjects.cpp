// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/UkernelObjects.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mlir::kdl;

LogicalResult ObjectAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                 ElementsAttr data) {
  if (name.empty())
    return emitError() << "found an empty name";
  ShapedType type = data.getShapedType();
  if (type.getRank() != 1 || !type.getElementType().isInteger(8))
    return emitError() << "found " << type << ", expected bytes, as tensor<1024xi8>";
  return success();
}

std::optional<StringRef> kdl::bytesOf(ObjectAttr object) {
  auto text = [](ArrayRef<char> data) { return StringRef(data.data(), data.size()); };
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(object.getData())) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? std::optional(text(blob->getData())) : std::nullopt;
  }
  auto dense = dyn_cast<DenseElementsAttr>(object.getData());
  return dense && !dense.isSplat() ? std::optional(text(dense.getRawData())) : std::nullopt;
}

ObjectAttr kdl::findObject(Operation *op, StringRef name) {
  for (; op; op = op->getParentOp()) {
    auto objects = op->getAttrOfType<ArrayAttr>(objectsAttr);
    if (!objects)
      continue;
    for (auto object : objects.getAsRange<ObjectAttr>()) {
      if (object.getName() == name)
        return object;
    }
  }
  return nullptr;
}

StringAttr kdl::addObject(ModuleOp module, StringRef name, StringRef bytes) {
  MLIRContext *context = module.getContext();
  SmallVector<Attribute> objects;
  if (auto before = module->getAttrOfType<ArrayAttr>(objectsAttr))
    llvm::append_range(objects, before);
  for (Attribute object : objects) {
    if (bytesOf(cast<ObjectAttr>(object)) == bytes)
      return cast<ObjectAttr>(object).getName();
  }
  std::string own = name.str();
  for (size_t number = 1; findObject(module, own); ++number)
    own = (name + "_" + Twine(number)).str();
  auto type =
      RankedTensorType::get(static_cast<int64_t>(bytes.size()), IntegerType::get(context, 8));
  constexpr size_t alignment = 8;
  auto data = DenseResourceElementsAttr::get(
      type, own,
      HeapAsmResourceBlob::allocateAndCopyWithAlign(ArrayRef(bytes.data(), bytes.size()), alignment,
                                                    /*dataIsMutable=*/false));
  auto made = ObjectAttr::get(context, StringAttr::get(context, own), data);
  objects.push_back(made);
  module->setAttr(objectsAttr, ArrayAttr::get(context, objects));
  return made.getName();
}

/// An attribute, or the elements of a list.
static SmallVector<StringAttr> textsOf(Attribute attribute) {
  if (auto several = dyn_cast_or_null<ArrayAttr>(attribute))
    return llvm::to_vector(several.getAsRange<StringAttr>());
  if (auto one = dyn_cast_or_null<StringAttr>(attribute))
    return {one};
  return {};
}

SmallVector<StringRef> kdl::bitcodesOf(Operation *function) {
  SmallVector<StringRef> found;
  for (StringAttr bitcode : textsOf(function->getAttr(bitcodeAttr)))
    found.push_back(bitcode);
  for (StringAttr name : textsOf(function->getAttr(objectAttr))) {
    ObjectAttr object = findObject(function, name);
    if (std::optional<StringRef> bytes = object ? bytesOf(object) : std::nullopt)
      found.push_back(*bytes);
  }
  return found;
}

StringRef kdl::bitcodeOf(Operation *function) {
  SmallVector<StringRef> all = bitcodesOf(function);
  return all.empty() ? StringRef() : all.front();
}

InFlightDiagnostic kdl::emitBitcodeError(Operation *function) {
  StringRef attribute = function->hasAttr(objectAttr) ? objectAttr : bitcodeAttr;
  return function->emitError(attribute) << ": ";
}
