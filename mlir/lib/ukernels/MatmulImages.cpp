// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/MatmulImages.h"

#include "ukernels/UkernelLibrary.h"

using namespace mlir;
using namespace mlir::kdl;

static constexpr StringLiteral libraryName = "kdl-matmul.offload";
static constexpr StringLiteral noLibrary =
    "found no kdl-matmul.offload in the folder of the microkernels";

FailureOr<std::string> kdl::findMatmulKernels(StringRef kernel, StringRef target,
                                              std::string &why) {
  std::string path = findInstalledLibrary(libraryName);
  if (path.empty()) {
    why = noLibrary;
    return failure();
  }
  OpenLibrary library = openLibrary(path, why);
  if (!library)
    return failure();
  FailureOr<SmallVector<size_t>> images =
      findImages(library.get(), target, ("kdl.kernel." + kernel).str(), why);
  if (failed(images))
    return failure();
  if (images->empty()) {
    why = ("found no " + kernel + " for " + target + " in " + path).str();
    return failure();
  }
  FailureOr<StringRef> bitcode = readImage(library.get(), images->front(), why);
  if (failed(bitcode))
    return failure();
  return bitcode->str();
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
  std::string path = library.empty() ? findInstalledLibrary(libraryName) : library.str();
  if (path.empty()) {
    why = noLibrary;
    return failure();
  }
  OpenLibrary opened = openLibrary(path, why);
  if (!opened)
    return failure();
  SmallVector<size_t> indices;
  for (const MatmulTarget &target : targets) {
    kdl_device *device = nullptr;
    MatmulSearch search{opened.get(), "kdl.kernel." + target.kernel,
                        "kdl.ukernel." + target.ukernel, false, indices};
    if (kdl_device_find(target.device.c_str(), &device) != KDL_OK ||
        kdl_explain(opened.get(), device, nullptr, nullptr, visitMatmulImage, &search) != KDL_OK) {
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
    if (failed(readMatmulImage(opened.get(), index, image))) {
      why = kdl_error_message();
      return failure();
    }
  }
  return images;
}
