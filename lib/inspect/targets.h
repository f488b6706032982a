/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Targets by name: families of devices, features, and architectures of CPUs and GPUs.
 *
 * A feature set has at most 128 bits, whose meaning depends on the class of its owner: a bit means
 * one thing on a GPU and another on an x86-64 CPU, and sets of different classes are never
 * compared. The tokens are data: gpu_features.def, x86_features.def, aarch64_features.def and
 * riscv_features.def in lib/target/features.
 *
 * Bits 0 to 63 are tokens. In the second word, bits 0 to 47 are tokens on CPUs, and requirements of
 * the family's rules on GPUs (lib/target/requirements.h); bits 48 to 63 are requirements on both.
 */
#ifndef KDL_LIB_INSPECT_TARGETS_H
#define KDL_LIB_INSPECT_TARGETS_H

#include "support/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------ */
/* Features                                                                                     */

struct kdl_device_spec;

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

static inline void kdl_feature_join(kdl_feature_set *set, kdl_feature_set other) {
  set->word[0] |= other.word[0];
  set->word[1] |= other.word[1];
}

/* The bit of a token, or -1. Ignores the separators '-', '_' and '.', so that LLVM's "avx512bf16"
 * and "amx-tile" and Linux's "avx512_bf16" are found. Some tokens have aliases: "bf16" on x86-64 is
 * avx512_bf16. */
int kdl_feature_bit(kdl_feature_class which, kdl_string name);

/* The name of a token; NULL for another bit. */
const char *kdl_feature_name(kdl_feature_class which, unsigned bit);

/* Parses tokens joined by '+', or by ',' as other tools write them; "" is the empty set. An alias
 * may be several tokens: LLVM's "fp8-insts" is fp8+mfma_amd. On failure `out_error` is at the
 * unknown token. Does not add implied tokens. */
bool kdl_feature_parse(kdl_feature_class which, kdl_string list, kdl_feature_set *out_set,
                       kdl_parse_error *out_error);

/* "avx2+fma", in bit order, the tokens alone; nothing for the empty set. */
void kdl_out_features(kdl_out *out, kdl_feature_class which, kdl_feature_set set);

/* ------------------------------------------------------------------------------------------ */
/* Families                                                                                     */

/* The family of devices that an image is for. SPIR-V images run on SPIRV and INTEL, which are
 * therefore neighbours: the family is the highest byte of an architecture, and a range may span
 * two. */
typedef enum kdl_target_family {
  KDL_FAMILY_NONE = 0,
  KDL_FAMILY_NVPTX,
  KDL_FAMILY_AMDGCN,
  KDL_FAMILY_SPIRV, /* a driver that takes SPIR-V, on any hardware */
  KDL_FAMILY_INTEL, /* a driver that also takes zebins */
  KDL_FAMILY_X86_64,
  KDL_FAMILY_AARCH64,
  KDL_FAMILY_RISCV,
  KDL_FAMILY_PORTABLE, /* of images alone: bitcode for every device that kdl-ld makes images for */
  KDL_FAMILY_COUNT,
} kdl_target_family;

/* Metadata of a portable image: its triple, and the key with the version of its form. */
#define KDL_PORTABLE_TRIPLE "portable"
#define KDL_PORTABLE_KEY "kdl.portable"
#define KDL_PORTABLE_VERSION "1"
/* Tokens of GPUs that it needs, joined by '+'. */
#define KDL_NEEDS_KEY "kdl.needs"

typedef struct kdl_family_row {
  const char *name; /* "NVIDIA GPU", "x86-64 CPU" */
  kdl_feature_class features;
} kdl_family_row;

extern const kdl_family_row kdl_families[KDL_FAMILY_COUNT];

/* The family of a triple; KDL_FAMILY_NONE for unsupported ones. */
kdl_target_family kdl_family_of_triple(kdl_string triple);

/* The family of a device; KDL_FAMILY_NONE where its arch has none. */
kdl_target_family kdl_device_spec_family(const struct kdl_device_spec *spec);

/* The names of a family's architectures; NULL after the last, and for families without a list.
 * AMD's processors, generic ones last; Intel's acronyms, one per IP version; architectures and CPUs
 * of AArch64. */
const char *kdl_arch_at(kdl_target_family family, size_t index);

/* Version numbers of drivers and languages, for comparing. 0 = not known. */
#define KDL_VERSION_OF(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor))

/* ------------------------------------------------------------------------------------------ */
/* CPUs                                                                                         */

/*
 * The arch of a CPU, a base and features that it has beyond:
 *
 *     x86-64   base(+feature)*: a level, a CPU, or "generic" (level v1, as ""): x86-64-v3+avx_vnni,
 *              znver4
 *     AArch64  base(+feature)*, as in -march and -mcpu: armv8.2-a+sve, neoverse-v1. "aarch64",
 *              "generic" and "" are armv8-a
 *     RISC-V   "rv64gc" or "rv64gcv" and extensions as in -march, or a profile, then (+feature)*:
 *              rv64gcv_zba_zbb, rva22u64+rvv. "riscv64", "generic" and "" are rv64gc
 *
 * The set has the features of such a CPU, which code built for it may use; on RISC-V those beyond
 * rv64gc.
 */
