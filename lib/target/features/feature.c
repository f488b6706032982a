/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/target/features/feature.h"

typedef struct {
  const char *name;
  const char *meaning;
  uint8_t bit;
} token;

typedef struct {
  uint8_t bit;
  kdl_feature_set implied;
} implication;

static const token gpu_tokens[] = {
#define KDL_GPU_FEATURE(id, name, meaning) {name, meaning, KDL_GPU_##id},
#include "lib/target/features/gpu_features.def"
#undef KDL_GPU_FEATURE
};

static const token x86_tokens[] = {
#define KDL_X86_FEATURE(id, name, leaf, subleaf, reg, bit, xcr0) {name, "", KDL_X86_##id},
#define KDL_X86_SECOND_BLOCK
#include "lib/target/features/x86_features.def"
#undef KDL_X86_FEATURE
#undef KDL_X86_SECOND_BLOCK
};

static const token aarch64_tokens[] = {
#define KDL_AARCH64_FEATURE(id, name, hwcap, bit) {name, "", KDL_AARCH64_##id},
#define KDL_AARCH64_SECOND_BLOCK
#include "lib/target/features/aarch64_features.def"
#undef KDL_AARCH64_FEATURE
#undef KDL_AARCH64_SECOND_BLOCK
};

static const token riscv_tokens[] = {
#define KDL_RISCV_FEATURE(id, name, bit) {name, "", KDL_RISCV_##id},
#include "lib/target/features/riscv_features.def"
#undef KDL_RISCV_FEATURE
};

/* Aliases: names of compilers and kernels, and tokens of GPUs with a counterpart on this CPU.
 * "int8_dot" has none on x86-64: AVX-VNNI and AVX512-VNNI would both do, and an image is built for
 * one of them. */
static const token x86_aliases[] = {
    {"cx16", "", KDL_X86_CMPXCHG16B},  {"sahf", "", KDL_X86_LAHF_SAHF},
    {"x87", "", KDL_X86_FPU},          {"abm", "", KDL_X86_LZCNT},
    {"bmi", "", KDL_X86_BMI1},         {"pclmulqdq", "", KDL_X86_PCLMUL},
    {"rdrand", "", KDL_X86_RDRND},     {"sha_ni", "", KDL_X86_SHA},
    {"apxf", "", KDL_X86_APX_F},       {"crc32", "", KDL_X86_SSE4_2},
    {"bf16", "", KDL_X86_AVX512_BF16}, {"fp16", "", KDL_X86_AVX512_FP16},
    {"fp64", "", KDL_X86_SSE2},        {"int64", "", KDL_X86_SSE2},
};

static const token aarch64_aliases[] = {
    {"rand", "", KDL_AARCH64_RNG},         {"altnzcv", "", KDL_AARCH64_FLAGM2},
    {"rdma", "", KDL_AARCH64_RDM},         {"pmull", "", KDL_AARCH64_AES},
    {"ccpp", "", KDL_AARCH64_DPB},         {"ccdp", "", KDL_AARCH64_DPB2},
    {"complxnum", "", KDL_AARCH64_FCMA},   {"rcpc_immo", "", KDL_AARCH64_RCPC2},
    {"fptoint", "", KDL_AARCH64_FRINTTS},  {"sve_f32mm", "", KDL_AARCH64_F32MM},
    {"sve_f64mm", "", KDL_AARCH64_F64MM},  {"mte", "", KDL_AARCH64_MEMTAG},
    {"int8_dot", "", KDL_AARCH64_DOTPROD}, {"fp64", "", KDL_AARCH64_FP},
    {"int64", "", KDL_AARCH64_FP},
};

/* One pass from the highest bit to the lowest computes the closure: the tokens that a row implies
 * are below it. */
#define LOW(id) ((uint64_t)1 << (id))
#define HIGH(id) ((uint64_t)1 << ((id) - 64))
#define NO_HIGH 0

