/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * x86-64. An image may run where the CPU has, and the system enables, every feature the image was
 * built with. A level needs all its members: a CPU with AVX2 and without BMI is not level v3.
 * Sources: docs/targets.md, section x86-64.
 */
#include "lib/inspect/targets.h"

#include "lib/target/families/cpu.h"
#include "lib/target/requirements.h"

/* First and second word of a set. */
#define A(id) ((uint64_t)1 << KDL_X86_##id)
#define B(id) ((uint64_t)1 << (KDL_X86_##id - 64))

#define V1_A (A(CMOV) | A(CX8) | A(FPU) | A(FXSR) | A(MMX) | A(SCE) | A(SSE) | A(SSE2))
#define V2_A                                                                                       \
  (V1_A | A(CMPXCHG16B) | A(LAHF_SAHF) | A(POPCNT) | A(SSE3) | A(SSE4_1) | A(SSE4_2) | A(SSSE3))
#define V3_A                                                                                       \
  (V2_A | A(AVX) | A(AVX2) | A(BMI1) | A(BMI2) | A(F16C) | A(FMA) | A(LZCNT) | A(MOVBE) |          \
   A(OSXSAVE))
#define V3_B B(XSAVE) /* implied by OSXSAVE, the only one that the psABI lists */
#define V4_A (V3_A | A(AVX512F) | A(AVX512BW) | A(AVX512CD) | A(AVX512DQ) | A(AVX512VL))

/* CPUs: what clang and gcc may use with -march=NAME, without hints and instructions for operating
 * systems. Each is defined by what it adds to another. */
#define CORE2_A (V1_A | A(SSE3) | A(SSSE3) | A(CMPXCHG16B) | A(LAHF_SAHF))
#define SANDYBRIDGE_A (V2_A | A(AVX) | A(OSXSAVE))
#define SANDYBRIDGE_B (B(PCLMUL) | B(XSAVE) | B(XSAVEOPT))
#define IVYBRIDGE_A (SANDYBRIDGE_A | A(F16C))
#define IVYBRIDGE_B (SANDYBRIDGE_B | B(FSGSBASE) | B(RDRND))
#define BROADWELL_B (IVYBRIDGE_B | B(ADX) | B(PRFCHW) | B(RDSEED))
#define SKYLAKE_B (BROADWELL_B | B(AES) | B(CLFLUSHOPT) | B(XSAVEC))
#define SKX_B (SKYLAKE_B | B(CLWB))
#define CASCADELAKE_A (V4_A | A(AVX512_VNNI))
#define COOPERLAKE_A (CASCADELAKE_A | A(AVX512_BF16))
#define CANNONLAKE_A (V4_A | A(AVX512_VBMI) | A(AVX512_IFMA))
#define CANNONLAKE_B (SKYLAKE_B | B(SHA))
#define ICELAKE_A                                                                                  \
  (CANNONLAKE_A | A(AVX512_VPOPCNTDQ) | A(AVX512_VBMI2) | A(AVX512_VNNI) | A(AVX512_BITALG))
#define ICELAKE_B (CANNONLAKE_B | B(GFNI) | B(VPCLMULQDQ) | B(VAES) | B(RDPID))
#define ICX_B (ICELAKE_B | B(CLWB))
#define TIGERLAKE_A (ICELAKE_A | A(AVX512_VP2INTERSECT))
#define TIGERLAKE_B (ICX_B | B(MOVDIRI) | B(MOVDIR64B))
#define SPR_A                                                                                      \
  (ICELAKE_A | A(AVX512_BF16) | A(AVX512_FP16) | A(AVX_VNNI) | A(AMX_TILE) | A(AMX_INT8) |         \
   A(AMX_BF16))
#define SPR_B (TIGERLAKE_B | B(SERIALIZE) | B(WAITPKG))
#define GNR_A (SPR_A | A(AMX_FP16))
#define GNR_D_A (GNR_A | A(AMX_COMPLEX))
#define ALDERLAKE_A (V3_A | A(AVX_VNNI))
#define ALDERLAKE_B SPR_B
#define ARROWLAKE_A (ALDERLAKE_A | A(AVX_IFMA) | A(AVX_VNNI_INT8) | A(AVX_NE_CONVERT))
#define ARROWLAKE_B (ALDERLAKE_B | B(CMPCCXADD))
#define ARROWLAKE_S_A (ARROWLAKE_A | A(AVX_VNNI_INT16))
#define ARROWLAKE_S_B (ARROWLAKE_B | B(SM3) | B(SHA512) | B(SM4))
#define AVX10_A                                                                                    \
  (ICELAKE_A | A(AVX512_BF16) | A(AVX512_FP16) | A(AVX10_1) | A(AVX10_2) | ARROWLAKE_S_A)
