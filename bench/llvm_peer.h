/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LLVM's own reader behind C functions, to be timed beside ours. */
#ifndef KDL_BENCH_LLVM_PEER_H
#define KDL_BENCH_LLVM_PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* OffloadBinary::create on each of the binaries at data[0..size), with the three getters that any
 * chooser calls. Returns the number of binaries, 0 on failure. */
size_t llvm_peer_create(const void *data, size_t size);

/* object::extractOffloadBinaries on the buffer. Returns the number of binaries, 0 on failure. */
size_t llvm_peer_extract(const void *data, size_t size);

/* MemoryBuffer::getFile and extractOffloadBinaries. */
size_t llvm_peer_extract_file(const char *path);

/* The first image whose target equals the device's or that areTargetsCompatible accepts, or
 * `count`: the loop that LLVM 22's users of it run. */
size_t llvm_peer_first_compatible(const char *const *triples, const char *const *archs,
                                  size_t count, const char *device_triple, const char *device_arch);

/* "22.1.8" */
const char *llvm_peer_version(void);

#ifdef __cplusplus
}
#endif

#endif
