// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files of microkernels, and the names in them.
#ifndef KDL_MLIR_LIB_UKERNELS_UKERNELLIBRARY_H
#define KDL_MLIR_LIB_UKERNELS_UKERNELLIBRARY_H

#include "Dialect.h"

#include <kdl/kdl.h>

#include <memory>

namespace mlir::kdl {

/// The microkernel for a product and the form of its operands, by the types of these; none for
/// types that no microkernel can have. Bytes of any sign have the same one.
std::optional<MmaKind> getMmaKind(const MmaProduct &product);

/// What is wrong with the types of a product that has no microkernel.
std::string explainTypes(const MmaProduct &product);

/// Whether libkdl's own library has the microkernel, and its matmul library functions that call it.
bool isBuiltinUkernel(StringRef name);

/// The sizes that a microkernel's `_tile` function returns: KDL_MMA_TILE of <kdl/mma.h>.
struct MmaTile {
  int64_t rows, columns, steps;
};

/// Reads them from bitcode; zeros if there is no such constant.
MmaTile readTile(StringRef bitcode, StringRef name);

/// What is wrong with a microkernel without a tile, which tiled products need.
std::string explainNoTile(StringRef name);

/// A file in the install prefix of this plugin or program, or of libkdl.so: LIBDIR/KdlMLIR.so,
/// bin/kdl-mlir, LIBDIR/libkdl.so, LIBDIR/kdl/FILE. Empty if there is none.
std::string findInstalledLibrary(StringRef file);

/// An open library, closed at the end.
struct CloseLibrary {
  void operator()(kdl_library *library) const { kdl_close(library); }
};
using OpenLibrary = std::unique_ptr<kdl_library, CloseLibrary>;

/// Opens a file as it is; null with a reason on failure.
OpenLibrary openLibrary(const std::string &path, std::string &why);

/// Whether the image runs on the device, if need be once it is linked: bitcode that this plugin
/// links, or libkdl where the program runs, needs no linker now.
bool mayRun(const kdl_verdict *verdict);

/// The images with a key that may run on a device, best first.
FailureOr<SmallVector<size_t>> findImages(kdl_library *library, StringRef target, StringRef key,
                                          std::string &why);

/// The bytes of an image, which are the library's; fails with a reason.
FailureOr<StringRef> readImage(kdl_library *library, size_t image, std::string &why);

} // namespace mlir::kdl

#endif
