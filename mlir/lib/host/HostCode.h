// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From LLVM IR to a shared object for a CPU.
#ifndef KDL_MLIR_LIB_HOST_HOSTCODE_H
#define KDL_MLIR_LIB_HOST_HOSTCODE_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallString.h"

#include <system_error>

namespace llvm {
class Module;
class TargetMachine;
class Triple;
} // namespace llvm

namespace mlir::kdl {

/// A file that this object removes when it is destroyed.
class TemporaryFile {
public:
  explicit TemporaryFile(StringRef suffix);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  SmallString<128> path;
  std::error_code error;
};

/// LLVM's passes of -O0 to -O3.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, int level);

/// The bytes of an object file.
FailureOr<SmallVector<char, 0>> compileObject(llvm::Module &module, llvm::TargetMachine &machine,
                                              function_ref<InFlightDiagnostic()> emitError);

/// Runs ld.lld. What the object calls of <kdl/kernel/half_runtime.h> is linked with it.
LogicalResult linkShared(StringRef linker, StringRef object, const llvm::Triple &triple,
                         ArrayRef<StringRef> options, StringRef output,
                         function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::kdl

#endif