static const implication x86_implied[] = {
    {KDL_X86_TBM, {{LOW(KDL_X86_BMI1), NO_HIGH}}},
    {KDL_X86_XOP, {{LOW(KDL_X86_AVX), HIGH(KDL_X86_FMA4)}}},
    {KDL_X86_FMA4, {{LOW(KDL_X86_AVX), HIGH(KDL_X86_SSE4A)}}},
    {KDL_X86_SSE4A, {{LOW(KDL_X86_SSE3), NO_HIGH}}},
    {KDL_X86_XSAVEOPT, {{0, HIGH(KDL_X86_XSAVE)}}},
    {KDL_X86_XSAVEC, {{0, HIGH(KDL_X86_XSAVE)}}},
    {KDL_X86_SM4, {{LOW(KDL_X86_AVX2), NO_HIGH}}},
    {KDL_X86_SM3, {{LOW(KDL_X86_AVX), NO_HIGH}}},
    {KDL_X86_SHA512, {{LOW(KDL_X86_AVX2), NO_HIGH}}},
    {KDL_X86_VPCLMULQDQ, {{LOW(KDL_X86_AVX), HIGH(KDL_X86_PCLMUL)}}},
    {KDL_X86_VAES, {{LOW(KDL_X86_AVX2), HIGH(KDL_X86_AES)}}},
    {KDL_X86_AMX_AVX512, {{LOW(KDL_X86_AMX_TILE) | LOW(KDL_X86_AVX10_2), NO_HIGH}}},
    {KDL_X86_AMX_TF32, {{LOW(KDL_X86_AMX_TILE), NO_HIGH}}},
    {KDL_X86_AMX_FP8, {{LOW(KDL_X86_AMX_TILE), NO_HIGH}}},
    {KDL_X86_AMX_COMPLEX, {{LOW(KDL_X86_AMX_TILE), NO_HIGH}}},
    {KDL_X86_AMX_FP16, {{LOW(KDL_X86_AMX_TILE), NO_HIGH}}},
    {KDL_X86_AMX_BF16, {{LOW(KDL_X86_AMX_TILE), NO_HIGH}}},
    {KDL_X86_AMX_INT8, {{LOW(KDL_X86_AMX_TILE), NO_HIGH}}},
    {KDL_X86_AVX10_2, {{LOW(KDL_X86_AVX10_1), NO_HIGH}}},
    {KDL_X86_AVX10_1,
     {{LOW(KDL_X86_AVX512_FP16) | LOW(KDL_X86_AVX512_BF16) | LOW(KDL_X86_AVX512_BITALG) |
           LOW(KDL_X86_AVX512_VNNI) | LOW(KDL_X86_AVX512_VBMI2) | LOW(KDL_X86_AVX512_VPOPCNTDQ) |
           LOW(KDL_X86_AVX512_IFMA) | LOW(KDL_X86_AVX512_VBMI) | LOW(KDL_X86_AVX512CD) |
           LOW(KDL_X86_AVX512DQ) | LOW(KDL_X86_AVX512BW) | LOW(KDL_X86_AVX512VL),
       NO_HIGH}}},
    {KDL_X86_AVX512_FP16, {{LOW(KDL_X86_AVX512BW), NO_HIGH}}},
    {KDL_X86_AVX512_VP2INTERSECT, {{LOW(KDL_X86_AVX512F), NO_HIGH}}},
    {KDL_X86_AVX512_BF16, {{LOW(KDL_X86_AVX512BW), NO_HIGH}}},
    {KDL_X86_AVX512_BITALG, {{LOW(KDL_X86_AVX512BW), NO_HIGH}}},
    {KDL_X86_AVX512_VNNI, {{LOW(KDL_X86_AVX512F), NO_HIGH}}},
    {KDL_X86_AVX512_VBMI2, {{LOW(KDL_X86_AVX512BW), NO_HIGH}}},
    {KDL_X86_AVX512_VPOPCNTDQ, {{LOW(KDL_X86_AVX512F), NO_HIGH}}},
    {KDL_X86_AVX512_IFMA, {{LOW(KDL_X86_AVX512F), NO_HIGH}}},
    {KDL_X86_AVX512_VBMI, {{LOW(KDL_X86_AVX512BW), NO_HIGH}}},
    {KDL_X86_AVX512CD, {{LOW(KDL_X86_AVX512F), NO_HIGH}}},
    {KDL_X86_AVX512DQ, {{LOW(KDL_X86_AVX512F), NO_HIGH}}},
    {KDL_X86_AVX512BW, {{LOW(KDL_X86_AVX512F), NO_HIGH}}},
    {KDL_X86_AVX512VL, {{LOW(KDL_X86_AVX512F), NO_HIGH}}},
    {KDL_X86_AVX512F, {{LOW(KDL_X86_AVX2) | LOW(KDL_X86_FMA) | LOW(KDL_X86_F16C), NO_HIGH}}},
    {KDL_X86_AVX_VNNI_INT16, {{LOW(KDL_X86_AVX2), NO_HIGH}}},
    {KDL_X86_AVX_VNNI_INT8, {{LOW(KDL_X86_AVX2), NO_HIGH}}},
    {KDL_X86_AVX_NE_CONVERT, {{LOW(KDL_X86_AVX2), NO_HIGH}}},
    {KDL_X86_AVX_IFMA, {{LOW(KDL_X86_AVX2), NO_HIGH}}},
    {KDL_X86_AVX_VNNI, {{LOW(KDL_X86_AVX2), NO_HIGH}}},
    {KDL_X86_AVX2, {{LOW(KDL_X86_AVX), NO_HIGH}}},
    {KDL_X86_FMA, {{LOW(KDL_X86_AVX), NO_HIGH}}},
    {KDL_X86_F16C, {{LOW(KDL_X86_AVX), NO_HIGH}}},
    {KDL_X86_AVX, {{LOW(KDL_X86_SSE4_2) | LOW(KDL_X86_OSXSAVE), NO_HIGH}}},
    {KDL_X86_SSE4_2, {{LOW(KDL_X86_SSE4_1), NO_HIGH}}},
    {KDL_X86_SSE4_1, {{LOW(KDL_X86_SSSE3), NO_HIGH}}},
    {KDL_X86_SSSE3, {{LOW(KDL_X86_SSE3), NO_HIGH}}},
    {KDL_X86_SSE3, {{LOW(KDL_X86_SSE2), NO_HIGH}}},
    {KDL_X86_OSXSAVE, {{0, HIGH(KDL_X86_XSAVE)}}}, /* Intel SDM, volume 1, 13.2 */
};

