// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GpuModules.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace mlir::kdl;

bool kdl::isWorkgroupMemory(MemRefType type) {
  if (gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type))
    return true;
  auto space = dyn_cast_or_null<IntegerAttr>(type.getMemorySpace());
  return space && space.getInt() == workgroupSpace;
}

void kdl::mapMemorySpaces(Operation *root, function_ref<Attribute(Attribute)> map) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](MemRefType type) -> std::optional<Type> {
    return MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(),
                           map(type.getMemorySpace()));
  });
  replacer.addReplacement([&](UnrankedMemRefType type) -> std::optional<Type> {
    return UnrankedMemRefType::get(type.getElementType(), map(type.getMemorySpace()));
  });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

static void convertKernelAttributions(gpu::GPUFuncOp kernel, gpu::GPUModuleOp module) {
  OpBuilder builder(kernel.getContext());
  unsigned first = kernel.getFunctionType().getNumInputs();
  unsigned count = kernel.getNumWorkgroupAttributions();
  Block &entry = kernel.getBody().front();
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument attribution = entry.getArgument(first + i);
    auto type = cast<MemRefType>(attribution.getType());
    std::string name = (kernel.getName() + ".shared" + std::to_string(i)).str();
    builder.setInsertionPointToStart(module.getBody());
    memref::GlobalOp::create(builder, kernel.getLoc(), name, builder.getStringAttr("private"), type,
                             /*initial_value=*/builder.getUnitAttr(), /*constant=*/false,
                             /*alignment=*/nullptr);
    builder.setInsertionPointToStart(&entry);
    attribution.replaceAllUsesWith(
        memref::GetGlobalOp::create(builder, kernel.getLoc(), type, name).getResult());
  }
  entry.eraseArguments(first, count);
  if (count)
    kernel->setAttr("workgroup_attributions", builder.getI64IntegerAttr(0));
}

void kdl::convertAttributionsToGlobals(gpu::GPUModuleOp module) {
  for (auto kernel : module.getOps<gpu::GPUFuncOp>())
    convertKernelAttributions(kernel, module);
  Builder builder(module.getContext());
  mapMemorySpaces(module, [&](Attribute space) -> Attribute {
    auto known = dyn_cast_or_null<gpu::AddressSpaceAttr>(space);
    if (!known)
      return space;
    switch (known.getValue()) {
    case gpu::AddressSpace::Workgroup:
      return builder.getI64IntegerAttr(workgroupSpace);
    case gpu::AddressSpace::Global:
      return builder.getI64IntegerAttr(1);
    default:
      return {};
    }
  });
}
