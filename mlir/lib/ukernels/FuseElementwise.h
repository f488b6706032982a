// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_UKERNEL_FUSE_ELEMENTWISE_H
#define KDL_MLIR_UKERNEL_FUSE_ELEMENTWISE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kdl {

/// The one operation that uses a value's elements; null where there are more. Its sizes may be
/// asked for besides.
Operation *onlyUser(Value value);

/// An operation without reductions that reads the value where it writes its result.
bool isElementwiseOn(linalg::LinalgOp op, Value value);

/// Makes one operation of two without reductions where the second alone uses the first one's
/// result. MLIR's own pass would also put the first into a product of matrices, where it runs many
/// times and no microkernel fits any more.
void fuseElementwise(Operation *root);

} // namespace mlir::kdl

#endif