static const implication aarch64_implied[] = {
    {KDL_AARCH64_SVE_VL_2048, {{0, HIGH(KDL_AARCH64_SVE_VL_1024)}}},
    {KDL_AARCH64_SVE_VL_1024, {{0, HIGH(KDL_AARCH64_SVE_VL_512)}}},
    {KDL_AARCH64_SVE_VL_512, {{0, HIGH(KDL_AARCH64_SVE_VL_256)}}},
    {KDL_AARCH64_SVE_VL_256, {{LOW(KDL_AARCH64_SVE), NO_HIGH}}},
    {KDL_AARCH64_SME2P1, {{LOW(KDL_AARCH64_SME2), NO_HIGH}}},
    {KDL_AARCH64_SVE2P1, {{LOW(KDL_AARCH64_SVE2), NO_HIGH}}},
    {KDL_AARCH64_LSE128, {{LOW(KDL_AARCH64_LSE), NO_HIGH}}},
    {KDL_AARCH64_SME2, {{LOW(KDL_AARCH64_SME), NO_HIGH}}},
    {KDL_AARCH64_SME_I16I64, {{LOW(KDL_AARCH64_SME), NO_HIGH}}},
    {KDL_AARCH64_SME_F64F64, {{LOW(KDL_AARCH64_SME), NO_HIGH}}},
    {KDL_AARCH64_SME, {{LOW(KDL_AARCH64_BF16) | LOW(KDL_AARCH64_FP16), NO_HIGH}}},
    {KDL_AARCH64_SVE2_SM4, {{LOW(KDL_AARCH64_SVE2) | LOW(KDL_AARCH64_SM4), NO_HIGH}}},
    {KDL_AARCH64_SVE2_SHA3, {{LOW(KDL_AARCH64_SVE2) | LOW(KDL_AARCH64_SHA3), NO_HIGH}}},
    {KDL_AARCH64_SVE2_BITPERM, {{LOW(KDL_AARCH64_SVE2), NO_HIGH}}},
    {KDL_AARCH64_SVE2_AES, {{LOW(KDL_AARCH64_SVE2) | LOW(KDL_AARCH64_AES), NO_HIGH}}},
    {KDL_AARCH64_SVE2, {{LOW(KDL_AARCH64_SVE), NO_HIGH}}},
    {KDL_AARCH64_F64MM, {{LOW(KDL_AARCH64_SVE), NO_HIGH}}},
    {KDL_AARCH64_F32MM, {{LOW(KDL_AARCH64_SVE), NO_HIGH}}},
    {KDL_AARCH64_SVE, {{LOW(KDL_AARCH64_FP16), NO_HIGH}}},
    {KDL_AARCH64_BF16, {{LOW(KDL_AARCH64_SIMD), NO_HIGH}}},
    {KDL_AARCH64_I8MM, {{LOW(KDL_AARCH64_SIMD), NO_HIGH}}},
    {KDL_AARCH64_FRINTTS, {{LOW(KDL_AARCH64_FP), NO_HIGH}}},
    {KDL_AARCH64_RCPC3, {{LOW(KDL_AARCH64_RCPC2), NO_HIGH}}},
    {KDL_AARCH64_RCPC2, {{LOW(KDL_AARCH64_RCPC), NO_HIGH}}},
    {KDL_AARCH64_FCMA, {{LOW(KDL_AARCH64_SIMD), NO_HIGH}}},
    {KDL_AARCH64_JSCVT, {{LOW(KDL_AARCH64_FP), NO_HIGH}}},
    {KDL_AARCH64_DPB2, {{LOW(KDL_AARCH64_DPB), NO_HIGH}}},
    {KDL_AARCH64_FP16FML, {{LOW(KDL_AARCH64_FP16) | LOW(KDL_AARCH64_SIMD), NO_HIGH}}},
    {KDL_AARCH64_FP16, {{LOW(KDL_AARCH64_FP), NO_HIGH}}},
    {KDL_AARCH64_AES, {{LOW(KDL_AARCH64_SIMD), NO_HIGH}}},
    {KDL_AARCH64_SHA3, {{LOW(KDL_AARCH64_SHA2), NO_HIGH}}},
    {KDL_AARCH64_SHA2, {{LOW(KDL_AARCH64_SIMD), NO_HIGH}}},
    {KDL_AARCH64_RDM, {{LOW(KDL_AARCH64_SIMD), NO_HIGH}}},
    {KDL_AARCH64_SM4, {{LOW(KDL_AARCH64_SIMD), NO_HIGH}}},
    {KDL_AARCH64_DOTPROD, {{LOW(KDL_AARCH64_SIMD), NO_HIGH}}},
    {KDL_AARCH64_SIMD, {{LOW(KDL_AARCH64_FP), NO_HIGH}}},
    {KDL_AARCH64_FLAGM2, {{LOW(KDL_AARCH64_FLAGM), NO_HIGH}}},
};

