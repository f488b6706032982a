// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which microkernel a contraction calls, and the tiles that it takes.
#ifndef KDL_MLIR_LIB_UKERNELS_UKERNELSELECTION_H
#define KDL_MLIR_LIB_UKERNELS_UKERNELSELECTION_H

#include "Dialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace mlir::kdl {

inline constexpr int64_t mmaColumns = 16; // kdl_mma_columns of <kdl/mma.h>
inline constexpr int64_t mmaSteps = 16;   // kdl_mma_steps

/// Where microkernels come from: the options of a pass. The module's own functions have precedence,
/// and then its provider (`kdl.ukernel_provider`).
struct UkernelSource {
  std::string library; // empty: libkdl's own
  std::string target;  // empty: the least CPU that libkdl is built for

  std::string cpu() const { return target.empty() ? std::string("host:") + getHostArch() : target; }
};

/// Reports options that name no CPU, or no library, as errors of the pass.
LogicalResult checkUkernelSource(MLIRContext *context, StringRef pass, const UkernelSource &source);

/// The microkernel that a product calls, and its tile: the module's own, else its provider's;
/// otherwise why there is none.
FailureOr<MmaUkernel> findMmaUkernel(ModuleOp module, const MmaProduct &product,
                                     const UkernelSource &source, std::string &why);

/// That of the module's provider, or else of the library. The product's target is that of the
/// options.
FailureOr<MmaUkernel> findProvidedUkernel(ModuleOp module, MmaProduct product,
                                          const UkernelSource &source, std::string &why);

/// Reports a library of the module's own that cannot be opened.
LogicalResult checkProvider(ModuleOp module);

/// The function of that name in the module, or null; fails if another operation has the name.
FailureOr<func::FuncOp> findFunction(ModuleOp module, StringRef name, std::string &why);

/// The function of that name in the module if bitcode defines it.
func::FuncOp findOwnUkernel(ModuleOp module, StringRef name);

/// Declares a function that carries the microkernel's bitcode.
func::FuncOp declareUkernel(ModuleOp module, StringRef name, const MmaUkernel &ukernel);

} // namespace mlir::kdl

#endif
