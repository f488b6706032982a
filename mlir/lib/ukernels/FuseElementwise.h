// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_UKERNEL_FUSE_ELEMENTWISE_H
#define KDL_MLIR_UKERNEL_FUSE_ELEMENTWISE_H

namespace mlir {
class Operation;
} // namespace mlir

namespace mlir::kdl {

/// Makes one operation of two without reductions where the second alone uses the first one's
/// result. MLIR's own pass would also put the first into a product of matrices, where it runs many
/// times and no microkernel fits any more.
void fuseElementwise(Operation *root);

} // namespace mlir::kdl

#endif