static const token riscv_aliases[] = {
    {"v", "", KDL_RISCV_V},
    {"fp16", "", KDL_RISCV_ZFH},
};

/* LLVM's names of GPUs' features, by the tokens that the same devices have. One of the tokens is a
 * vendor's own, so that no device of another vendor has them all. A row is never changed or
 * removed: where LLVM renames, splits or removes a feature, files keep what its name meant here. */
static const struct {
  const char *name;
  uint64_t tokens;
} llvm_names[] = {
    {"mai-insts", LOW(KDL_GPU_MFMA_AMD)},
    {"fp8-insts", LOW(KDL_GPU_FP8) | LOW(KDL_GPU_MFMA_AMD)},
    {"xf32-insts", LOW(KDL_GPU_TF32) | LOW(KDL_GPU_MFMA_AMD)},
    {"gfx940-insts", LOW(KDL_GPU_FP8) | LOW(KDL_GPU_MFMA_AMD)},
    {"gfx950-insts", LOW(KDL_GPU_FP4) | LOW(KDL_GPU_MFMA_AMD)},
    {"sm_70", LOW(KDL_GPU_TENSOR_CORE_NV)},
    {"sm_80", LOW(KDL_GPU_ASYNC_COPY_NV)},
    {"sm_89", LOW(KDL_GPU_FP8) | LOW(KDL_GPU_TENSOR_CORE_NV)},
    {"sm_90", LOW(KDL_GPU_TMA_NV)},
    {"sm_90a", LOW(KDL_GPU_WGMMA_NV)},
    {"sm_100", LOW(KDL_GPU_FP4) | LOW(KDL_GPU_TENSOR_CORE_NV)},
};

