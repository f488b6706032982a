// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_UKERNEL_RELAYOUT_H
#define KDL_MLIR_UKERNEL_RELAYOUT_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::kdl {

/// Lets one-shot bufferization lower linalg.pack and linalg.unpack, which MLIR does not have on
/// memrefs: they become loops over vectors.
void registerRelayoutBufferization(DialectRegistry &registry);

} // namespace mlir::kdl

#endif
