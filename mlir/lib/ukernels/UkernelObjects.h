// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The object files that define functions of a module: `#kdl.object` in the list `kdl.objects`.
#ifndef KDL_MLIR_LIB_UKERNELS_UKERNELOBJECTS_H
#define KDL_MLIR_LIB_UKERNELS_UKERNELOBJECTS_H

#include "Attributes.h"
#include "Dialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::kdl {

/// The bytes of an object; none if it is a resource that the file does not have.
std::optional<StringRef> bytesOf(ObjectAttr object);

/// The object of that name in the nearest list around the operation; null if there is none.
ObjectAttr findObject(Operation *op, StringRef name);

/// Adds an object to the module's list, with a name of its own; equal bytes are added once. Returns
/// its name.
StringAttr addObject(ModuleOp module, StringRef name, StringRef bytes);

/// The bitcode that defines a function, in its attribute or in objects: one per target in a
/// gpu.module, none for other functions.
SmallVector<StringRef> bitcodesOf(Operation *function);

/// The same for a function of the host, or the first one; empty for other functions.
StringRef bitcodeOf(Operation *function);

/// Whether bitcode defines the function.
inline bool hasBitcode(Operation *function) {
  return function->hasAttr(bitcodeAttr) || function->hasAttr(objectAttr);
}

/// An error about the bitcode of a function, which names its attribute.
InFlightDiagnostic emitBitcodeError(Operation *function);

} // namespace mlir::kdl

#endif