static const implication riscv_implied[] = {
    {KDL_RISCV_ZVFH, {{LOW(KDL_RISCV_ZVFHMIN) | LOW(KDL_RISCV_ZFHMIN), NO_HIGH}}},
    {KDL_RISCV_ZVFHMIN, {{LOW(KDL_RISCV_V), NO_HIGH}}},
    {KDL_RISCV_ZVBB, {{LOW(KDL_RISCV_V), NO_HIGH}}},
    {KDL_RISCV_ZFH, {{LOW(KDL_RISCV_ZFHMIN), NO_HIGH}}},
};

#define TABLE(array) array, sizeof array / sizeof *array

static const struct {
  const token *tokens;
  size_t token_count;
  const token *aliases;
  size_t alias_count;
  const implication *implied;
  size_t implied_count;
  uint64_t second_word; /* mask of its bits that are tokens */
} classes[KDL_CLASS_COUNT] = {
    [KDL_CLASS_GPU] = {TABLE(gpu_tokens), NULL, 0, NULL, 0, 0},
    [KDL_CLASS_X86] = {TABLE(x86_tokens), TABLE(x86_aliases), TABLE(x86_implied),
                       ((uint64_t)1 << 48) - 1},
    [KDL_CLASS_AARCH64] = {TABLE(aarch64_tokens), TABLE(aarch64_aliases), TABLE(aarch64_implied),
                           ((uint64_t)1 << 48) - 1},
    [KDL_CLASS_RISCV] = {TABLE(riscv_tokens), TABLE(riscv_aliases), TABLE(riscv_implied),
                         ((uint64_t)1 << 48) - 1},
};

kdl_feature_set kdl_feature_tokens(kdl_feature_class which, kdl_feature_set set) {
  set.word[1] &= classes[which].second_word;
  return set;
}

static bool is_separator(char c) {
  return c == '-' || c == '_' || c == '.';
}

static bool same_name(const char *name, kdl_string text) {
  size_t i = 0;
  for (; *name; ++name) {
    if (is_separator(*name))
      continue;
    while (i < text.length && is_separator(text.data[i]))
      ++i;
    if (i == text.length || text.data[i] != *name)
      return false;
    ++i;
  }
  return i == text.length;
}

static int find_token(const token *rows, size_t count, kdl_string name) {
  for (size_t i = 0; i < count; ++i) {
    if (rows[i].name[0] == name.data[0] && same_name(rows[i].name, name))
      return rows[i].bit;
  }
  return -1;
}

int kdl_feature_bit(kdl_feature_class which, kdl_string name) {
  if (name.length == 0)
    return -1;
  int bit = find_token(classes[which].tokens, classes[which].token_count, name);
  return bit >= 0 ? bit : find_token(classes[which].aliases, classes[which].alias_count, name);
}

bool kdl_feature_find(kdl_feature_class which, kdl_string name, kdl_feature_set *out_set) {
  int bit = kdl_feature_bit(which, name);
  *out_set = (kdl_feature_set){{0, 0}};
  if (bit >= 0) {
    kdl_feature_add(out_set, (unsigned)bit);
    return true;
  }
  for (size_t i = 0; which == KDL_CLASS_GPU && i < sizeof llvm_names / sizeof *llvm_names; ++i) {
    if (same_name(llvm_names[i].name, name)) {
      out_set->word[0] = llvm_names[i].tokens;
      return true;
    }
  }
  return false;
}

