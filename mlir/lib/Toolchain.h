// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs and files that compilation needs, and where to find them.
#ifndef KDL_MLIR_LIB_TOOLCHAIN_H
#define KDL_MLIR_LIB_TOOLCHAIN_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallString.h"

#include <string>

namespace mlir::kdl {

/// AMD's device libraries; empty if there are none.
std::string findROCmBitcode(StringRef given);

/// ld.lld; empty if there is none.
std::string findLinker(StringRef given);

/// "found no ld.lld in ...": the places that findLinker tries.
std::string describeMissingLinker(StringRef given);

/// CUDA's folder, for MLIR: the given one, or the toolkit that is found. If ptxas and libdevice are
/// not in one toolkit, a temporary folder has links to them.
class CUDAFolder {
public:
  explicit CUDAFolder(StringRef given);
  ~CUDAFolder();
  CUDAFolder(const CUDAFolder &) = delete;
  CUDAFolder &operator=(const CUDAFolder &) = delete;
  bool hasPtxas() const { return foundPtxas; }
  StringRef path() const { return folder; } ///< empty if nothing is found

private:
  void link(StringRef file, StringRef below);

  SmallString<128> folder;
  bool foundPtxas = false, isTemporary = false;
};

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
