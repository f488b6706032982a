// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `#kdl.ukernel_library`: microkernels from a file.
#include "ukernels/UkernelLibrary.h"

#include "ukernels/UkernelLink.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <kdl/mma.h>

#include <dlfcn.h>
#include <link.h>

using namespace mlir;
using namespace mlir::kdl;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// A type as in the names of microkernels: f32, bf16, s16, u8. Empty for others.
static std::string nameOf(Type type, bool isUnsigned) {
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() % 8 != 0)
    return "";
  std::string name;
  llvm::raw_string_ostream words(name);
  if (isa<IntegerType>(type))
    words << (isUnsigned ? 'u' : 's') << type.getIntOrFloatBitWidth();
  else
    words << type;
  return name;
}

std::optional<MmaKind> kdl::getMmaKind(const MmaProduct &product) {
  Type lhs = product.lhs, rhs = product.rhs, acc = product.acc;
  if (lhs.isInteger(8) && rhs.isInteger(8) && acc.isInteger(32))
    return MmaKind{"kdl_uk_mma_s32_u8s8", 4, LhsForm::Unsigned};
  if (lhs.isF16() && rhs.isF16() && acc.isF32())
    return MmaKind{"kdl_uk_mma_f32_f16", 1, LhsForm::F32};
  std::string left = nameOf(lhs, product.lhsUnsigned), right = nameOf(rhs, product.rhsUnsigned);
  std::string sum = nameOf(acc, /*isUnsigned=*/false);
  if (left.empty() || right.empty() || sum.empty())
    return std::nullopt;
  int64_t values = std::max<int64_t>(1, 32 / lhs.getIntOrFloatBitWidth());
  return MmaKind{"kdl_uk_mma_" + sum + "_" + left + (left == right ? "" : right), values};
}

std::string kdl::explainTypes(const MmaProduct &product) {
  std::string why;
  llvm::raw_string_ostream(why) << "found " << product.lhs << " and " << product.rhs << " to "
                                << product.acc
                                << ", expected bf16, f16 or f32 to f32, or i8 to i32";
  return why;
}

bool kdl::isBuiltinUkernel(StringRef name) {
  return llvm::is_contained(
      {"kdl_uk_mma_f32_bf16", "kdl_uk_mma_s32_u8s8", "kdl_uk_mma_f32_f32", "kdl_uk_mma_f32_f16"},
      name);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The return value of a function without parameters, if it is a constant.
static std::optional<uint64_t> constantOf(const llvm::Function *function) {
  if (!function || function->isDeclaration() || function->size() != 1)
    return std::nullopt;
  auto *end = dyn_cast<llvm::ReturnInst>(function->front().getTerminator());
  auto *value = end ? dyn_cast_or_null<llvm::ConstantInt>(end->getReturnValue()) : nullptr;
  return value ? std::optional(value->getZExtValue()) : std::nullopt;
}

MmaTile kdl::readTile(StringRef bitcode, StringRef name) {
  llvm::LLVMContext context;
  auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, name), context);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return {0, 0, 1};
  }
  uint64_t packed = constantOf((*parsed)->getFunction((name + "_tile").str())).value_or(0);
  auto byte = [&](unsigned at) { return static_cast<int64_t>(packed >> (8 * at) & 0xff); };
  if (byte(0) == 0 || byte(1) == 0)
    return {0, 0, 1};
  return {byte(0), byte(1) * kdl_mma_columns, std::max<int64_t>(1, byte(2))};
}

