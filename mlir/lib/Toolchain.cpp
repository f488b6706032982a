// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Toolchain.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

extern "C" {
#include "compiler/toolchain/toolchain.h"
}

using namespace mlir;
using namespace mlir::kdl;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static constexpr char libdeviceBelow[] = "nvvm/libdevice/libdevice.10.bc";

static bool exists(const llvm::Twine &folder, const llvm::Twine &file) {
  return fs::exists(folder + "/" + file);
}

/// The path of a tool; empty if there is none.
static std::string find(kdl_tool tool) {
  char found[PATH_MAX];
  return kdl_toolchain_find(tool, found) ? found : "";
}

std::string kdl::findROCmBitcode(StringRef given) {
  if (!given.empty())
    return exists(given, "ockl.bc") ? given.str() : "";
  return path::parent_path(find(KDL_TOOL_OCML)).str();
}

std::string kdl::findLinker(StringRef given) {
  if (!given.empty())
    return fs::can_execute(given) ? given.str() : "";
  return find(KDL_TOOL_LLD);
}

std::string kdl::describeMissingLinker(StringRef given) {
  char text[1024];
  if (!given.empty())
    return ("found no ld.lld at " + given).str();
  return kdl_tool_format_missing(kdl_toolchain_search(KDL_TOOL_LLD), text, sizeof text);
}

/// The toolkit that has what was found where MLIR looks for it; empty if none has.
static StringRef findToolkit(StringRef ptxas, StringRef libdevice) {
  StringRef toolkit = path::parent_path(path::parent_path(ptxas));
  bool hasLibdevice =
      libdevice.empty() || fs::equivalent(libdevice, toolkit + "/" + libdeviceBelow);
  return ptxas.ends_with("/bin/ptxas") && hasLibdevice ? toolkit : "";
}

CUDAFolder::CUDAFolder(StringRef given) {
  if (!given.empty()) {
    foundPtxas = exists(given, "bin/ptxas");
    folder = foundPtxas ? given : "";
    return;
  }
  std::string ptxas = find(KDL_TOOL_PTXAS), libdevice = find(KDL_TOOL_LIBDEVICE);
  foundPtxas = !ptxas.empty();
  folder = findToolkit(ptxas, libdevice);
  if (!folder.empty() || (ptxas.empty() && libdevice.empty()) ||
      fs::createUniqueDirectory("kdl-cuda", folder))
    return;
  isTemporary = true;
  link(ptxas, "bin/ptxas");
  link(libdevice, libdeviceBelow);
}

void CUDAFolder::link(StringRef file, StringRef below) {
  if (file.empty())
    return;
  std::string at = (folder + "/" + below).str();
  (void)fs::create_directories(path::parent_path(at));
  (void)fs::create_link(file, at);
}

/// Removes the links only, not what they point to.
CUDAFolder::~CUDAFolder() {
  if (isTemporary)
    (void)fs::remove_directories(folder);
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
