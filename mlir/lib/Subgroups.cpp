// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gpu.subgroup_reduce, for which MLIR's pipelines have only sm_80's instruction for i32, and
// gpu.subgroup_size, which NVIDIA's pipeline lacks.
#include "Compat.h"
#include "Dialect.h"
#include "GpuModules.h"

#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

constexpr unsigned nvidiaLanes = 32;

/// gfx9 has 64 lanes; later ones have 32 unless a feature says otherwise.
unsigned countLanes(ROCDL::ROCDLTargetAttr target) {
  StringRef digits = target.getChip();
  bool isGfx9 = digits.consume_front("gfx9") && (digits.size() == 2 || digits.starts_with("-"));
  return isGfx9 || target.getFeatures().contains("+wavefrontsize64") ? 64 : 32;
}

/// 0 if the device decides, as of SPIR-V.
unsigned countLanes(gpu::SubgroupReduceOp reduce, Attribute target) {
  if (isa<NVVM::NVVMTargetAttr>(target))
    return nvidiaLanes;
  if (auto amd = dyn_cast<ROCDL::ROCDLTargetAttr>(target))
    return countLanes(amd);
  auto kernel = reduce->getParentOfType<gpu::GPUFuncOp>();
  auto size = kernel ? kernel->getAttrOfType<IntegerAttr>(subgroupSizeAttr) : nullptr;
  return size ? static_cast<unsigned>(size.getInt()) : 0;
}

bool isInstruction(gpu::SubgroupReduceOp reduce, Attribute target) {
  auto nvidia = dyn_cast<NVVM::NVVMTargetAttr>(target);
  return nvidia && hasRedux(nvidia.getChip()) && reduce.getUniform() && !reduce.getClusterSize() &&
         reduce.getType().isInteger(32);
}

LogicalResult lowerToShuffles(gpu::SubgroupReduceOp reduce, unsigned lanes) {
  constexpr unsigned widest = 64;
  RewritePatternSet patterns(reduce.getContext());
  populateGpuBreakDownSubgroupReducePatterns(patterns, widest);
  populateGpuLowerSubgroupReduceToShufflePatterns(patterns, lanes, widest);
  populateGpuLowerClusteredSubgroupReduceToShufflePatterns(patterns, lanes, widest);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  return applyOpPatternsGreedily(reduce.getOperation(), std::move(patterns), config);
}

} // namespace

bool kdl::hasRedux(StringRef chip) {
  unsigned number = 0;
  return chip.consume_front("sm_") && !chip.take_while(llvm::isDigit).getAsInteger(10, number) &&
         number >= 80;
}

LogicalResult kdl::lowerSubgroups(gpu::GPUModuleOp module, Attribute target) {
  if (isa<NVVM::NVVMTargetAttr>(target))
    module.walk([](gpu::SubgroupSizeOp size) {
      OpBuilder builder(size);
      size.replaceAllUsesWith(
          arith::ConstantIndexOp::create(builder, size.getLoc(), nvidiaLanes).getResult());
      size.erase();
    });
  SmallVector<gpu::SubgroupReduceOp> all;
  module.walk([&](gpu::SubgroupReduceOp reduce) { all.push_back(reduce); });
  for (gpu::SubgroupReduceOp reduce : all) {
    if (isInstruction(reduce, target))
      continue;
    unsigned lanes = countLanes(reduce, target);
    if (lanes && failed(lowerToShuffles(reduce, lanes)))
      return failure();
  }
  return success();
}
