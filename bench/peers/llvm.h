/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LLVM's own reader and its compatibility check behind C functions, to be timed next to ours: in a
 * shared object of its own, kdl_peer_llvm.so, since it is C++ and brings libLLVM with it. */
#ifndef KDL_BENCH_PEERS_LLVM_H
#define KDL_BENCH_PEERS_LLVM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llvm_peer {
  const char *version; /* "22.1.8" */
  /* OffloadBinary::create on each of the binaries at data[0..size), with the three getters that any
   * chooser calls. Returns the number of binaries, 0 on failure. */
  size_t (*create)(const void *data, size_t size);
  /* object::extractOffloadBinaries on the buffer, or on a file that MemoryBuffer::getFile reads.
   * Returns the number of binaries, 0 on failure. */
  size_t (*extract)(const void *data, size_t size);
  size_t (*extract_file)(const char *path);
  /* The first image whose target equals the device's or that areTargetsCompatible accepts, or
   * `count`: the loop that LLVM 22's users of it run. */
  size_t (*first_compatible)(const char *const *triples, const char *const *archs, size_t count,
                             const char *device_triple, const char *device_arch);
  /* Both: OffloadBinary::create on one binary after the other, up to the first that fits. Returns
   * its number, or that of the binaries. */
  size_t (*create_and_match)(const void *data, size_t size, const char *device_triple,
                             const char *device_arch);
} llvm_peer;

#define LLVM_PEER_SYMBOL "kdl_bench_llvm"
typedef const llvm_peer *llvm_peer_function(void);

#ifdef __cplusplus
}
#endif

#endif
