// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Object/OffloadBinary.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace llvm::object;

static size_t create(const void *data, size_t size) {
  size_t count = 0;
  for (size_t offset = 0; offset < size;) {
    StringRef rest(static_cast<const char *>(data) + offset, size - offset);
    Expected<std::unique_ptr<OffloadBinary>> binary =
        OffloadBinary::create(MemoryBufferRef(rest, "bench"));
    if (!binary) {
      consumeError(binary.takeError());
      return 0;
    }
    if ((*binary)->getImage().empty() || (*binary)->getTriple().empty() ||
        (*binary)->getArch().empty())
      return 0;
    offset += (*binary)->getSize();
    ++count;
  }
  return count;
}

static size_t extract(MemoryBufferRef buffer) {
  SmallVector<OffloadFile> binaries;
  if (Error error = extractOffloadBinaries(buffer, binaries)) {
    consumeError(std::move(error));
    return 0;
  }
  return binaries.size();
}

static size_t extractMemory(const void *data, size_t size) {
  return extract(MemoryBufferRef(StringRef(static_cast<const char *>(data), size), "bench"));
}

static size_t extractFile(const char *path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  return buffer ? extract(**buffer) : 0;
}

static size_t firstCompatible(const char *const *triples, const char *const *archs, size_t count,
                              const char *device_triple, const char *device_arch) {
  OffloadFile::TargetID device(device_triple, device_arch);
  for (size_t i = 0; i < count; ++i) {
    OffloadFile::TargetID image(triples[i], archs[i]);
    if (image == device || areTargetsCompatible(image, device))
      return i;
  }
  return count;
}

static size_t createAndMatch(const void *data, size_t size, const char *device_triple,
                             const char *device_arch) {
  OffloadFile::TargetID device(device_triple, device_arch);
  size_t count = 0;
  for (size_t offset = 0; offset < size; ++count) {
    StringRef bytes(static_cast<const char *>(data) + offset, size - offset);
    Expected<std::unique_ptr<OffloadBinary>> binary =
        OffloadBinary::create(MemoryBufferRef(bytes, "bench"));
    if (!binary) {
      consumeError(binary.takeError());
      return 0;
    }
    OffloadFile::TargetID image((*binary)->getTriple(), (*binary)->getArch());
    if (image == device || areTargetsCompatible(image, device))
      return count;
    offset += (*binary)->getSize();
  }
  return count;
}

extern "C" __attribute__((visibility("default"))) const llvm_peer *kdl_bench_llvm(void) {
  static const llvm_peer table = {LLVM_VERSION_STRING, create,          extractMemory,
                                  extractFile,         firstCompatible, createAndMatch};
  return &table;
}
