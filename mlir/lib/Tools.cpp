// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tools.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::kdl;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static bool exists(const llvm::Twine &folder, const llvm::Twine &file) {
  return fs::exists(folder + "/" + file);
}

/// The first of the folders with that file.
static std::string findFolder(ArrayRef<StringRef> folders, StringRef file) {
  for (StringRef folder : folders) {
    if (exists(folder, file))
      return folder.str();
  }
  return "";
}

std::string kdl::findCUDA(StringRef given) {
  if (!given.empty())
    return exists(given, "bin/ptxas") ? given.str() : "";
  for (const char *variable : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"}) {
    const char *value = ::getenv(variable);
    if (value && exists(value, "bin/ptxas"))
      return value;
  }
  if (llvm::ErrorOr<std::string> ptxas = llvm::sys::findProgramByName("ptxas"))
    return path::parent_path(path::parent_path(*ptxas)).str();
  return findFolder({"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"}, "bin/ptxas");
}

std::string kdl::findROCmBitcode(StringRef given) {
  if (!given.empty())
    return exists(given, "ockl.bc") ? given.str() : "";
  return findFolder({"/opt/rocm/amdgcn/bitcode", "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
                     "/usr/lib/aarch64-linux-gnu/amdgcn/bitcode", "/usr/lib/amdgcn/bitcode",
                     "/usr/lib/llvm-17/lib/clang/17/amdgcn/bitcode"}, // Debian 13's
                    "ockl.bc");
}

std::string kdl::findLinker(StringRef given) {
  if (!given.empty())
    return fs::can_execute(given) ? given.str() : "";
  if (fs::can_execute(KDL_MLIR_LLVM_BIN "/ld.lld"))
    return KDL_MLIR_LLVM_BIN "/ld.lld";
  for (StringRef name : {"ld.lld-22", "ld.lld"}) {
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name))
      return *found;
  }
  return "";
}

ROCmFolder::ROCmFolder(StringRef bitcode, StringRef linker) {
  SmallString<128> made;
  if (fs::createUniqueDirectory("kdl-rocm", made))
    return;
  folder = made;
  (void)fs::create_directories(folder + "/amdgcn");
  (void)fs::create_directories(folder + "/llvm/bin");
  if (!bitcode.empty())
    (void)fs::create_link(bitcode, folder + "/amdgcn/bitcode");
  if (!linker.empty())
    (void)fs::create_link(linker, folder + "/llvm/bin/ld.lld");
}

/// One by one: what the links lead to is not ours to remove.
ROCmFolder::~ROCmFolder() {
  if (folder.empty())
    return;
  for (StringRef name :
       {"/amdgcn/bitcode", "/amdgcn", "/llvm/bin/ld.lld", "/llvm/bin", "/llvm", ""})
    (void)fs::remove(folder + name);
}
