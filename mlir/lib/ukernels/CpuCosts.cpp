// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/CpuCosts.h"

#include "ukernels/UkernelSelection.h"

#include "mlir/Dialect/DLTI/DLTI.h"

#include "llvm/ADT/StringSwitch.h"

#include <kdl/kdl.h>

using namespace mlir;
using namespace mlir::kdl;

/// The description of the CPU by the nearest module that has one; null if none has.
static TargetDeviceSpecInterface findCpuSpec(Operation *op) {
  auto cpu = StringAttr::get(op->getContext(), "CPU");
  for (; op; op = op->getParentOp()) {
    auto system =
        op->getAttrOfType<TargetSystemSpecInterface>(DLTIDialect::kTargetSystemDescAttrName);
    if (auto found = system ? system.getDeviceSpecForDeviceID(cpu) : std::nullopt)
      return *found;
  }
  return nullptr;
}

/// A number in the description.
static void readEntry(TargetDeviceSpecInterface spec, StringRef key, int64_t &value) {
  DataLayoutEntryInterface entry =
      spec ? spec.getSpecForIdentifier(StringAttr::get(spec.getContext(), key)) : nullptr;
  auto number = entry ? dyn_cast<IntegerAttr>(entry.getValue()) : nullptr;
  if (number && number.getValue().isStrictlyPositive() && number.getValue().getActiveBits() < 63)
    value = number.getValue().getSExtValue();
}

/// A size in a device's spec: "l2=1MiB". 0: not described.
static int64_t readSpecSize(StringRef spec, StringRef key) {
  for (StringRef word : llvm::split(spec, ' ')) {
    uint64_t number = 0;
    if (!word.consume_front(key) || !word.consume_front("=") || word.consumeInteger(10, number))
      continue;
    unsigned shift = llvm::StringSwitch<unsigned>(word)
                         .Cases({"", "B"}, 0)
                         .Case("KiB", 10)
                         .Case("MiB", 20)
                         .Case("GiB", 30)
                         .Default(64);
    if (shift < 64 && number < uint64_t(1) << 32)
      return static_cast<int64_t>(number << shift);
  }
  return 0;
}

CpuCosts kdl::getCpuCosts(Operation *op, StringRef target) {
  CpuCosts costs;
  kdl_device *device = nullptr;
  if (!target.empty() && kdl_device_find(target.str().c_str(), &device) == KDL_OK) {
    if (int64_t bytes = readSpecSize(kdl_device_spec_text(device), "l2"))
      costs.l2Bytes = bytes;
  }
  TargetDeviceSpecInterface spec = findCpuSpec(op);
  readEntry(spec, "L2_cache_size_in_bytes", costs.l2Bytes);
  readEntry(spec, "kdl.blocks", costs.blocks);
  readEntry(spec, "kdl.fmas_per_cycle", costs.fmasPerCycle);
  readEntry(spec, "kdl.loads_per_cycle", costs.loadsPerCycle);
  readEntry(spec, "kdl.fma_latency", costs.fmaLatency);
  readEntry(spec, "kdl.scatter_cycles", costs.scatterCycles);
  readEntry(spec, "kdl.few_rows", costs.fewRows);
  readEntry(spec, "kdl.block_rows", costs.blockRows);
  readEntry(spec, "kdl.small_product", costs.smallProduct);
  readEntry(spec, "kdl.function_cost", costs.functionCost);
  readEntry(spec, "kdl.division_cost", costs.divisionCost);
  return costs;
}

int64_t kdl::divideRows(int64_t rows, int64_t most) {
  if (ShapedType::isDynamic(rows) || rows == 0)
    return most;
  return llvm::divideCeilSigned(rows, llvm::divideCeilSigned(rows, most));
}

double CpuCosts::stepCycles(int64_t m, int64_t n, int64_t rows, int64_t columns) const {
  auto tileRows = static_cast<double>(divideRows(m, rows));
  double vectors = static_cast<double>(columns) / mmaColumns;
  double multiply = tileRows * vectors / static_cast<double>(fmasPerCycle);
  double load = (tileRows + vectors) / static_cast<double>(loadsPerCycle);
  double tile = std::max({multiply, load, static_cast<double>(fmaLatency)});
  int64_t tiles = llvm::divideCeilSigned(m, rows) * llvm::divideCeilSigned(n, columns);
  return tile * static_cast<double>(tiles);
}

int64_t kdl::divideColumns(const CpuCosts &costs, int64_t m, int64_t n, int64_t rows,
                           int64_t columns) {
  if (ShapedType::isDynamic(n) || columns <= mmaColumns)
    return columns;
  int64_t tile = divideRows(m, rows); // any number of tiles of rows decides alike
  return costs.stepCycles(tile, n, rows, mmaColumns) <= costs.stepCycles(tile, n, rows, columns)
             ? mmaColumns
             : columns;
}

bool kdl::isFasterTransposed(const CpuCosts &costs, int64_t m, int64_t n, int64_t k, int64_t rows,
                             int64_t columns) {
  constexpr int64_t unknown = 256;
  if (ShapedType::isDynamic(n) || m == 0 || n == 0)
    return false;
  m = ShapedType::isDynamic(m) ? unknown : m;
  auto steps = static_cast<double>(ShapedType::isDynamic(k) ? unknown : k);
  auto cycles = [&](int64_t height, int64_t width) {
    int64_t panel = divideColumns(costs, height, width, rows, columns);
    return steps * costs.stepCycles(height, width, rows, panel);
  };
  double scatter = static_cast<double>(costs.scatterCycles * m) * static_cast<double>(n);
  constexpr double gain =
      0.75; // less is lost in packing, and in tiles that the next product cannot take
  return cycles(n, m) + (n == 1 ? 0 : scatter) < gain * cycles(m, n);
}
