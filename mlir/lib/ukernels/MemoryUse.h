// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an operation on memrefs reads and writes, and whether two may be the same memory.
#ifndef KDL_MLIR_UKERNEL_MEMORY_USE_H
#define KDL_MLIR_UKERNEL_MEMORY_USE_H

#include "mlir/IR/Value.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir::kdl {

struct MemoryUse {
  Value memref;
  bool writes; // or frees
};
using MemoryUses = llvm::SmallVector<MemoryUse>;

/// The memref of which a value is a view.
Value getMemrefRoot(Value memref);

/// False where the two are certain to be different memory: allocations, globals, and parameters of
/// the function beside these.
bool mayAlias(Value one, Value other);

/// Uses by an operation and all that is inside it; nothing where they are not known.
std::optional<MemoryUses> getMemoryUses(Operation *op);

/// Whether two operations must stay in their order.
bool mayConflict(const MemoryUses &one, const MemoryUses &other);

} // namespace mlir::kdl

#endif
