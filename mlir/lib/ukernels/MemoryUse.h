// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which memory an operation on memrefs reads and writes, and whether two may alias.
#ifndef KDL_MLIR_LIB_UKERNELS_MEMORYUSE_H
#define KDL_MLIR_LIB_UKERNELS_MEMORYUSE_H

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

/// False if the two are certainly different memory: two globals, or an allocation and another
/// allocation, a global or a parameter of the function.
bool mayAlias(Value one, Value other);

/// Uses by an operation and its regions; nullopt if they are unknown.
std::optional<MemoryUses> getMemoryUses(Operation *op);

/// Whether two operations must stay in their order.
bool mayConflict(const MemoryUses &one, const MemoryUses &other);

} // namespace mlir::kdl

#endif