bool kdl_cpu_parse(kdl_feature_class which, kdl_string text, kdl_feature_set *out_set,
                   kdl_parse_error *out_error);

/* "x86-64-v3+avx_vnni", "armv8-a+lse+dotprod", "rv64gcv_zba_zbb": the base and further features. */
void kdl_out_cpu(kdl_out *out, kdl_feature_class which, kdl_feature_set set);

/* ------------------------------------------------------------------------------------------ */
/* AMD's processors and target IDs: processor(:feature(+|-))*, as gfx90a:sramecc+:xnack-        */

enum { KDL_AMDGCN_NO_GENERIC = 0xff };

typedef struct kdl_amdgcn_processor {
  const char *name;
  uint16_t version; /* gfx90a is 0x90a, gfx1100 is 0xb00; 0 for generic processors */
  uint8_t mach;     /* EF_AMDGPU_MACH in e_flags */
  bool has_xnack;
  bool has_sramecc;
  char line[5];       /* "gcn", "cdna", "rdna": min_gfx compares within one line; "" for none */
  uint8_t generation; /* 2 for cdna2; 0 where the line has none */
  uint8_t generic;    /* index of the generic processor that it belongs to, or is */
  uint8_t generic_version; /* the first version of it that covers this processor */
  uint8_t simd;            /* of kdl_amdgcn_simd_of */
  uint64_t tokens;
} kdl_amdgcn_processor;

typedef enum kdl_amdgcn_setting {
  KDL_AMDGCN_ANY = 0, /* unspecified: the image works with both settings */
  KDL_AMDGCN_OFF,
  KDL_AMDGCN_ON,
} kdl_amdgcn_setting;

typedef struct kdl_amdgcn_id {
  const kdl_amdgcn_processor *processor;
  kdl_amdgcn_setting sramecc;
  kdl_amdgcn_setting xnack;
} kdl_amdgcn_id;

/* Features may be in any order, each once, and only those of the processor. Also accepts an HSA
 * name ("amdgcn-amd-amdhsa--gfx90a:xnack+"). */
bool kdl_amdgcn_parse(kdl_string text, kdl_amdgcn_id *out_id, kdl_parse_error *out_error);

/* The canonical form: features in alphabetical order. */
void kdl_out_amdgcn(kdl_out *out, const kdl_amdgcn_id *id);

/* ------------------------------------------------------------------------------------------ */
/* NVIDIA's architectures and PTX versions                                                      */

typedef enum kdl_nvptx_part {
  KDL_NVPTX_DESKTOP,
  KDL_NVPTX_ARM,   /* a desktop part on a board with an Arm CPU */
  KDL_NVPTX_TEGRA, /* runs only cubins that were built for it */
} kdl_nvptx_part;

/* A row of lib/inspect/nvptx.def, which has the meaning of each. */
typedef struct kdl_nvptx_processor {
  uint16_t number; /* 90 for sm_90 */
  uint16_t shared; /* KiB of a multiprocessor, as all limits */
  uint8_t ptx, ptx_a, ptx_f, tile_ir;
  uint8_t part;
  uint8_t warps, groups, partitions; /* 0: not known */
  uint16_t group;                    /* KiB that a group may ask for */
} kdl_nvptx_processor;

enum {
  KDL_NVPTX_COUNT = 0
#define KDL_NVPTX(...) +1
#include "lib/inspect/nvptx.def"
};

/* In order. Renamed ones have their current number only. */
extern const kdl_nvptx_processor kdl_nvptx_processors[KDL_NVPTX_COUNT];

typedef struct kdl_nvptx_arch {
  uint16_t number; /* as written: 90 for sm_90a */
  uint8_t major;   /* the compute capability: sm_101 is 11.0, see the table of renamed parts */
  uint8_t minor;
  char suffix;     /* 'a', 'f' or 0 */
  bool is_virtual; /* compute_90 */
  uint8_t part;    /* kdl_nvptx_part */
} kdl_nvptx_arch;

bool kdl_nvptx_parse(kdl_string text, kdl_nvptx_arch *out_arch, kdl_parse_error *out_error);

/* The first PTX ISA version that supports the target; 0 where it is unknown. Versions are
 * KDL_VERSION_OF. */
uint32_t kdl_nvptx_first_ptx(const kdl_nvptx_arch *arch);

/* ------------------------------------------------------------------------------------------ */
/* Intel's IP versions: architecture.release.revision, as 12.60.7, and ocloc's acronyms         */

/* "12.60.7 (pvc)", of "12.60.7", "pvc", "intel_gpu_pvc" or "0x030f0007"; false for other names. */
bool kdl_out_intel(kdl_out *out, kdl_string arch);

#endif
