// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/UkernelSelection.h"

#include "Dialect.h"
#include "ukernels/UkernelLink.h"
#include "ukernels/UkernelObjects.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <kdl/kdl.h>

#include <dlfcn.h>
#include <link.h>

using namespace mlir;
using namespace mlir::kdl;

std::optional<UkernelKind> kdl::getUkernelKind(Type lhs, Type rhs, Type acc) {
  if (lhs.isBF16() && rhs.isBF16() && acc.isF32())
    return UkernelKind{"kdl_uk_mma_f32_bf16", 2, LhsForm::Unchanged};
  if (lhs.isInteger(8) && rhs.isInteger(8) && acc.isInteger(32))
    return UkernelKind{"kdl_uk_mma_s32_u8s8", 4, LhsForm::Unsigned};
  if (lhs.isF32() && rhs.isF32() && acc.isF32())
    return UkernelKind{"kdl_uk_mma_f32_f32", 1, LhsForm::Unchanged};
  if (lhs.isF16() && rhs.isF16() && acc.isF32())
    return UkernelKind{"kdl_uk_mma_f32_f16", 1, LhsForm::F32};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

/// The file that contains this code. argv[0] may not be a path, so the system is asked.
static SmallString<256> findSelf() {
  Dl_info info;
  void *object = nullptr;
  SmallString<256> self;
  if (!dladdr1(reinterpret_cast<void *>(&findSelf), &info, &object, RTLD_DL_LINKMAP))
    return self;
  StringRef name = static_cast<link_map *>(object)->l_name;
  if (llvm::sys::fs::real_path(name.empty() ? "/proc/self/exe" : name, self))
    self.clear();
  return self;
}

/// A library in the install prefix of this plugin or program: LIBDIR/KdlMLIR.so, bin/kdl-mlir,
/// LIBDIR/kdl/FILE. Empty if there is none.
static std::string findLibrary(StringRef file) {
  SmallString<256> self = findSelf();
  StringRef folder = llvm::sys::path::parent_path(self);
  for (StringRef from : {"kdl", "../" KDL_MLIR_LIBDIR "/kdl"}) {
    SmallString<256> path(folder);
    llvm::sys::path::append(path, from, file);
    if (llvm::sys::fs::exists(path))
      return std::string(path);
  }
  return "";
}

LogicalResult kdl::checkUkernelSource(MLIRContext *context, StringRef pass,
                                      const UkernelSource &source) {
  auto complain = [&] { return emitError(UnknownLoc::get(context)) << pass << ": "; };
  kdl_device *device = nullptr;
  kdl_device_info info{};
  info.size = sizeof info;
  if (!source.target.empty()) {
    if (kdl_device_find(source.target.c_str(), &device) != KDL_OK ||
        kdl_device_get(device, &info) != KDL_OK)
      return complain() << "found target=" << source.target << ": " << kdl_error_message();
    if (!info.is_host)
      return complain() << "found target=" << source.target
                        << ", expected a CPU, as host or host:x86-64-v4";
  }
  kdl_library *library = nullptr;
  kdl_open_opts asItStands{sizeof(kdl_open_opts), nullptr, KDL_OPEN_FILE};
  if (!source.library.empty() && kdl_open(source.library.c_str(), &asItStands, &library) != KDL_OK)
    return complain() << "found library=" << source.library << ": " << kdl_error_message();
  kdl_close(library);
  return success();
}

namespace {
/// The first image in rank order that may run on the device and has the key.
struct Search {
  kdl_library *library = nullptr;
  std::string key;
  bool mayTakeTiles = false;
  size_t image = 0;
  bool found = false, takesTiles = false;
  StringRef bitcode;

  ~Search() { kdl_close(library); }
};
} // namespace

/// Bitcode that this plugin links, or libkdl where the program runs, needs no linker now.
static bool mayRun(const kdl_verdict *verdict) {
  bool wantsLinkerOnly =
      verdict->reason_count == 1 && StringRef(verdict->reasons[0].code) == "linker_missing";
  return verdict->eligible || wantsLinkerOnly;
}

static int visitImage(void *user, const kdl_verdict *verdict) {
  auto *search = static_cast<Search *>(user);
  if (!mayRun(verdict) || !kdl_image_value(search->library, verdict->image, search->key.c_str()))
    return 0;
  const kdl_string *needs = kdl_image_value(search->library, verdict->image, "requires_features");
  search->takesTiles = needs && StringRef(needs->data, needs->length).contains("amx_tile");
  if (search->takesTiles && !search->mayTakeTiles)
    return 0;
  search->image = verdict->image;
  search->found = true;
  return 1;
}

/// Searches an open library's images; `what` describes the search in messages.
static LogicalResult findImage(Search &search, const std::string &path, StringRef what,
                               const UkernelSource &source, std::string &why) {
  kdl_device *device = nullptr;
  std::string target = source.target.empty() ? std::string("host:") + getHostArch() : source.target;
  kdl_open_opts asItStands{sizeof(kdl_open_opts), nullptr, KDL_OPEN_FILE};
  const void *bytes = nullptr;
  size_t size = 0;
  if (kdl_open(path.c_str(), &asItStands, &search.library) != KDL_OK ||
      kdl_device_find(target.c_str(), &device) != KDL_OK) {
    why = kdl_error_message();
    return failure();
  }
  if (kdl_explain(search.library, device, nullptr, nullptr, visitImage, &search) != KDL_OK ||
      !search.found) {
    why = ("found no " + what + " for " + target + " in " + path).str();
    return failure();
  }
  if (kdl_image_bytes(search.library, search.image, &bytes, &size) != KDL_OK) {
    why = kdl_error_message();
    return failure();
  }
  search.bitcode = StringRef(static_cast<const char *>(bytes), size);
  return success();
}

FailureOr<UkernelVariant> kdl::findVariant(StringRef name, const UkernelSource &source,
                                           bool mayTakeTiles, std::string &why) {
  std::string path = source.library.empty() ? findLibrary("ukernels.offload") : source.library;
  if (path.empty()) {
    why = "found no library of microkernels (library=FILE)";
    return failure();
  }
  Search search;
  search.key = ("kdl.ukernel." + name).str();
  search.mayTakeTiles = mayTakeTiles;
  if (failed(findImage(search, path, name, source, why)))
    return failure();
  if (failed(checkLayout(search.bitcode, name, why))) {
    why = (path + ", image " + Twine(search.image) + ": " + why).str();
    return failure();
  }
  const kdl_string *tag = kdl_image_value(search.library, search.image, "variant_tag");
  return UkernelVariant{search.bitcode.str(), tag ? std::string(tag->data, tag->length) : "",
                        search.takesTiles};
}

FailureOr<std::string> kdl::findMatmulKernels(StringRef kernel, const UkernelSource &source,
                                              std::string &why) {
  std::string path = findLibrary("kdl-matmul.offload");
  if (path.empty()) {
    why = "found no kdl-matmul.offload in the folder of the microkernels";
    return failure();
  }
  Search search;
  search.key = ("kdl.kernel." + kernel).str();
  if (failed(findImage(search, path, kernel, source, why)))
    return failure();
  return search.bitcode.str();
}

namespace {
/// The images for one target, in rank order.
struct MatmulSearch {
  kdl_library *library;
  std::string kernel, ukernel; // keys
  bool hasKernel = false;
  SmallVectorImpl<size_t> &found;
};
} // namespace

static int visitMatmulImage(void *user, const kdl_verdict *verdict) {
  auto *search = static_cast<MatmulSearch *>(user);
  auto has = [&](const std::string &key) {
    return kdl_image_value(search->library, verdict->image, key.c_str()) != nullptr;
  };
  bool isKernel = !search->hasKernel && has(search->kernel);
  if (!mayRun(verdict) || (!isKernel && !has(search->ukernel)))
    return 0;
  search->hasKernel |= isKernel;
  if (!llvm::is_contained(search->found, verdict->image))
    search->found.push_back(verdict->image);
  return 0;
}

static LogicalResult readMatmulImage(kdl_library *library, size_t index, MatmulImage &out) {
  kdl_image_info info{};
  info.size = sizeof info;
  const void *bytes = nullptr;
  size_t size = 0;
  if (kdl_image_get(library, index, &info) != KDL_OK ||
      kdl_image_bytes(library, index, &bytes, &size) != KDL_OK)
    return failure();
  auto text = [](kdl_string words) { return std::string(words.data, words.length); };
  out = {info.kind,
         text(info.triple),
         text(info.arch),
         std::string(static_cast<const char *>(bytes), size),
         {}};
  for (size_t i = 0; i < info.pair_count; ++i) {
    std::string key = text(info.pairs[i].key);
    if (key != "triple" && key != "arch" && key != "kdl.digest")
      out.pairs.push_back({key, text(info.pairs[i].value)});
  }
  return success();
}

FailureOr<SmallVector<MatmulImage>> kdl::findMatmulImages(ArrayRef<MatmulTarget> targets,
                                                          StringRef library, std::string &why) {
  std::string path = library.empty() ? findLibrary("kdl-matmul.offload") : library.str();
  if (path.empty()) {
    why = "found no kdl-matmul.offload in the folder of the microkernels";
    return failure();
  }
  kdl_open_opts asItStands{sizeof(kdl_open_opts), nullptr, KDL_OPEN_FILE};
  kdl_library *opened = nullptr;
  if (kdl_open(path.c_str(), &asItStands, &opened) != KDL_OK) {
    why = kdl_error_message();
    return failure();
  }
  llvm::scope_exit close([&] { kdl_close(opened); });
  SmallVector<size_t> indices;
  for (const MatmulTarget &target : targets) {
    kdl_device *device = nullptr;
    MatmulSearch search{opened, "kdl.kernel." + target.kernel, "kdl.ukernel." + target.ukernel,
                        false, indices};
    if (kdl_device_find(target.device.c_str(), &device) != KDL_OK ||
        kdl_explain(opened, device, nullptr, nullptr, visitMatmulImage, &search) != KDL_OK) {
      why = kdl_error_message();
      return failure();
    }
    if (!search.hasKernel) {
      why = "found no " + target.kernel + " for " + target.device + " in " + path;
      return failure();
    }
  }
  SmallVector<MatmulImage> images(indices.size());
  for (auto [index, image] : llvm::zip_equal(indices, images)) {
    if (failed(readMatmulImage(opened, index, image))) {
      why = kdl_error_message();
      return failure();
    }
  }
  return images;
}

func::FuncOp kdl::declareUkernel(ModuleOp module, StringRef name, const UkernelKind &kind,
                                 const UkernelVariant &variant) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  auto type =
      builder.getFunctionType({pointer, i64, pointer, i64, pointer, i64, i32, i32, i32, i32}, {});
  auto made = func::FuncOp::create(builder, module.getLoc(), name, type);
  made.setPrivate();
  made->setAttr(variantAttr, builder.getStringAttr(variant.tag));
  made->setAttr(objectAttr,
                addObject(module, variant.tag.empty() ? "ukernel" : variant.tag, variant.bitcode));
  if (variant.takesTiles) {
    made->setAttr(tilesAttr, builder.getUnitAttr());
    made->setAttr(functionAttr, builder.getStringAttr(kind.ukernel));
  }
  return made;
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

bool kdl::takesTiles(ModuleOp module, StringRef name, const UkernelSource &source) {
  if (name.empty())
    return false;
  if (auto own = module.lookupSymbol<func::FuncOp>(name))
    return own->hasAttr(tilesAttr);
  std::string why;
  FailureOr<UkernelVariant> variant = findVariant(name, source, /*mayTakeTiles=*/true, why);
  return succeeded(variant) && variant->takesTiles;
}

bool kdl::isBroughtByModule(ModuleOp module, StringRef name) {
  auto own = module.lookupSymbol<func::FuncOp>(name);
  return own && hasBitcode(own);
}

FailureOr<UkernelTile> kdl::findTile(ModuleOp module, StringRef name, const UkernelSource &source,
                                     std::string &why) {
  std::string bitcode;
  auto own = module ? module.lookupSymbol<func::FuncOp>(name) : nullptr;
  StringRef ownBitcode = own ? bitcodeOf(own) : StringRef();
  if (!ownBitcode.empty()) {
    bitcode = ownBitcode.str();
    if (failed(checkLayout(bitcode, name, why)))
      return failure();
  } else if (own) {
    why = ("found a function " + name + " without " + bitcodeAttr).str();
    return failure();
  } else {
    FailureOr<UkernelVariant> variant =
        findVariant(name, source, /*mayTakeTiles=*/bool(module), why);
    if (failed(variant))
      return failure();
    bitcode = std::move(variant->bitcode);
  }
  llvm::LLVMContext context;
  auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, name), context);
  if (!parsed) {
    why = llvm::toString(parsed.takeError());
    return failure();
  }
  // KDL_MMA_TILE: rows, vectors, steps.
  std::optional<uint64_t> tile = constantOf((*parsed)->getFunction((name + "_tile").str()));
  auto rows = static_cast<int64_t>(tile.value_or(0) & 0xff);
  auto vectors = static_cast<int64_t>(tile.value_or(0) >> 8 & 0xff);
  if (rows == 0 || vectors == 0) {
    why = ("found no constant tile of " + name + ", expected a function " + name +
           "_tile that returns KDL_MMA_TILE(...) beside it")
              .str();
    return failure();
  }
  return UkernelTile{rows, vectors * mmaColumns};
}
