/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the writer and the reader of a recording agree on. */
#ifndef KDL_EXT_INJECT_RECORDING_FORMAT_H
#define KDL_EXT_INJECT_RECORDING_FORMAT_H

#include "support/base/hash.h"

/* Slots of PID-N.counts. */
enum {
  KDL_RECORDING_GRAPHS = 0, /* launches of graphs */
  KDL_RECORDING_OTHERS = 1, /* launches of kernels without a slot */
  KDL_RECORDING_LOST = 2,   /* lines that could not be written, as on a full disk */
  KDL_RECORDING_FIRST = 3,  /* of a kernel */
  KDL_RECORDING_KERNELS = 65536,
};

/* The same in every process, other than kdl_hash_text. */
static inline uint64_t kdl_recording_hash(const void *data, size_t size) {
  return kdl_hash_add(0x6b646c2d74726163u, (kdl_string){data, size});
}

#endif
