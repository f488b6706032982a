// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_MLIR_UKERNEL_LINK_H
#define KDL_MLIR_UKERNEL_LINK_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace llvm {
class Function;
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir {
class Operation;
} // namespace mlir

namespace mlir::kdl {

/// Attribute of a function without a body: the bitcode that defines it.
inline constexpr StringLiteral bitcodeAttr = "kdl.bitcode";

/// Attribute of such a function: its name in the bitcode, where it has another one here.
inline constexpr StringLiteral functionAttr = "kdl.function";

/// Attribute of a microkernel that takes 16 steps along K at a time, and no other number.
inline constexpr StringLiteral tilesAttr = "kdl.tiles";

/// Attribute of a function whose bitcode calls a microkernel: the declaration of that. It stays a
/// function of its own, compiled for the CPU of the microkernel.
inline constexpr StringLiteral callsAttr = "kdl.calls";

/// Attribute of a module all of which is for one CPU, that of its microkernels.
inline constexpr StringLiteral forTargetAttr = "kdl.for_target";

/// Whether the function's operands lie as callers of its name expect them: the same parameters may
/// stand for other operands, and a mark says which (KDL_UKERNEL_LAYOUT of <kdl/ukernel.h>).
/// Otherwise what is wrong.
LogicalResult checkLayout(const llvm::Function &ukernel, StringRef name, std::string &why);

/// The same of a function in bitcode.
LogicalResult checkLayout(StringRef bitcode, StringRef name, std::string &why);

/// Whether bitcode has a function of that name with a body.
bool definesFunction(StringRef bitcode, StringRef name);

/// Translates a module and puts the microkernels that it carries into their callers. Null after an
/// error.
std::unique_ptr<llvm::Module> translateWithUkernels(Operation *module, llvm::LLVMContext &context);

} // namespace mlir::kdl

#endif
