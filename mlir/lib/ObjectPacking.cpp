// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ObjectPacking.h"

#include "Dialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/LLVMIR/XeVMDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVAttributes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <kdl/kdl.h>

#include <deque>

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// What a target implies for its objects.
struct Image {
  std::string triple;
  std::string arch;
  kdl_image_kind kind = KDL_IMAGE_UNKNOWN;
  uint16_t offloadKind = KDL_OFFLOAD_NONE;
};

struct Kernel {
  StringRef name;
  SmallVector<Type> params;
  SmallVector<int32_t> block;
};

/// Property of an object: the launches that it is for (docs/metadata.md, `when`).
constexpr StringLiteral whenKey = "when";

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

/// "+xnack,-sramecc" as in a target ID: ":sramecc-:xnack+". Other features are not part of a target
/// ID.
std::string targetIDFeatures(StringRef features) {
  std::string id;
  for (StringRef name : {"sramecc", "xnack"}) {
    for (StringRef feature : llvm::split(features, ',')) {
      if (feature.drop_front(feature.empty() ? 0 : 1) == name)
        id += (":" + name + feature.take_front()).str();
    }
  }
  return id;
}

bool isSPIRV(StringRef bytes) {
  return bytes.starts_with(StringRef("\x03\x02\x23\x07", 4));
}

bool hasShader(spirv::TargetEnvAttr target) {
  return llvm::is_contained(target.getCapabilities(), spirv::Capability::Shader);
}

FailureOr<Image> describeNVIDIA(NVVM::NVVMTargetAttr target, gpu::CompilationTarget format) {
  static constexpr kdl_image_kind kinds[] = {KDL_IMAGE_BITCODE, KDL_IMAGE_PTX, KDL_IMAGE_CUBIN,
                                             KDL_IMAGE_FATBIN};
  return Image{target.getTriple().str(), target.getChip().str(),
               kinds[static_cast<uint32_t>(format) - 1], KDL_OFFLOAD_CUDA};
}

