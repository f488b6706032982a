/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The part of a feature set that has no tokens: requirements of a family's rules. They are bits of
 * the second word, so that versions, settings and memberships are matched by the same AND as
 * features. Each version is a bit: an image needs the bit of its version, a device has the bits of
 * all versions it supports.
 */
#ifndef KDL_LIB_TARGET_REQUIREMENTS_H
#define KDL_LIB_TARGET_REQUIREMENTS_H

#include "lib/inspect/kinds.h"
#include "lib/target/target.h"

/* The kinds of image that hold code, numbered from 1; all others are KDL_CODE_NONE. */
enum kdl_code_kind {
  KDL_CODE_NONE,
#define KDL_IMAGE_KIND(id, name, llvm, first_bytes, holds, ...)                                    \
  KDL_CODE_##id, /* has the number of the next kind if it holds no code */                         \
      KDL_CODE_AFTER_##id = KDL_CODE_##id - (KDL_HOLDS_##holds < KDL_HOLDS_MACHINE_CODE),
#include "lib/inspect/kinds.def"
#undef KDL_IMAGE_KIND
  KDL_CODE_COUNT,
};

/* All families: kinds of image, and a bit that no device has. */
enum { KDL_NEED_KIND = 64 + 48, KDL_NEED_IMPOSSIBLE = 64 + 63 };

_Static_assert(KDL_NEED_KIND + (int)KDL_CODE_COUNT <= (int)KDL_NEED_IMPOSSIBLE,
               "more kinds of image than bits");

/* The bit of KDL_NEED_KIND of a kind. */
unsigned kdl_need_kind(kdl_image_kind kind);

/* NVIDIA: PTX ISA versions and Tile IR versions, numbered in nvptx.c; and, for cubins of desktop
 * parts, not being a Tegra. */
enum {
  KDL_NEED_PTX = 64,
  KDL_NEED_PTX_LAST = 64 + 41,
  KDL_NEED_TILE_IR,
  KDL_NEED_TILE_IR_LAST = 64 + 46,
  KDL_NEED_DESKTOP = 64 + 47,
};

/* AMD */
enum {
  KDL_NEED_GENERIC = 64, /* + number of the generic processor */
  KDL_NEED_XNACK_ON = 64 + 16,
  KDL_NEED_XNACK_OFF,
  KDL_NEED_SRAMECC_ON,
  KDL_NEED_SRAMECC_OFF,
  KDL_NEED_GENERIC_VERSION,                               /* + version - 1, of at most 8 */
  KDL_NEED_GENERIC_LOADER = KDL_NEED_GENERIC_VERSION + 8, /* a driver that knows generics */
  KDL_NEED_SPIRV_COMPILER,                                /* one that compiles amdgcnspirv */
};

/* SPIR-V and Intel */
enum {
  KDL_NEED_SPIRV = 64, /* + minor version of SPIR-V 1.x, of at most 15 */
  KDL_NEED_ADDRESS_32 = 64 + 16,
  KDL_NEED_ADDRESS_64,
  KDL_NEED_SHADER,     /* modules for graphics APIs; no device has it */
  KDL_NEED_CAPABILITY, /* + the bit of a token that a module's capabilities require */
};

_Static_assert(KDL_NEED_CAPABILITY + KDL_GPU_FEATURE_COUNT <= KDL_NEED_KIND,
               "the capabilities overlap the kinds");

/* The same tokens as capabilities. */
static inline kdl_feature_set kdl_capabilities(uint64_t tokens) {
  const uint64_t all = ((uint64_t)1 << KDL_GPU_FEATURE_COUNT) - 1;
  return (kdl_feature_set){{0, (tokens & all) << (KDL_NEED_CAPABILITY - 64)}};
}

/* Further bits of what an image that kdl-ld lowers needs: a translator of SPIR-V; and what no
 * device has, for SPIR-V of graphics APIs or with 32-bit addresses. */
enum { KDL_LOWERING_TRANSLATOR = 30, KDL_LOWERING_IMPOSSIBLE = 31 };
_Static_assert(KDL_GPU_FEATURE_COUNT <= KDL_LOWERING_TRANSLATOR + 0, "the tokens overlap the bits");

/* The tokens that the image needs, by its metadata or its capabilities, and that the device lacks.
 * Of an image that kdl-ld lowers they are those of GPUs: kdl_missing_class. */
kdl_feature_set kdl_missing_tokens(const kdl_image_rule *image, const kdl_device_rule *device);
kdl_feature_class kdl_missing_class(const kdl_image_rule *image, const kdl_device_rule *device);

/* An architecture: the family, then 24 bits defined by the family. */
#define KDL_ARCH(family, detail) ((uint32_t)(family) << 24 | (uint32_t)(detail))
enum { KDL_ARCH_DETAIL = 0xffffff };

static inline void kdl_rule_arch(kdl_image_rule *rule, uint32_t lo, uint32_t hi) {
  rule->arch_lo = lo;
  rule->arch_hi = hi;
}

/* On GPUs the lowest byte of a rank is the number of required tokens: of two otherwise equal
 * images, the more demanding one is for the better device. On CPUs the tokens themselves form the
 * rank. */
enum { KDL_RANK_DETAIL_SHIFT = 8, KDL_RANK_TOKENS = 0xff };

static inline unsigned kdl_count_bits(uint64_t word) {
  unsigned count = 0;
  for (; word; word &= word - 1)
    ++count;
  return count;
}

static inline void kdl_rule_rank(kdl_image_rule *rule, kdl_tier tier, uint64_t detail) {
  rule->rank = (uint64_t)tier << KDL_TIER_SHIFT | detail << KDL_RANK_DETAIL_SHIFT;
}

/* In the tier of the image's kind. */
static inline void kdl_rule_rank_kind(kdl_image_rule *rule, uint64_t detail) {
  kdl_rule_rank(rule, (kdl_tier)kdl_image_kind_get((kdl_image_kind)rule->kind)->tier, detail);
}

static inline void kdl_rule_fault(kdl_image_rule *rule, uint64_t reasons) {
  rule->faults |= reasons;
}

/* Sets the kind of an image whose kind is open to `expected`. Another kind is a fault, except
 * bitcode where the family accepts it. Returns whether there is no fault. */
static inline bool kdl_rule_kind(kdl_image_rule *rule, kdl_image_kind expected,
                                 bool takes_bitcode) {
  if (rule->kind == KDL_IMAGE_UNKNOWN || rule->kind == KDL_IMAGE_OBJECT)
    rule->kind = (uint8_t)expected;
  if (rule->kind == expected || (takes_bitcode && rule->kind == KDL_IMAGE_BITCODE))
    return true;
  kdl_rule_fault(rule, KDL_REASON(KIND_MISMATCH));
  return false;
}

/* One function per family: fills arch, needs, form and rank from the description, or records a
 * fault. `rule->kind` is already precise. */
typedef void kdl_family_image(const kdl_image_desc *desc, kdl_image_rule *rule);
kdl_family_image kdl_nvptx_image, kdl_amdgcn_image, kdl_spirv_image, kdl_intel_image, kdl_x86_image,
    kdl_aarch64_image, kdl_riscv_image;

/* One function per family: fills `arch` and adds the device's features to `has`. */
typedef bool kdl_family_device(const kdl_device_desc *desc, kdl_device_rule *rule,
                               kdl_feature_set *has, kdl_parse_error *out_error);
kdl_family_device kdl_nvptx_device, kdl_amdgcn_device, kdl_spirv_device, kdl_intel_device,
    kdl_x86_device, kdl_aarch64_device, kdl_riscv_device;

#endif
