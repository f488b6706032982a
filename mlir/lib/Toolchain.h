// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs and files that compiling needs, and where they may lie.
#ifndef KDL_MLIR_TOOLCHAIN_H
#define KDL_MLIR_TOOLCHAIN_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallString.h"

#include <string>

namespace mlir::kdl {

/// CUDA's folder: the one given, or the first that has bin/ptxas; empty where there is none.
std::string findCUDA(StringRef given);

/// AMD's device libraries; empty where there are none.
std::string findROCmBitcode(StringRef given);

/// ld.lld; empty where there is none.
std::string findLinker(StringRef given);

/// A folder that looks like ROCm's to MLIR, for as long as this object lives: it has
/// amdgcn/bitcode and llvm/bin/ld.lld, as links to what was found. Debian installs them elsewhere.
/// Device libraries that are older than the chip lack the file that tells them its number, and
/// nothing else: it is made.
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