bool kdl_feature_is_known(kdl_string name) {
  kdl_feature_set set;
  for (int which = 0; which < KDL_CLASS_COUNT; ++which) {
    if (kdl_feature_find((kdl_feature_class)which, name, &set))
      return true;
  }
  return false;
}

static const token *token_row(kdl_feature_class which, unsigned bit) {
  for (size_t i = 0; i < classes[which].token_count; ++i) {
    if (classes[which].tokens[i].bit == bit)
      return &classes[which].tokens[i];
  }
  return NULL;
}

const char *kdl_feature_name(kdl_feature_class which, unsigned bit) {
  const token *row = token_row(which, bit);
  return row ? row->name : NULL;
}

const char *kdl_feature_meaning(kdl_feature_class which, unsigned bit) {
  const token *row = token_row(which, bit);
  return row ? row->meaning : "";
}

void kdl_feature_close(kdl_feature_class which, kdl_feature_set *set) {
  for (size_t i = 0; i < classes[which].implied_count; ++i) {
    if (kdl_feature_has(*set, classes[which].implied[i].bit))
      kdl_feature_join(set, classes[which].implied[i].implied);
  }
}

bool kdl_feature_parse(kdl_feature_class which, kdl_string list, kdl_feature_set *out_set,
                       kdl_parse_error *out_error) {
  kdl_feature_set set = {{0, 0}};
  for (size_t at = 0; list.length && at <= list.length;) {
    size_t end = kdl_text_find(list, at, "+,");
    kdl_feature_set named;
    if (!kdl_feature_find(which, (kdl_string){list.data + at, end - at}, &named))
      return kdl_parse_fail(out_error, at, "a feature token; tokens are joined by '+'");
    kdl_feature_join(&set, named);
    at = end + 1;
  }
  *out_set = set;
  return true;
}

void kdl_out_features(kdl_out *out, kdl_feature_class which, kdl_feature_set set) {
  const char *join = "";
  for (size_t i = 0; i < classes[which].token_count; ++i) {
    const token *row = &classes[which].tokens[i];
    if (kdl_feature_has(set, row->bit)) {
      kdl_out_format(out, "%s%s", join, row->name);
      join = "+";
    }
  }
}

const kdl_x86_probe *kdl_x86_probes(size_t *out_count) {
  static const kdl_x86_probe probes[] = {
#define KDL_X86_FEATURE(id, name, leaf, subleaf, reg, bit, xcr0)                                   \
  {KDL_X86_##id, subleaf, reg, bit, leaf, xcr0},
#define KDL_X86_SECOND_BLOCK
#include "lib/target/features/x86_features.def"
#undef KDL_X86_FEATURE
#undef KDL_X86_SECOND_BLOCK
  };
  *out_count = sizeof probes / sizeof *probes;
  return probes;
}

const kdl_aarch64_probe *kdl_aarch64_probes(size_t *out_count) {
  static const kdl_aarch64_probe probes[] = {
#define KDL_AARCH64_FEATURE(id, name, hwcap, bit) {KDL_AARCH64_##id, hwcap, bit},
#define KDL_AARCH64_SECOND_BLOCK
#include "lib/target/features/aarch64_features.def"
#undef KDL_AARCH64_FEATURE
#undef KDL_AARCH64_SECOND_BLOCK
  };
  *out_count = sizeof probes / sizeof *probes;
  return probes;
}

kdl_feature_set kdl_riscv_probed(uint64_t extensions) {
  static const uint8_t bits[] = {
#define KDL_RISCV_FEATURE(id, name, bit) bit,
#include "lib/target/features/riscv_features.def"
#undef KDL_RISCV_FEATURE
  };
  kdl_feature_set set = {{0, 0}};
  for (unsigned i = 0; i < KDL_RISCV_FEATURE_COUNT; ++i) {
    if (extensions >> bits[i] & 1)
      kdl_feature_add(&set, i);
  }
  return set;
}
