// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Toolchain.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kdl;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static bool exists(const llvm::Twine &folder, const llvm::Twine &file) {
  return fs::exists(folder + "/" + file);
}

/// The first of the folders that has the file.
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
  std::string found =
      findFolder({"/opt/rocm/amdgcn/bitcode", "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
                  "/usr/lib/aarch64-linux-gnu/amdgcn/bitcode", "/usr/lib/amdgcn/bitcode"},
                 "ockl.bc");
  // Debian has them among Clang's own files, from 13 with its Clang 17 on. LLVM reads older
  // bitcode.
  for (unsigned version = LLVM_VERSION_MAJOR; found.empty() && version >= 17; --version) {
    std::string number = std::to_string(version);
    found = findFolder({"/usr/lib/llvm-" + number + "/lib/clang/" + number + "/amdgcn/bitcode"},
                       "ockl.bc");
  }
  return found;
}

std::string kdl::findLinker(StringRef given) {
  if (!given.empty())
    return fs::can_execute(given) ? given.str() : "";
  if (fs::can_execute(KDL_MLIR_LLVM_BIN "/ld.lld"))
    return KDL_MLIR_LLVM_BIN "/ld.lld";
  for (StringRef name : {"ld.lld-" KDL_MLIR_LLVM, "ld.lld"}) {
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name))
      return *found;
  }
  return "";
}

/// The device libraries' number of a chip: gfx90a is 9010, gfx1100 11000; 0 for generic ones.
static unsigned versionOf(StringRef chip) {
  unsigned major = 0, minor = 0, stepping = 0;
  if (!chip.consume_front("gfx") || chip.size() < 3 ||
      chip.take_back(1).getAsInteger(16, stepping) ||
      chip.drop_back(1).take_back(1).getAsInteger(16, minor) ||
      chip.drop_back(2).getAsInteger(10, major))
    return 0;
  return major * 1000 + minor * 100 + stepping;
}

/// The device libraries read the chip's number from a constant.
void ROCmFolder::addVersion(StringRef chip) {
  unsigned version = versionOf(chip);
  std::string name =
      (folder + "/amdgcn/bitcode/oclc_isa_version_" + chip.drop_front(3) + ".bc").str();
  std::error_code error;
  if (!version || fs::exists(name))
    return;
  llvm::LLVMContext context;
  llvm::Module module("oclc_isa_version", context);
  module.setTargetTriple(llvm::Triple("amdgcn-amd-amdhsa"));
  enum { constantMemory = 4 };
  llvm::Type *type = llvm::Type::getInt32Ty(context);
  auto *number = new llvm::GlobalVariable(
      module, type, /*isConstant=*/true, llvm::GlobalValue::LinkOnceODRLinkage,
      llvm::ConstantInt::get(type, version), "__oclc_ISA_version", nullptr,
      llvm::GlobalValue::NotThreadLocal, constantMemory);
  number->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  llvm::raw_fd_ostream file(name, error);
  if (!error)
    llvm::WriteBitcodeToFile(module, file);
}

ROCmFolder::ROCmFolder(StringRef bitcode, StringRef linker, StringRef chip) {
  SmallString<128> made;
  std::error_code error;
  if (fs::createUniqueDirectory("kdl-rocm", made))
    return;
  folder = made;
  (void)fs::create_directories(folder + "/amdgcn");
  (void)fs::create_directories(folder + "/llvm/bin");
  if (!bitcode.empty())
    (void)fs::create_directories(folder + "/amdgcn/bitcode");
  for (fs::directory_iterator file(bitcode, error), end; !bitcode.empty() && !error && file != end;
       file.increment(error))
    (void)fs::create_link(file->path(), folder + "/amdgcn/bitcode/" + path::filename(file->path()));
  if (!bitcode.empty())
    addVersion(chip);
  if (!linker.empty())
    (void)fs::create_link(linker, folder + "/llvm/bin/ld.lld");
}

/// Removes the links only, not what they point to.
ROCmFolder::~ROCmFolder() {
  if (!folder.empty())
    (void)fs::remove_directories(folder);
}
