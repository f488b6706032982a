// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_PASSES_H
#define KDL_MLIR_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class DialectRegistry;
class ModuleOp;
} // namespace mlir

namespace mlir::kdl {

#define GEN_PASS_DECL
#include "KdlPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "KdlPasses.h.inc"

/// Registers the dialect in tools that link it; plugins register themselves.
void registerDialect(DialectRegistry &registry);

/// Registers every pass and pipeline; may be called twice.
void registerPasses();

/// The pipeline kdl-lower-to-binary.
void registerPipelines();

/// The pipeline kdl-lower-linalg.
void registerLinalgPipeline();

} // namespace mlir::kdl

#endif
