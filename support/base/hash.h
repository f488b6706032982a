/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Hashes for tables in memory. Each process has another seed, so that no file can choose names that
 * collide. */
#ifndef KDL_SUPPORT_BASE_HASH_H
#define KDL_SUPPORT_BASE_HASH_H

#include <kdl/kdl.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The seed of this process, made at the first use; 0 before that. */
extern _Atomic(uint64_t) kdl_hash_seed_known;
uint64_t kdl_hash_seed_make(void);
static inline uint64_t kdl_hash_seed(void) {
  uint64_t known = atomic_load_explicit(&kdl_hash_seed_known, memory_order_relaxed);
  return known ? known : kdl_hash_seed_make();
}

__extension__ typedef unsigned __int128 kdl_hash_product;

static inline uint64_t kdl_hash_mix(uint64_t hash, uint64_t word) {
  kdl_hash_product product = (kdl_hash_product)(hash ^ word) * 0x9e3779b97f4a7c15u;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes of text as a word; kdl_hash_tail takes fewer. */
static inline uint64_t kdl_hash_word(const char *data) {
  uint64_t word;
  memcpy(&word, data, sizeof word);
  return word;
}

static inline uint64_t kdl_hash_tail(const char *data, size_t length) {
  uint64_t word = 0;
  for (size_t i = 0; i < length; ++i)
    word = word << 8 | (unsigned char)data[i];
  return word;
}

/* Adds the text to the hash. The last eight bytes may be hashed twice. */
static inline uint64_t kdl_hash_add(uint64_t hash, kdl_string text) {
  hash = hash + text.length;
  if (text.length < 8)
    return kdl_hash_mix(hash, kdl_hash_tail(text.data, text.length));
  for (size_t at = 0; at + 8 < text.length; at += 8)
    hash = kdl_hash_mix(hash, kdl_hash_word(text.data + at));
  return kdl_hash_mix(hash, kdl_hash_word(text.data + text.length - 8));
}

static inline uint64_t kdl_hash_text(kdl_string text) {
  return kdl_hash_add(kdl_hash_seed(), text);
}

/* kdl_text_equal for short text: a call of memcmp would take longer. */
static inline bool kdl_hash_same(kdl_string a, kdl_string b) {
  if (a.length != b.length || a.length < 8)
    return a.length == b.length &&
           kdl_hash_tail(a.data, a.length) == kdl_hash_tail(b.data, a.length);
  for (size_t at = 0; at + 8 < a.length; at += 8) {
    if (kdl_hash_word(a.data + at) != kdl_hash_word(b.data + at))
      return false;
  }
  return kdl_hash_word(a.data + a.length - 8) == kdl_hash_word(b.data + a.length - 8);
}

#endif
