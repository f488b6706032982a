// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_LIB_DIALECT_H
#define KDL_MLIR_LIB_DIALECT_H

#include "Compat.h"
#include "UkernelProvider.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Dialect.h"

namespace mlir::kdl {
/// The CPU that this plugin was built for: the default of `#kdl.host`.
const char *getHostTriple();
const char *getHostArch();
} // namespace mlir::kdl

#include "KdlDialect.h.inc"
#include "KdlEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "KdlAttrs.h.inc"

#endif
