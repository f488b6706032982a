// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What decisions about tiles and loops assume of a CPU.
#ifndef KDL_MLIR_LIB_UKERNELS_CPUCOSTS_H
#define KDL_MLIR_LIB_UKERNELS_CPUCOSTS_H

#include "mlir/IR/Operation.h"

namespace mlir::kdl {

/// Each value may be an entry of the module's description of its target, in MLIR's dialect dlti:
///
///     module attributes {dlti.target_system_spec = #dlti.target_system_spec<
///       "CPU" = #dlti.target_device_spec<"L2_cache_size_in_bytes" = 2097152 : i64>>} {...}
///
/// Otherwise caches are those of the target, as libkdl describes it, and the others as below.
struct CpuCosts {
  int64_t l2Bytes = 1 << 20; // "L2_cache_size_in_bytes", of one core
  int64_t blocks = 16;       // "kdl.blocks" of a divided loop: enough for several threads
  int64_t fmasPerCycle = 2;  // "kdl.fmas_per_cycle", in vectors
  int64_t loadsPerCycle = 2; // "kdl.loads_per_cycle"
  int64_t fmaLatency = 4;    // "kdl.fma_latency", in cycles
  int64_t scatterCycles = 1; // "kdl.scatter_cycles" to store an element of a transposed tile
  int64_t fewRows = 32;      // "kdl.few_rows": packing them costs more than it saves
  int64_t blockRows = 96; // "kdl.block_rows": from so many on, blocks of tile registers are faster
  int64_t smallProduct = 16384; // "kdl.small_product": multiplications; a call costs more
  int64_t functionCost = 16;    // "kdl.function_cost" of exp and the like, in additions
  int64_t divisionCost = 4;     // "kdl.division_cost", likewise

  /// Of packed rows that a loop over columns reads again and again.
  int64_t blockBytes() const { return l2Bytes / 16 * 7; }

  /// The cycles of a step along K for tiles of a matrix of m by n, at most `rows` by `columns`
  /// each.
  double stepCycles(int64_t m, int64_t n, int64_t rows, int64_t columns) const;
};

/// The costs for the code at an operation, compiled for a CPU (a spec of libkdl).
CpuCosts getCpuCosts(Operation *op, StringRef target);

/// Divides rows evenly: 64 are 5 tiles of 13, not of 14.
int64_t divideRows(int64_t rows, int64_t most);

/// The columns of panels that take the least time: all that a tile can have, or one vector if much
/// of the last panel would be padding.
int64_t divideColumns(const CpuCosts &costs, int64_t m, int64_t n, int64_t rows, int64_t columns);

/// Whether the transposed product takes less time: few columns fill little of a vector, and are
/// rows then. Its result is stored transposed. Unknown sizes are taken as large.
bool isFasterTransposed(const CpuCosts &costs, int64_t m, int64_t n, int64_t k, int64_t rows,
                        int64_t columns);

} // namespace mlir::kdl

#endif