/// The format is what was requested of a compiler; the bytes decide what it is.
FailureOr<Image> describeObject(gpu::ObjectAttr object,
                                function_ref<InFlightDiagnostic()> emitError) {
  StringRef bytes = object.getObject().getValue();
  gpu::CompilationTarget format = object.getFormat();
  bool isBitcode = bytes.starts_with("BC\xC0\xDE");
  return TypeSwitch<Attribute, FailureOr<Image>>(object.getTarget())
      .Case([&](NVVM::NVVMTargetAttr target) { return describeNVIDIA(target, format); })
      .Case([&](ROCDL::ROCDLTargetAttr target) -> FailureOr<Image> {
        if (format == gpu::CompilationTarget::Assembly)
          return emitError() << "found AMD assembly, which nothing loads: compile it with "
                                "format=bin";
        return Image{target.getTriple().str(),
                     target.getChip().str() + targetIDFeatures(target.getFeatures()),
                     isBitcode ? KDL_IMAGE_BITCODE : KDL_IMAGE_HSACO, KDL_OFFLOAD_HIP};
      })
      .Case([&](xevm::XeVMTargetAttr target) -> FailureOr<Image> {
        if (format == gpu::CompilationTarget::Assembly)
          return emitError() << "found SPIR-V as text, which nothing loads: compile it with "
                                "format=bin";
        return isSPIRV(bytes)
                   ? Image{target.getTriple().str(), "generic", KDL_IMAGE_SPIRV, KDL_OFFLOAD_SYCL}
                   : Image{target.getTriple().str(), target.getChip().str(), KDL_IMAGE_ZEBIN,
                           KDL_OFFLOAD_SYCL};
      })
      .Case([&](spirv::TargetEnvAttr target) -> FailureOr<Image> {
        return Image{hasShader(target) ? "spirv-unknown-vulkan" : "spirv64-unknown-unknown",
                     "generic", KDL_IMAGE_SPIRV, KDL_OFFLOAD_SYCL};
      })
      .Case([&](PortableTargetAttr) -> FailureOr<Image> {
        return Image{"portable", "", KDL_IMAGE_BITCODE, KDL_OFFLOAD_NONE};
      })
      .Case([&](HostTargetAttr target) -> FailureOr<Image> {
        return Image{target.getTriple().str(), target.getArch().str(),
                     isBitcode ? KDL_IMAGE_BITCODE : KDL_IMAGE_OBJECT, KDL_OFFLOAD_OPENMP};
      })
      .Default([&](Attribute target) -> FailureOr<Image> {
        return emitError() << "found the target " << target
                           << ", expected #nvvm.target, #rocdl.target, #xevm.target, "
                              "#spirv.target_env, #kdl.portable or #kdl.host";
      });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The type's spelling in signatures; empty if there is none.
std::string spellType(Type type) {
  if (isa<LLVM::LLVMPointerType, MemRefType>(type))
    return "ptr<void>";
  if (isa<IndexType>(type))
    return "i64";
  if (isa<BFloat16Type>(type))
    return "bf16";
  if (isa<FloatType>(type) && llvm::is_contained({8u, 16u, 32u, 64u}, type.getIntOrFloatBitWidth()))
    return "f" + llvm::utostr(type.getIntOrFloatBitWidth());
  if (isa<IntegerType>(type)) {
    unsigned width = type.getIntOrFloatBitWidth() == 1 ? 8 : type.getIntOrFloatBitWidth();
    if (llvm::is_contained({8u, 16u, 32u, 64u, 128u}, width))
      return "i" + llvm::utostr(width);
  }
  return "";
}

/// The value of a kernel's key. A signature with a type that has no spelling is omitted: libkdl
/// then reads the image.
/// A condition names the parameters by their numbers: arg0, arg1, ...
std::string spellKernel(const Kernel &kernel, StringRef when) {
  SmallVector<std::string> fields, types;
  llvm::append_range(types, llvm::map_range(kernel.params, spellType));
  if (!llvm::is_contained(types, ""))
    fields.push_back("sig=" + llvm::join(types, " "));
  if (kernel.block.size() == 3)
    fields.push_back("block=" + llvm::join(llvm::map_range(kernel.block, llvm::itostr), "x"));
  if (!when.empty()) {
    SmallVector<std::string> names;
    for (size_t i = 0; i < kernel.params.size(); ++i)
      names.push_back("arg" + llvm::utostr(i));
    fields.push_back("names=" + llvm::join(names, " "));
    fields.push_back(("when=" + when).str());
  }
  return llvm::join(fields, "; ");
}

SmallVector<Type> paramsOf(Type functionType) {
  if (auto function = dyn_cast<LLVM::LLVMFunctionType>(functionType))
    return SmallVector<Type>(function.getParams());
  if (auto function = dyn_cast<FunctionType>(functionType))
    return SmallVector<Type>(function.getInputs());
  return {};
}

SmallVector<Kernel> kernelsOf(gpu::KernelTableAttr table) {
  SmallVector<Kernel> kernels;
  for (gpu::KernelMetadataAttr entry : table) {
    Kernel kernel{entry.getName().getValue(), paramsOf(entry.getFunctionType()), {}};
    if (auto block = entry.getAttr<DenseI32ArrayAttr>(knownBlockKey))
      llvm::append_range(kernel.block, block.asArrayRef());
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

/// For objects without a kernel table: the launched kernels, with the parameters of their launches.
SmallVector<Kernel> kernelsLaunched(gpu::BinaryOp binary) {
  SmallVector<Kernel> kernels;
  binary->getParentOp()->walk([&](gpu::LaunchFuncOp launch) {
    StringRef name = launch.getKernelName().getValue();
    if (launch.getKernelModuleName() == binary.getNameAttr() &&
        llvm::none_of(kernels, [&](const Kernel &known) { return known.name == name; }))
      kernels.push_back({name, SmallVector<Type>(launch.getKernelOperands().getTypes()), {}});
  });
  return kernels;
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

/// Properties of an object that become metadata keys of the image (docs/metadata.md).
constexpr StringLiteral propertyKeys[] = {"min_sm", "min_gfx", "requires_features",
                                          "variant_priority", "variant_tag"};

bool isPropertyKey(StringRef key) {
  return llvm::is_contained(propertyKeys, key) || key == whenKey || key.starts_with("kdl.");
}

/// A property as a key's text: strings as they are, numbers in decimal, lists joined by '+'.
FailureOr<std::string> spellProperty(StringRef key, Attribute value,
                                     function_ref<InFlightDiagnostic()> emitError) {
  if (key == "variant_priority" || key == "min_sm") {
    auto text = dyn_cast<StringAttr>(value);
    auto number = dyn_cast<IntegerAttr>(value);
    uint32_t parsed;
    if (text ? text.getValue().getAsInteger(10, parsed)
             : !number || number.getValue().isNegative() || number.getValue().getActiveBits() > 32)
      return emitError() << "found " << key << " = " << value
                         << ", expected an unsigned number of 32 bits";
  }
  if (key == whenKey && !isa<StringAttr>(value))
    return emitError() << "found " << key << " = " << value << ", expected a string";
  if (auto text = dyn_cast<StringAttr>(value))
    return text.getValue().str();
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    SmallString<16> digits;
    number.getValue().toString(digits, 10, /*Signed=*/!number.getType().isUnsignedInteger());
    return std::string(digits);
  }
  auto list = dyn_cast<ArrayAttr>(value);
  if (list && llvm::all_of(list, llvm::IsaPred<StringAttr>)) {
    auto names =
        llvm::map_range(list, [](Attribute name) { return cast<StringAttr>(name).getValue(); });
    return llvm::join(names, "+");
  }
  return emitError() << "found " << key << " = " << value
                     << ", expected a string, an integer or an array of strings";
}

/// Owns the text of an image's pairs until the writer has copied it.
class Pairs {
public:
  void add(StringRef key, StringRef value) { pairs.push_back({keep(key), keep(value)}); }
  ArrayRef<kdl_pair> get() const { return pairs; }

private:
  kdl_string keep(StringRef text) {
    const std::string &kept = texts.emplace_back(text);
    return {kept.c_str(), kept.size()};
  }
  std::deque<std::string> texts;
  SmallVector<kdl_pair> pairs;
};

LogicalResult addProperties(gpu::ObjectAttr object, Pairs &pairs,
                            function_ref<InFlightDiagnostic()> emitError) {
  DictionaryAttr properties = object.getProperties();
  for (NamedAttribute property : properties ? properties.getValue() : ArrayRef<NamedAttribute>()) {
    StringRef key = property.getName();
    if (!isPropertyKey(key))
      continue;
    FailureOr<std::string> value = spellProperty(key, property.getValue(), emitError);
    if (failed(value))
      return failure();
    if (key != whenKey) // of its kernels
      pairs.add(key, *value);
  }
  // One without a condition, of the same target, is for all other launches: it ranks behind.
  if (properties && properties.get(whenKey) && !properties.get("variant_priority"))
    pairs.add("variant_priority", "1");
  return success();
}

/// The condition of an object; empty if it has none.
StringRef conditionOf(gpu::ObjectAttr object) {
  auto when = object.getProperties() ? object.getProperties().getAs<StringAttr>(whenKey) : nullptr;
  return when ? when.getValue() : StringRef();
}

/// Whether an object's properties have keys that begin so.
bool hasKeys(gpu::ObjectAttr object, StringRef prefix) {
  DictionaryAttr properties = object.getProperties();
  return properties && llvm::any_of(properties, [&](NamedAttribute property) {
           return property.getName().getValue().starts_with(prefix);
         });
}

/// A fatbin gets no kernel keys: libkdl does not open an image that has them, and a fatbin is a
/// container. Nor does an object whose properties have them, or those of microkernels.
LogicalResult addObject(gpu::ObjectAttr object, gpu::BinaryOp binary, kdl_writer *writer,
                        function_ref<InFlightDiagnostic()> emitError) {
  FailureOr<Image> image = describeObject(object, emitError);
  if (failed(image))
    return failure();
  Pairs pairs;
  pairs.add("triple", image->triple);
  if (!image->arch.empty())
    pairs.add("arch", image->arch);
  if (failed(addProperties(object, pairs, emitError)))
    return failure();
  if (image->kind != KDL_IMAGE_FATBIN && !hasKeys(object, "kdl.kernel.") &&
      !hasKeys(object, "kdl.ukernel.")) {
    gpu::KernelTableAttr table = object.getKernels();
    for (const Kernel &kernel : table ? kernelsOf(table) : kernelsLaunched(binary))
      pairs.add(("kdl.kernel." + kernel.name).str(), spellKernel(kernel, conditionOf(object)));
  }
  StringRef bytes = object.getObject().getValue();
  kdl_writer_image added = {sizeof added,       kdl_llvm_image_kind(image->kind),
                            image->offloadKind,
                            /*flags=*/0,        pairs.get().data(),
                            pairs.get().size(), bytes.data(),
                            bytes.size()};
  if (kdl_writer_add_with_digest(writer, &added) != KDL_OK)
    return emitError() << kdl_error_message();
  return success();
}

/// What distinguishes two objects for one target during selection.
Attribute variantKey(gpu::ObjectAttr object) {
  MLIRContext *context = object.getContext();
  SmallVector<Attribute> parts = {
      object.getTarget(),
      IntegerAttr::get(IntegerType::get(context, 32), static_cast<uint32_t>(object.getFormat()))};
  auto add = [&](StringRef key) {
    Attribute value = object.getProperties() ? object.getProperties().get(key) : Attribute();
    parts.push_back(value ? value : UnitAttr::get(context));
  };
  for (StringRef key : propertyKeys)
    add(key);
  add(whenKey);
  return ArrayAttr::get(context, parts);
}

} // namespace

//===----------------------------------------------------------------------===//
// Binaries
//===----------------------------------------------------------------------===//

/// Where a key only has a meaning: `min_sm` on NVIDIA's targets, `min_gfx` on AMD's.
static bool isKeyOf(StringRef key, Attribute target) {
  return key == "min_sm"    ? isa<NVVM::NVVMTargetAttr>(target)
         : key == "min_gfx" ? isa<ROCDL::ROCDLTargetAttr>(target)
                            : true;
}

LogicalResult kdl::verifyProperties(function_ref<InFlightDiagnostic()> emitError,
                                    DictionaryAttr properties, Attribute target) {
  for (NamedAttribute property : properties) {
    StringRef key = property.getName();
    if (target && !isKeyOf(key, target))
      return emitError() << "found " << key << " for " << target << ", expected it for "
                         << (key == "min_sm" ? "#nvvm.target" : "#rocdl.target");
    if (!isPropertyKey(key))
      return emitError() << "found \"" << key << "\", expected "
                         << llvm::join(ArrayRef(propertyKeys), ", ")
                         << ", when or what begins with kdl.";
    if (failed(spellProperty(key, property.getValue(), emitError)))
      return failure();
  }
  return success();
}

/// Targets of one class share the names of features: all GPUs, and the CPUs of one architecture.
static std::string featureClassOf(Attribute target) {
  if (auto variant = dyn_cast<VariantAttr>(target))
    target = variant.getTarget();
  if (auto compiled = dyn_cast<CompiledAttr>(target))
    target = compiled.getObject().getTarget();
  auto host = dyn_cast<HostTargetAttr>(target);
  return host ? host.getTriple().split('-').first.str() : "gpu";
}

FailureOr<DictionaryAttr> kdl::propertiesFor(gpu::GPUModuleOp module, DictionaryAttr properties,
                                             Attribute target) {
  NamedAttrList kept;
  ArrayAttr targets = module.getTargetsAttr();
  auto isOther = [&](Attribute other) { return featureClassOf(other) != featureClassOf(target); };
  bool hasOthers = targets && llvm::any_of(targets, isOther);
  for (NamedAttribute property : properties) {
    StringRef key = property.getName();
    if (!isKeyOf(key, target))
      continue;
    if (key == "requires_features" && hasOthers)
      return module.emitError("kdl.properties: found ")
             << key << " = " << property.getValue()
             << " for GPUs and CPUs alike, whose features differ: expected it for its target, as "
                "#kdl.variant<#kdl.host, {requires_features = ...}>";
    kept.append(property);
  }
  return kept.getDictionary(module.getContext());
}

LogicalResult kdl::verifyObjects(gpu::BinaryOp binary) {
  ArrayRef<Attribute> objects = binary.getObjectsAttr().getValue();
  if (objects.empty())
    return binary.emitError("found no objects, expected at least one to choose from");
  DenseMap<Attribute, size_t> seen;
  for (auto [index, attribute] : llvm::enumerate(objects)) {
    auto object = cast<gpu::ObjectAttr>(attribute);
    if (hasKeys(object, "kdl.ukernel.")) // linked into the others, and not launched
      continue;
    auto [known, isNew] = seen.try_emplace(variantKey(object), index);
    if (!isNew)
      return binary.emitError("objects ")
             << known->second << " and " << index << " are both for " << object.getTarget()
             << ", and neither their format, variant_tag, variant_priority, requires_features, "
                "min_sm, min_gfx nor when tells them apart";
  }
  return success();
}

FailureOr<SmallVector<char, 0>> kdl::packObjects(gpu::BinaryOp binary) {
  if (failed(verifyObjects(binary)))
    return failure();
  kdl_writer *writer = nullptr;
  if (kdl_writer_create(KDL_FORMAT_V1, &writer) != KDL_OK)
    return binary.emitError(kdl_error_message());
  llvm::scope_exit destroy([&] { kdl_writer_destroy(writer); });
  for (auto [index, attribute] : llvm::enumerate(binary.getObjectsAttr())) {
    auto emitError = [&, i = index] { return binary.emitError("object ") << i << ": "; };
    if (failed(addObject(cast<gpu::ObjectAttr>(attribute), binary, writer, emitError)))
      return failure();
  }
  void *data = nullptr;
  size_t size = 0;
  if (kdl_writer_finish(writer, &data, &size) != KDL_OK)
    return binary.emitError(kdl_error_message());
  auto bytes = static_cast<const char *>(data);
  SmallVector<char, 0> packed(bytes, bytes + size);
  free(data);
  return packed;
}

LogicalResult kdl::verifyLaunch(gpu::LaunchFuncOp launch, gpu::BinaryOp binary) {
  for (auto [index, attribute] : llvm::enumerate(binary.getObjectsAttr())) {
    gpu::KernelTableAttr table = cast<gpu::ObjectAttr>(attribute).getKernels();
    if (!table)
      continue;
    gpu::KernelMetadataAttr kernel = table.lookup(launch.getKernelName());
    if (!kernel)
      return launch.emitError("found the kernel ")
             << launch.getKernelName() << ", which is not in the kernel table of object " << index
             << " of @" << binary.getName();
    size_t expected = paramsOf(kernel.getFunctionType()).size();
    if (launch.getNumKernelOperands() != expected)
      return launch.emitError("found ")
             << launch.getNumKernelOperands() << " operands, expected " << expected << " as object "
             << index << " of @" << binary.getName() << " has it: " << kernel.getFunctionType();
  }
  return success();
}
