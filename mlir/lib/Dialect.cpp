// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dialect.h"

#include "Attributes.h"
#include "ObjectPacking.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kdl;

#include "KdlDialect.cpp.inc"
#include "KdlEnums.cpp.inc"
#include "KdlInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "KdlAttrs.cpp.inc"

namespace {

/// Objects refer to resources, which the textual form of an attribute in bytecode would lose.
struct BytecodeInterface : public BytecodeDialectInterface {
  explicit BytecodeInterface(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  Attribute readAttribute(DialectBytecodeReader &reader) const override {
    StringAttr name;
    ElementsAttr data;
    if (failed(reader.readAttribute(name)) || failed(reader.readAttribute(data)))
      return {};
    return ObjectAttr::getChecked([&] { return reader.emitError(); }, getContext(), name, data);
  }

  LogicalResult writeAttribute(Attribute attribute, DialectBytecodeWriter &writer) const override {
    auto object = dyn_cast<ObjectAttr>(attribute);
    if (!object)
      return failure();
    writer.writeAttribute(object.getName());
    writer.writeAttribute(object.getData());
    return success();
  }
};

} // namespace

void KdlDialect::initialize() {
  addInterfaces<BytecodeInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "KdlAttrs.cpp.inc"
      >();
}

LogicalResult KdlDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return verifyDiscardable(op, attribute);
}

const char *kdl::getHostTriple() {
#if defined(__aarch64__)
  return "aarch64-unknown-linux-gnu";
#else
  return "x86_64-unknown-linux-gnu";
#endif
}

const char *kdl::getHostArch() {
#if defined(__aarch64__)
  return "armv8-a";
#else
  return "x86-64-v2";
#endif
}

LogicalResult HostTargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, int O,
                                     StringRef triple, StringRef arch) {
  if (O < 0 || O > 3)
    return emitError() << "found O = " << O << ", expected 0 to 3";
  if (triple.empty() || arch.empty())
    return emitError() << "found an empty " << (triple.empty() ? "triple" : "arch");
  return success();
}

std::optional<kdl::SerializedObject>
HostTargetAttr::serializeToObject(Operation *module, const gpu::TargetOptions &) const {
  module->emitError() << "found the target " << *this
                      << ", which is compiled before the module is lowered for a GPU: run "
                         "kdl-host-object or kdl-compile-targets first";
  return std::nullopt;
}

Attribute HostTargetAttr::createObject(Operation *, const kdl::SerializedObject &,
                                       const gpu::TargetOptions &) const {
  return nullptr;
}

std::optional<kdl::SerializedObject>
CompiledAttr::serializeToObject(Operation *, const gpu::TargetOptions &) const {
  StringRef bytes = getObject().getObject().getValue();
  return kdl::SerializedObject(SmallVector<char, 0>(bytes.begin(), bytes.end()));
}

Attribute CompiledAttr::createObject(Operation *, const kdl::SerializedObject &,
                                     const gpu::TargetOptions &) const {
  return getObject();
}

LogicalResult VariantAttr::verify(function_ref<InFlightDiagnostic()> emitError, Attribute target,
                                  DictionaryAttr properties) {
  if (!target.hasPromiseOrImplementsInterface<gpu::TargetAttrInterface>() ||
      isa<VariantAttr, CompiledAttr>(target))
    return emitError() << "found " << target
                       << ", expected a target such as #nvvm.target or #kdl.host";
  return verifyProperties(emitError, properties, target);
}

std::optional<kdl::SerializedObject>
VariantAttr::serializeToObject(Operation *module, const gpu::TargetOptions &options) const {
  return cast<gpu::TargetAttrInterface>(getTarget()).serializeToObject(module, options);
}

Attribute VariantAttr::createObject(Operation *module, const kdl::SerializedObject &bytes,
                                    const gpu::TargetOptions &options) const {
  auto object = dyn_cast_or_null<gpu::ObjectAttr>(
      cast<gpu::TargetAttrInterface>(getTarget()).createObject(module, bytes, options));
  return object ? addProperties(object) : nullptr;
}

gpu::ObjectAttr VariantAttr::addProperties(gpu::ObjectAttr object) const {
  NamedAttrList properties(object.getProperties());
  for (NamedAttribute property : getProperties())
    properties.set(property.getName(), property.getValue());
  return gpu::ObjectAttr::get(getContext(), object.getTarget(), object.getFormat(),
                              object.getObject(), properties.getDictionary(getContext()),
                              object.getKernels());
}