std::string kdl::explainNoTile(StringRef name) {
  return ("found no constant tile of " + name + ", expected a function " + name +
          "_tile in the same bitcode that returns KDL_MMA_TILE(...)")
      .str();
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// The file that contains a function. argv[0] may not be a path, so the system is asked.
static SmallString<256> findFile(void *function) {
  Dl_info info;
  void *object = nullptr;
  SmallString<256> self;
  if (!dladdr1(function, &info, &object, RTLD_DL_LINKMAP))
    return self;
  StringRef name = static_cast<link_map *>(object)->l_name;
  if (llvm::sys::fs::real_path(name.empty() ? "/proc/self/exe" : name, self))
    self.clear();
  return self;
}

std::string kdl::findInstalledLibrary(StringRef file) {
  // The plugin, or a program of libkdl's; libkdl.so, where a compiler is linked with it.
  for (void *function :
       {reinterpret_cast<void *>(&findFile), reinterpret_cast<void *>(&kdl_open)}) {
    SmallString<256> self = findFile(function);
    StringRef folder = llvm::sys::path::parent_path(self);
    for (StringRef from : {"kdl", "../" KDL_MLIR_LIBDIR "/kdl"}) {
      SmallString<256> path(folder);
      llvm::sys::path::append(path, from, file);
      if (llvm::sys::fs::exists(path))
        return std::string(path);
    }
  }
  return "";
}

OpenLibrary kdl::openLibrary(const std::string &path, std::string &why) {
  kdl_library *library = nullptr;
  kdl_open_opts asItStands{sizeof(kdl_open_opts), nullptr, KDL_OPEN_FILE};
  if (kdl_open(path.c_str(), &asItStands, &library) != KDL_OK)
    why = kdl_error_message();
  return OpenLibrary(library);
}

bool kdl::mayRun(const kdl_verdict *verdict) {
  bool wantsLinkerOnly =
      verdict->reason_count == 1 && StringRef(verdict->reasons[0].code) == "linker_missing";
  return verdict->eligible || wantsLinkerOnly;
}

namespace {
struct Search {
  kdl_library *library;
  std::string key;
  SmallVector<size_t> found;
};
} // namespace

static int visitImage(void *user, const kdl_verdict *verdict) {
  auto *search = static_cast<Search *>(user);
  if (mayRun(verdict) && kdl_image_value(search->library, verdict->image, search->key.c_str()))
    search->found.push_back(verdict->image);
  return 0;
}

FailureOr<SmallVector<size_t>> kdl::findImages(kdl_library *library, StringRef target,
                                               StringRef key, std::string &why) {
  kdl_device *device = nullptr;
  Search search{library, key.str(), {}};
  if (kdl_device_find(target.str().c_str(), &device) != KDL_OK ||
      kdl_explain(library, device, nullptr, nullptr, visitImage, &search) != KDL_OK) {
    why = kdl_error_message();
    return failure();
  }
  return search.found;
}

FailureOr<StringRef> kdl::readImage(kdl_library *library, size_t image, std::string &why) {
  const void *bytes = nullptr;
  size_t size = 0;
  if (kdl_image_bytes(library, image, &bytes, &size) != KDL_OK) {
    why = kdl_error_message();
    return failure();
  }
  return StringRef(static_cast<const char *>(bytes), size);
}

//===----------------------------------------------------------------------===//
// The provider
//===----------------------------------------------------------------------===//

/// The best microkernel of a library; none if it has no suitable one.
static FailureOr<std::optional<MmaUkernel>> findIn(const std::string &path, const MmaKind &kind,
                                                   const MmaProduct &product, std::string &why) {
  OpenLibrary library = openLibrary(path, why);
  FailureOr<SmallVector<size_t>> images = failure();
  if (!library || failed(images = findImages(library.get(), product.target,
                                             "kdl.ukernel." + kind.ukernel, why)))
    return failure();
  for (size_t image : *images) {
    FailureOr<StringRef> bitcode = readImage(library.get(), image, why);
    if (failed(bitcode))
      return failure();
    if (failed(checkLayout(*bitcode, kind.ukernel, why))) {
      why = (path + ", image " + Twine(image) + ": " + why).str();
      return failure();
    }
    MmaTile tile = readTile(*bitcode, kind.ukernel);
    bool fixesSteps = tile.steps == kdl_mma_steps;
    if (fixesSteps && !product.mayFixSteps)
      continue;
    const kdl_string *tag = kdl_image_value(library.get(), image, "variant_tag");
    return std::optional(MmaUkernel{kind, bitcode->str(),
                                    tag ? std::string(tag->data, tag->length) : "", tile.rows,
                                    tile.columns, tile.steps, fixesSteps});
  }
  return std::optional<MmaUkernel>();
}

/// The stated file's, else libkdl's own.
FailureOr<MmaUkernel> UkernelLibraryAttr::findMmaUkernel(const MmaProduct &product,
                                                         std::string &why) const {
  std::optional<MmaKind> kind = getMmaKind(product);
  if (!kind) {
    why = explainTypes(product);
    return failure();
  }
  SmallVector<std::string> paths;
  if (!getPath().empty())
    paths.push_back(getPath().str());
  if (std::string builtin = findInstalledLibrary("ukernels.offload"); !builtin.empty())
    paths.push_back(builtin);
  if (paths.empty()) {
    why = "found no library of microkernels (library=FILE)";
    return failure();
  }
  for (const std::string &path : paths) {
    FailureOr<std::optional<MmaUkernel>> found = findIn(path, *kind, product, why);
    if (failed(found))
      return failure();
    if (*found)
      return **found;
  }
  why = "found no " + kind->ukernel + " for " + product.target + " in " + llvm::join(paths, " or ");
  return failure();
}
