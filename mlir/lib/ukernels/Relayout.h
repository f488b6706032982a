// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_LIB_UKERNELS_RELAYOUT_H
#define KDL_MLIR_LIB_UKERNELS_RELAYOUT_H

namespace mlir {
class DialectRegistry;
class Operation;
} // namespace mlir

namespace mlir::kdl {

/// Lets one-shot bufferization lower linalg.pack and linalg.unpack, which MLIR 22 does not have on
/// memrefs: they become loops over vectors.
void registerRelayoutBufferization(DialectRegistry &registry);

/// The same for those on memrefs, which MLIR 23 bufferizes to and does not lower.
void lowerRelayouts(Operation *root);

} // namespace mlir::kdl

#endif
