// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs and files that compilation needs, and where to find them.
#ifndef KDL_MLIR_TOOLCHAIN_H
#define KDL_MLIR_TOOLCHAIN_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallString.h"

#include <string>

namespace mlir::kdl {

/// CUDA's folder: the given one, or the first with bin/ptxas; empty if there is none.
std::string findCUDA(StringRef given);

/// AMD's device libraries; empty if there are none.
std::string findROCmBitcode(StringRef given);

/// ld.lld; empty if there is none.
std::string findLinker(StringRef given);

/// A temporary folder in the layout of ROCm, for MLIR: it has amdgcn/bitcode and llvm/bin/ld.lld,
/// as links to the files found, which Debian installs elsewhere. Device libraries that are older
/// than the chip only lack the file with its number: this creates it.
class ROCmFolder {
public:
  ROCmFolder(StringRef bitcode, StringRef linker, StringRef chip);
  ~ROCmFolder();
  ROCmFolder(const ROCmFolder &) = delete;
  ROCmFolder &operator=(const ROCmFolder &) = delete;
  StringRef path() const { return folder; }

private:
  void addVersion(StringRef chip);

  SmallString<128> folder;
};

} // namespace mlir::kdl

#endif
