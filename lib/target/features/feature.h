/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a device can do and an image may need, as sets of at most 128 things.
 *
 * A set has a meaning only together with the class of its owner: the same bit is one thing on a
 * GPU and another on an x86-64 CPU, and sets of different classes are never compared. The tokens
 * are data: gpu_features.def, x86_features.def, aarch64_features.def, riscv_features.def.
 *
 * Bits 0 to 63 are tokens. Of the second word, bits 0 to 47 are tokens too on CPUs, and on GPUs
 * belong to the rules of the family (lib/target/requirements.h); bits 48 to 63 belong to the rules
 * everywhere.
 */
#ifndef KDL_TARGET_FEATURES_FEATURE_H
#define KDL_TARGET_FEATURES_FEATURE_H

#include "support/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kdl_feature_set {
  uint64_t word[2];
} kdl_feature_set;

typedef enum kdl_feature_class {
  KDL_CLASS_GPU,
  KDL_CLASS_X86,
  KDL_CLASS_AARCH64,
  KDL_CLASS_RISCV,
  KDL_CLASS_COUNT,
} kdl_feature_class;

enum kdl_gpu_feature {
#define KDL_GPU_FEATURE(id, name, meaning) KDL_GPU_##id,
#include "lib/target/features/gpu_features.def"
#undef KDL_GPU_FEATURE
  KDL_GPU_FEATURE_COUNT,
};

enum kdl_x86_feature {
#define KDL_X86_FEATURE(id, name, leaf, subleaf, reg, bit, xcr0) KDL_X86_##id,
#define KDL_X86_SECOND_BLOCK KDL_X86_FIRST_BLOCK_END, KDL_X86_SECOND_BLOCK_BASE = 63,
#include "lib/target/features/x86_features.def"
#undef KDL_X86_FEATURE
#undef KDL_X86_SECOND_BLOCK
};

enum kdl_aarch64_feature {
#define KDL_AARCH64_FEATURE(id, name, hwcap, bit) KDL_AARCH64_##id,
#define KDL_AARCH64_SECOND_BLOCK KDL_AARCH64_FIRST_BLOCK_END, KDL_AARCH64_SECOND_BLOCK_BASE = 63,
#include "lib/target/features/aarch64_features.def"
#undef KDL_AARCH64_FEATURE
#undef KDL_AARCH64_SECOND_BLOCK
};

enum kdl_riscv_feature {
#define KDL_RISCV_FEATURE(id, name, bit) KDL_RISCV_##id,
#include "lib/target/features/riscv_features.def"
#undef KDL_RISCV_FEATURE
  KDL_RISCV_FEATURE_COUNT,
};

static inline bool kdl_feature_has(kdl_feature_set set, unsigned bit) {
  return set.word[bit / 64] >> (bit % 64) & 1;
}

static inline void kdl_feature_add(kdl_feature_set *set, unsigned bit) {
  set->word[bit / 64] |= (uint64_t)1 << (bit % 64);
}

static inline void kdl_feature_remove(kdl_feature_set *set, unsigned bit) {
  set->word[bit / 64] &= ~((uint64_t)1 << (bit % 64));
}

static inline void kdl_feature_join(kdl_feature_set *set, kdl_feature_set other) {
  set->word[0] |= other.word[0];
  set->word[1] |= other.word[1];
}

static inline kdl_feature_set kdl_feature_common(kdl_feature_set a, kdl_feature_set b) {
  return (kdl_feature_set){{a.word[0] & b.word[0], a.word[1] & b.word[1]}};
}

static inline bool kdl_feature_any(kdl_feature_set set) {
  return set.word[0] | set.word[1];
}

/* The bits of a set that are tokens, not rules. */
kdl_feature_set kdl_feature_tokens(kdl_feature_class which, kdl_feature_set set);

/* The bit of a token, or -1. The separators '-', '_' and '.' are not compared, so that LLVM's
 * "avx512bf16" and "amx-tile" and Linux's "avx512_bf16" all are what they look like. Some names are
 * other names for a token: "bf16" on x86-64 is avx512_bf16. */
int kdl_feature_bit(kdl_feature_class which, kdl_string name);

/* Whether any class knows the token. */
bool kdl_feature_is_known(kdl_string name);

/* The name of a token; NULL where the bit is none. */
const char *kdl_feature_name(kdl_feature_class which, unsigned bit);

/* What a token means, where its name does not say; "" otherwise. */
const char *kdl_feature_meaning(kdl_feature_class which, unsigned bit);

/* Adds what the set's tokens imply: AVX-512 has AVX2, SVE2 has SVE. */
void kdl_feature_close(kdl_feature_class which, kdl_feature_set *set);

/* Tokens joined by '+', or by ',' as other tools write them; "" is the empty set. On failure
 * `out_error` stands at the token that the class does not know. The result is not closed. */
bool kdl_feature_parse(kdl_feature_class which, kdl_string list, kdl_feature_set *out_set,
                       kdl_parse_error *out_error);

/* "avx2+fma", in bit order; nothing for the empty set. */
void kdl_out_features(kdl_out *out, kdl_feature_class which, kdl_feature_set set);

/* How a CPU's features are found out: tables for the code that asks the CPU. */
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

/* The tokens that a word of riscv_hwprobe's key IMA_EXT_0 stands for. */
kdl_feature_set kdl_riscv_probed(uint64_t extensions);

#endif
