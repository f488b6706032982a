/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Features, for the library only: implications, meanings, and detection on CPUs. */
#ifndef KDL_LIB_TARGET_FEATURES_FEATURE_H
#define KDL_LIB_TARGET_FEATURES_FEATURE_H

#include "lib/inspect/targets.h"

static inline kdl_feature_set kdl_feature_common(kdl_feature_set a, kdl_feature_set b) {
  return (kdl_feature_set){{a.word[0] & b.word[0], a.word[1] & b.word[1]}};
}

static inline void kdl_feature_remove(kdl_feature_set *set, unsigned bit) {
  set->word[bit / 64] &= ~((uint64_t)1 << (bit % 64));
}

/* The bits of a set that are tokens, not requirements of rules. */
kdl_feature_set kdl_feature_tokens(kdl_feature_class which, kdl_feature_set set);

static inline bool kdl_feature_any(kdl_feature_set set) {
  return set.word[0] | set.word[1];
}

/* The tokens that a name stands for: itself, or those of an alias. False for a name that the class
 * does not know. */
bool kdl_feature_find(kdl_feature_class which, kdl_string name, kdl_feature_set *out_set);

/* Whether any class knows the token. */
bool kdl_feature_is_known(kdl_string name);

/* The meaning of a token, if its name does not show it; else "". */
const char *kdl_feature_meaning(kdl_feature_class which, unsigned bit);

/* Adds the tokens that the set's tokens imply: AVX-512 has AVX2, SVE2 has SVE. */
void kdl_feature_close(kdl_feature_class which, kdl_feature_set *set);

/* Tables for detecting a CPU's features. */
typedef struct kdl_x86_probe {
  uint8_t feature; /* bit in the set */
  uint8_t subleaf;
  char reg; /* 'a' to 'd' */
  uint8_t bit;
  uint32_t leaf;
  uint32_t xcr0; /* bits that must be set in XCR0 for the feature to be usable */
} kdl_x86_probe;

typedef struct kdl_aarch64_probe {
  uint8_t feature;
  uint8_t hwcap; /* 1: AT_HWCAP, 2: AT_HWCAP2, 0: not in the auxiliary vector */
  uint8_t bit;
} kdl_aarch64_probe;

const kdl_x86_probe *kdl_x86_probes(size_t *out_count);
const kdl_aarch64_probe *kdl_aarch64_probes(size_t *out_count);

/* The tokens for the bits of riscv_hwprobe's key IMA_EXT_0. */
kdl_feature_set kdl_riscv_probed(uint64_t extensions);

#endif
