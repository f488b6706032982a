// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_LIB_UKERNELS_UKERNELLINK_H
#define KDL_MLIR_LIB_UKERNELS_UKERNELLINK_H

#include "Attributes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir::kdl {

/// Whether a function in bitcode has the layout of operands that callers of its name expect. Fails
/// with a reason.
LogicalResult checkLayout(StringRef bitcode, StringRef name, std::string &why);

/// Whether bitcode has a function of that name with a body.
bool definesFunction(StringRef bitcode, StringRef name);

/// The declarations of a module whose objects define microkernels.
SmallVector<LLVM::LLVMFuncOp> getUkernels(Operation *module);

/// Compiles the functions that call microkernels for the CPUs of these, which LLVM would not inline
/// otherwise; all functions of a module with `kdl.for_target`.
void raiseTargetOfCallers(Operation *op, llvm::Module &module);

/// Links the objects of a module when it is translated to LLVM IR.
void registerLinkInterface(DialectRegistry &registry);

/// Translates a module and inlines its microkernels. Null after an error.
std::unique_ptr<llvm::Module> translateAndInline(Operation *module, llvm::LLVMContext &context);

/// The same, and optimises a module that has microkernels.
std::unique_ptr<llvm::Module> translateWithUkernels(Operation *module, llvm::LLVMContext &context);

} // namespace mlir::kdl

#endif