#define AVX10_B (ARROWLAKE_S_B | B(MOVRS) | B(APX_F))
#define DMR_A (AVX10_A | GNR_D_A | A(AMX_AVX512) | A(AMX_TF32) | A(AMX_FP8))
#define SILVERMONT_A (V2_A | A(MOVBE))
#define SILVERMONT_B (B(PCLMUL) | B(PRFCHW) | B(RDRND))
#define GOLDMONT_A (SILVERMONT_A | A(OSXSAVE))
#define GOLDMONT_B                                                                                 \
  (SILVERMONT_B | B(AES) | B(CLFLUSHOPT) | B(FSGSBASE) | B(RDSEED) | B(SHA) | B(XSAVE) |           \
   B(XSAVEC) | B(XSAVEOPT))
#define TREMONT_B (GOLDMONT_B | B(RDPID) | B(GFNI) | B(CLWB))
#define KNL_A (V3_A | A(AVX512F) | A(AVX512CD))
#define KNL_B (BROADWELL_B | B(AES))
#define FAM10_A (V1_A | A(SSE3) | A(POPCNT) | A(CMPXCHG16B) | A(LAHF_SAHF) | A(LZCNT))
#define FAM10_B (B(SSE4A) | B(PRFCHW))
#define BTVER2_A (V2_A | A(LZCNT) | A(AVX) | A(OSXSAVE) | A(F16C) | A(BMI1) | A(MOVBE))
#define BTVER2_B (FAM10_B | B(AES) | B(PCLMUL) | B(XSAVE) | B(XSAVEOPT))
#define BDVER1_A (V2_A | A(LZCNT) | A(AVX) | A(OSXSAVE))
#define BDVER1_B (FAM10_B | B(FMA4) | B(XOP) | B(AES) | B(PCLMUL) | B(XSAVE))
#define BDVER2_A (BDVER1_A | A(FMA) | A(BMI1) | A(F16C))
#define BDVER2_B (BDVER1_B | B(TBM))
#define BDVER3_B (BDVER2_B | B(FSGSBASE) | B(XSAVEOPT))
#define BDVER4_B (BDVER3_B | B(RDRND))
#define ZNVER1_B                                                                                   \
  (FAM10_B | B(AES) | B(PCLMUL) | B(ADX) | B(CLFLUSHOPT) | B(FSGSBASE) | B(RDRND) | B(RDSEED) |    \
   B(SHA) | B(XSAVE) | B(XSAVEC) | B(XSAVEOPT))
#define ZNVER2_B (ZNVER1_B | B(CLWB) | B(RDPID))
#define ZNVER3_B (ZNVER2_B | B(VAES) | B(VPCLMULQDQ))
#define ZNVER4_A (ICELAKE_A | A(AVX512_BF16))
#define ZNVER4_B (ZNVER3_B | B(GFNI))
#define ZNVER5_A (ZNVER4_A | A(AVX512_VP2INTERSECT) | A(AVX_VNNI))
#define ZNVER5_B (ZNVER4_B | B(MOVDIRI) | B(MOVDIR64B))

static const kdl_cpu_base levels[] = {
    {"x86-64", {{V1_A, 0}}},       {"x86-64-v2", {{V2_A, 0}}}, {"x86-64-v3", {{V3_A, V3_B}}},
    {"x86-64-v4", {{V4_A, V3_B}}}, {"x86-64-v1", {{V1_A, 0}}}, {"generic", {{V1_A, 0}}},
    {"x86_64", {{V1_A, 0}}},       {"", {{V1_A, 0}}},
};

