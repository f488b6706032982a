// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packs the objects of a gpu.binary into an OffloadBinary.
#ifndef KDL_MLIR_LIB_OBJECTPACKING_H
#define KDL_MLIR_LIB_OBJECTPACKING_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::kdl {

/// Whether `#kdl.runtime_select` can distinguish the objects of a binary; emits errors if not. An
/// attribute cannot verify the operation that holds it, so the passes that create such a binary
/// call this, and so does the translation.
LogicalResult verifyObjects(gpu::BinaryOp binary);

/// Checks properties that become those of objects: of one target, or of all if it is null.
LogicalResult verifyProperties(function_ref<InFlightDiagnostic()> emitError,
                               DictionaryAttr properties, Attribute target = nullptr);

/// What of a module's properties the object for a target gets: `min_sm` is NVIDIA's, `min_gfx` is
/// AMD's. Fails if the module has targets that do not share the names of features.
FailureOr<DictionaryAttr> propertiesFor(gpu::GPUModuleOp module, DictionaryAttr properties,
                                        Attribute target);

/// All objects in one OffloadBinary, each with its triple, its architecture, its properties, a
/// `kdl.kernel.NAME` key per kernel, and its digest.
FailureOr<SmallVector<char, 0>> packObjects(gpu::BinaryOp binary);

/// Checks a launch against the kernel tables of the objects it may run.
LogicalResult verifyLaunch(gpu::LaunchFuncOp launch, gpu::BinaryOp binary);

/// Key in the metadata of a kernel: the `known_block_size` of its function.
inline constexpr StringLiteral knownBlockKey = "known_block_size";

} // namespace mlir::kdl

#endif
