// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which microkernel a contraction calls, and the tiles that it takes.
#ifndef KDL_MLIR_UKERNEL_SELECTION_H
#define KDL_MLIR_UKERNEL_SELECTION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

#include <kdl/kdl.h>

#include <optional>
#include <string>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace mlir::kdl {

inline constexpr int64_t mmaColumns = 16; // kdl_mma_columns of <kdl/mma.h>
inline constexpr int64_t mmaSteps = 16;   // kdl_mma_steps

/// How a microkernel takes the left operand, if not unchanged.
enum class LhsForm {
  Unchanged,
  Unsigned, // bytes + 128: subtract what that adds to the result
  F32,
};

struct UkernelKind {
  StringLiteral ukernel; // empty: none, and code in vectors instead
  int64_t k0;
  LhsForm left;
};

/// For signed bytes, as in linalg's operations. None if no microkernel has these types.
std::optional<UkernelKind> getUkernelKind(Type lhs, Type rhs, Type acc);

/// The largest tile of the result that a microkernel keeps in registers.
struct UkernelTile {
  int64_t rows, columns;
};

struct UkernelVariant {
  std::string bitcode;
  std::string tag;
  bool takesTiles; // 16 steps along K at a time, as AMX has them
};

/// Where microkernels come from: the options of a pass. Those of the module have precedence.
struct UkernelSource {
  std::string library; // empty: libkdl's own
  std::string target;  // empty: the least CPU that libkdl is built for
};

/// Reports options that name no CPU, or no library, as errors of the pass.
LogicalResult checkUkernelSource(MLIRContext *context, StringRef pass, const UkernelSource &source);

/// The best variant of the library for the target; otherwise what is wrong. Considers one that
/// takes tiles only if `mayTakeTiles`.
FailureOr<UkernelVariant> findVariant(StringRef name, const UkernelSource &source,
                                      bool mayTakeTiles, std::string &why);

/// Declares a function that carries the variant's bitcode.
func::FuncOp declareUkernel(ModuleOp module, StringRef name, const UkernelKind &kind,
                            const UkernelVariant &variant);

/// Bitcode of the matmul library with this kernel. It calls a microkernel.
FailureOr<std::string> findMatmulKernels(StringRef kernel, const UkernelSource &source,
                                         std::string &why);

/// A device, the kernel of the matmul library that it needs, and the microkernel of that.
struct MatmulTarget {
  std::string device, kernel, ukernel;
};

/// An image of the matmul library, with its metadata but for target and digest.
struct MatmulImage {
  kdl_image_kind kind;
  std::string triple, arch, bytes;
  SmallVector<std::pair<std::string, std::string>> pairs;
};

/// The best image with the kernel for each device, and all images with its microkernel that run
/// there, of a library (empty: libkdl's own), each once.
FailureOr<SmallVector<MatmulImage>> findMatmulImages(ArrayRef<MatmulTarget> targets,
                                                     StringRef library, std::string &why);

/// Whether the microkernel that will be linked takes 16 steps at a time.
bool takesTiles(ModuleOp module, StringRef name, const UkernelSource &source);

/// Whether the module has that microkernel, as a function with bitcode.
bool isBroughtByModule(ModuleOp module, StringRef name);

/// The tile of the microkernel that will be linked: the module's own, or that of findVariant; for a
/// null module the library's that takes no tiles.
FailureOr<UkernelTile> findTile(ModuleOp module, StringRef name, const UkernelSource &source,
                                std::string &why);

} // namespace mlir::kdl

#endif