static const kdl_cpu_base cpus[] = {
    {"nocona", {{V1_A | A(SSE3) | A(CMPXCHG16B), 0}}},
    {"core2", {{CORE2_A, 0}}},
    {"penryn", {{CORE2_A | A(SSE4_1), 0}}},
    {"nehalem", {{V2_A, 0}}},
    {"corei7", {{V2_A, 0}}},
    {"westmere", {{V2_A, B(PCLMUL)}}},
    {"sandybridge", {{SANDYBRIDGE_A, SANDYBRIDGE_B}}},
    {"corei7-avx", {{SANDYBRIDGE_A, SANDYBRIDGE_B}}},
    {"ivybridge", {{IVYBRIDGE_A, IVYBRIDGE_B}}},
    {"core-avx-i", {{IVYBRIDGE_A, IVYBRIDGE_B}}},
    {"haswell", {{V3_A, IVYBRIDGE_B}}},
    {"core-avx2", {{V3_A, IVYBRIDGE_B}}},
    {"broadwell", {{V3_A, BROADWELL_B}}},
    {"skylake", {{V3_A, SKYLAKE_B}}},
    {"skylake-avx512", {{V4_A, SKX_B}}},
    {"skx", {{V4_A, SKX_B}}},
    {"cascadelake", {{CASCADELAKE_A, SKX_B}}},
    {"cooperlake", {{COOPERLAKE_A, SKX_B}}},
    {"cannonlake", {{CANNONLAKE_A, CANNONLAKE_B}}},
    {"icelake-client", {{ICELAKE_A, ICELAKE_B}}},
    {"rocketlake", {{ICELAKE_A, ICELAKE_B}}},
    {"icelake-server", {{ICELAKE_A, ICX_B}}},
    {"tigerlake", {{TIGERLAKE_A, TIGERLAKE_B}}},
    {"sapphirerapids", {{SPR_A, SPR_B}}},
    {"emeraldrapids", {{SPR_A, SPR_B}}},
    {"graniterapids", {{GNR_A, SPR_B}}},
    {"graniterapids-d", {{GNR_D_A, SPR_B}}},
    {"diamondrapids", {{DMR_A, AVX10_B}}},
    {"alderlake", {{ALDERLAKE_A, ALDERLAKE_B}}},
    {"raptorlake", {{ALDERLAKE_A, ALDERLAKE_B}}},
    {"meteorlake", {{ALDERLAKE_A, ALDERLAKE_B}}},
    {"gracemont", {{ALDERLAKE_A, ALDERLAKE_B}}},
    {"sierraforest", {{ARROWLAKE_A, ARROWLAKE_B}}},
    {"grandridge", {{ARROWLAKE_A, ARROWLAKE_B}}},
    {"arrowlake", {{ARROWLAKE_A, ARROWLAKE_B}}},
    {"arrowlake-s", {{ARROWLAKE_S_A, ARROWLAKE_S_B}}},
    {"lunarlake", {{ARROWLAKE_S_A, ARROWLAKE_S_B}}},
    {"pantherlake", {{ARROWLAKE_S_A, ARROWLAKE_S_B}}},
    {"wildcatlake", {{ARROWLAKE_S_A, ARROWLAKE_S_B}}},
    {"clearwaterforest", {{ARROWLAKE_S_A, ARROWLAKE_S_B}}},
    {"novalake", {{AVX10_A, AVX10_B}}},
    {"bonnell", {{CORE2_A | A(MOVBE), 0}}},
    {"atom", {{CORE2_A | A(MOVBE), 0}}},
    {"silvermont", {{SILVERMONT_A, SILVERMONT_B}}},
    {"slm", {{SILVERMONT_A, SILVERMONT_B}}},
    {"goldmont", {{GOLDMONT_A, GOLDMONT_B}}},
    {"goldmont-plus", {{GOLDMONT_A, GOLDMONT_B | B(RDPID)}}},
    {"tremont", {{GOLDMONT_A, TREMONT_B}}},
    {"knl", {{KNL_A, KNL_B}}},
    {"knm", {{KNL_A | A(AVX512_VPOPCNTDQ), KNL_B}}},
    {"k8", {{V1_A, B(PRFCHW)}}},
    {"opteron", {{V1_A, B(PRFCHW)}}},
    {"athlon64", {{V1_A, B(PRFCHW)}}},
    {"k8-sse3", {{V1_A | A(SSE3), B(PRFCHW)}}},
    {"amdfam10", {{FAM10_A, FAM10_B}}},
    {"barcelona", {{FAM10_A, FAM10_B}}},
    {"btver1", {{FAM10_A | A(SSSE3), FAM10_B}}},
    {"btver2", {{BTVER2_A, BTVER2_B}}},
    {"bdver1", {{BDVER1_A, BDVER1_B}}},
    {"bdver2", {{BDVER2_A, BDVER2_B}}},
    {"bdver3", {{BDVER2_A, BDVER3_B}}},
    {"bdver4", {{V3_A, BDVER4_B}}},
    {"znver1", {{V3_A, ZNVER1_B}}},
    {"znver2", {{V3_A, ZNVER2_B}}},
    {"znver3", {{V3_A, ZNVER3_B}}},
    {"znver4", {{ZNVER4_A, ZNVER4_B}}},
    {"znver5", {{ZNVER5_A, ZNVER5_B}}},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const kdl_cpu_base *find_cpu_base(const kdl_cpu_base *rows, size_t count, kdl_string name) {
  for (size_t i = 0; i < count; ++i) {
    if (kdl_text_is(name, rows[i].name))
      return &rows[i];
  }
  return NULL;
}

const char *kdl_x86_cpu_at(size_t index) {
  return index < COUNT(cpus) ? cpus[index].name : NULL;
}

bool kdl_x86_parse(kdl_string text, kdl_feature_set *out_set, kdl_parse_error *out_error) {
  size_t end = kdl_text_find(text, 0, "+");
  kdl_string base = {text.data, end};
  const kdl_cpu_base *row = find_cpu_base(levels, COUNT(levels), base);
  if (!row)
    row = find_cpu_base(cpus, COUNT(cpus), base);
  if (!row)
    return kdl_parse_fail(out_error, 0, "x86-64, x86-64-v2 to x86-64-v4 or a CPU, then +features");
  kdl_feature_set set = row->set;
  if (end < text.length) {
    kdl_feature_set more;
    kdl_string list = kdl_text_substr(text, end + 1);
    if (!kdl_feature_parse(KDL_CLASS_X86, list, &more, out_error) || !list.length) {
      size_t within = list.length && out_error ? out_error->position : 0;
      return kdl_parse_fail(out_error, end + 1 + within, "an x86-64 feature, as in +avx512_bf16");
    }
    kdl_feature_join(&set, more);
    kdl_feature_close(KDL_CLASS_X86, &set);
  }
  *out_set = set;
  return true;
}

kdl_feature_set kdl_x86_level_set(unsigned level) {
  return level >= 1 && level <= 4 ? levels[level - 1].set : (kdl_feature_set){{0, 0}};
}

unsigned kdl_x86_level(kdl_feature_set set) {
  unsigned level = 0;
  while (level < 4 && !(levels[level].set.word[0] & ~set.word[0]) &&
         !(levels[level].set.word[1] & ~set.word[1]))
    ++level;
  return level;
}

void kdl_out_x86(kdl_out *out, kdl_feature_set set) {
  unsigned level = kdl_x86_level(set);
  kdl_out_format(out, level > 1 ? "x86-64-v%u" : "x86-64", level);
  kdl_feature_set more = kdl_feature_tokens(KDL_CLASS_X86, set);
  kdl_feature_set named = kdl_x86_level_set(level ? level : 1);
  more.word[0] &= ~named.word[0];
  more.word[1] &= ~named.word[1];
  if (kdl_feature_any(more)) {
    kdl_out_format(out, "+");
    kdl_out_features(out, KDL_CLASS_X86, more);
  }
}

bool kdl_x86_needs_amx(kdl_feature_set set) {
  return kdl_feature_has(set, KDL_X86_AMX_TILE);
}

void kdl_x86_image(const kdl_image_desc *desc, kdl_image_rule *rule) {
  kdl_cpu_image(desc, KDL_FAMILY_X86_64, kdl_x86_parse, rule);
}

bool kdl_x86_device(const kdl_device_desc *desc, kdl_device_rule *rule, kdl_feature_set *has,
                    kdl_parse_error *out_error) {
  return kdl_cpu_device(desc, KDL_FAMILY_X86_64, kdl_x86_parse, rule, has, out_error);
}
