// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles what foreign.td describes.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "foreign.dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "foreign.h.inc"

#include "foreign.dialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "foreign.cpp.inc"

void foreign::ForeignDialect::initialize() { addAttributes<TargetAttr>(); }

std::optional<mlir::gpu::SerializedObject> foreign::TargetAttr::serializeToObject(mlir::Operation *, const mlir::gpu::TargetOptions &) const {
  return std::nullopt;
}

mlir::Attribute foreign::TargetAttr::createObject(mlir::Operation *, const mlir::gpu::SerializedObject &, const mlir::gpu::TargetOptions &) const {
  return nullptr;
}
