/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/hash.h"

#include <sys/auxv.h>

_Atomic(uint64_t) kdl_hash_seed_known;

uint64_t kdl_hash_seed_make(void) {
  const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM); /* 16 bytes */
  uint64_t made = 0;
  if (random)
    memcpy(&made, random, sizeof made);
  made = (made | 1) * 0xcbf29ce484222325u;
  atomic_store_explicit(&kdl_hash_seed_known, made, memory_order_relaxed);
  return made;
}
