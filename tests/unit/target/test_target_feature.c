/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The token tables: names, how features are detected, and what they imply. */
#include "lib/target/features/feature.h"
#include "target_case.h"

/* Intel SDM and AMD APM, CPUID: leaf, subleaf, register, bit; XCR0 by Intel SDM volume 1, 13.3. */
static const struct {
  const char *name;
  uint32_t leaf;
  unsigned subleaf;
  char reg;
  unsigned bit;
  uint32_t xcr0;
} x86[] = {
    {"cmov", 1, 0, 'd', 15, 0},
    {"cx8", 1, 0, 'd', 8, 0},
    {"fpu", 1, 0, 'd', 0, 0},
    {"fxsr", 1, 0, 'd', 24, 0},
    {"mmx", 1, 0, 'd', 23, 0},
    {"sce", 0x80000001, 0, 'd', 11, 0},
    {"sse", 1, 0, 'd', 25, 0},
    {"sse2", 1, 0, 'd', 26, 0},
    {"cmpxchg16b", 1, 0, 'c', 13, 0},
    {"lahf_sahf", 0x80000001, 0, 'c', 0, 0},
    {"sse3", 1, 0, 'c', 0, 0},
    {"ssse3", 1, 0, 'c', 9, 0},
    {"sse4_1", 1, 0, 'c', 19, 0},
    {"sse4_2", 1, 0, 'c', 20, 0},
    {"popcnt", 1, 0, 'c', 23, 0},
    {"osxsave", 1, 0, 'c', 27, 0},
    {"movbe", 1, 0, 'c', 22, 0},
    {"lzcnt", 0x80000001, 0, 'c', 5, 0},
    {"avx", 1, 0, 'c', 28, 6},
    {"f16c", 1, 0, 'c', 29, 6},
    {"bmi1", 7, 0, 'b', 3, 0},
    {"fma", 1, 0, 'c', 12, 6},
    {"bmi2", 7, 0, 'b', 8, 0},
    {"avx2", 7, 0, 'b', 5, 6},
    {"avx_vnni", 7, 1, 'a', 4, 6},
    {"avx_ifma", 7, 1, 'a', 23, 6},
    {"avx_ne_convert", 7, 1, 'd', 5, 6},
    {"avx_vnni_int8", 7, 1, 'd', 4, 6},
    {"avx_vnni_int16", 7, 1, 'd', 10, 6},
    {"avx512f", 7, 0, 'b', 16, 0xe6},
    {"avx512vl", 7, 0, 'b', 31, 0xe6},
    {"avx512bw", 7, 0, 'b', 30, 0xe6},
    {"avx512dq", 7, 0, 'b', 17, 0xe6},
    {"avx512cd", 7, 0, 'b', 28, 0xe6},
    {"avx512_vbmi", 7, 0, 'c', 1, 0xe6},
    {"avx512_ifma", 7, 0, 'b', 21, 0xe6},
    {"avx512_vpopcntdq", 7, 0, 'c', 14, 0xe6},
    {"avx512_vbmi2", 7, 0, 'c', 6, 0xe6},
    {"avx512_vnni", 7, 0, 'c', 11, 0xe6},
    {"avx512_bitalg", 7, 0, 'c', 12, 0xe6},
    {"avx512_bf16", 7, 1, 'a', 5, 0xe6},
    {"avx512_vp2intersect", 7, 0, 'd', 8, 0xe6},
    {"avx512_fp16", 7, 0, 'd', 23, 0xe6},
    {"avx10_1", 7, 1, 'd', 19, 0xe6},
    {"avx10_2", 7, 1, 'd', 19, 0xe6},
    {"amx_tile", 7, 0, 'd', 24, 0x60000},
    {"amx_int8", 7, 0, 'd', 25, 0x60000},
    {"amx_bf16", 7, 0, 'd', 22, 0x60000},
    {"amx_fp16", 7, 1, 'a', 21, 0x60000},
    {"amx_complex", 7, 1, 'd', 8, 0x60000},
    {"amx_fp8", 0x1e, 1, 'a', 4, 0x60000},
    {"amx_tf32", 0x1e, 1, 'a', 6, 0x60000},
    {"amx_avx512", 0x1e, 1, 'a', 7, 0x60000},
    {"aes", 1, 0, 'c', 25, 0},
    {"pclmul", 1, 0, 'c', 1, 0},
    {"vaes", 7, 0, 'c', 9, 6},
    {"vpclmulqdq", 7, 0, 'c', 10, 6},
    {"gfni", 7, 0, 'c', 8, 0},
    {"sha", 7, 0, 'b', 29, 0},
    {"sha512", 7, 1, 'a', 0, 6},
    {"sm3", 7, 1, 'a', 1, 6},
    {"sm4", 7, 1, 'a', 2, 6},
    {"adx", 7, 0, 'b', 19, 0},
    {"rdrnd", 1, 0, 'c', 30, 0},
    {"rdseed", 7, 0, 'b', 18, 0},
    {"rdpid", 7, 0, 'c', 22, 0},
    {"fsgsbase", 7, 0, 'b', 0, 0},
    {"prfchw", 0x80000001, 0, 'c', 8, 0},
    {"clflushopt", 7, 0, 'b', 23, 0},
    {"clwb", 7, 0, 'b', 24, 0},
    {"movdiri", 7, 0, 'c', 27, 0},
    {"movdir64b", 7, 0, 'c', 28, 0},
    {"cmpccxadd", 7, 1, 'a', 7, 0},
    {"serialize", 7, 0, 'd', 14, 0},
    {"waitpkg", 7, 0, 'c', 5, 0},
    {"xsave", 1, 0, 'c', 26, 0},
    {"xsavec", 0xd, 1, 'a', 1, 0},
    {"xsaveopt", 0xd, 1, 'a', 0, 0},
    {"movrs", 7, 1, 'a', 31, 0},
    {"apx_f", 7, 1, 'd', 21, 0x80000},
    {"sse4a", 0x80000001, 0, 'c', 6, 0},
    {"fma4", 0x80000001, 0, 'c', 16, 6},
    {"xop", 0x80000001, 0, 'c', 11, 6},
    {"tbm", 0x80000001, 0, 'c', 21, 0},
};

/* Linux, arch/arm64/include/uapi/asm/hwcap.h. */
static const struct {
  const char *name;
  unsigned hwcap, bit;
} aarch64[] = {
    {"fp", 1, 0},          {"simd", 1, 1},        {"aes", 1, 4},         {"sha2", 1, 6},
    {"crc", 1, 7},         {"lse", 1, 8},         {"fp16", 1, 10},       {"rdm", 1, 12},
    {"jscvt", 1, 13},      {"fcma", 1, 14},       {"rcpc", 1, 15},       {"dpb", 1, 16},
    {"sha3", 1, 17},       {"sm4", 1, 19},        {"dotprod", 1, 20},    {"sve", 1, 22},
    {"fp16fml", 1, 23},    {"dit", 1, 24},        {"lse2", 1, 25},       {"rcpc2", 1, 26},
    {"flagm", 1, 27},      {"ssbs", 1, 28},       {"sb", 1, 29},         {"pauth", 1, 30},
    {"dpb2", 2, 0},        {"sve2", 2, 1},        {"sve2-aes", 2, 3},    {"sve2-bitperm", 2, 4},
    {"sve2-sha3", 2, 5},   {"sve2-sm4", 2, 6},    {"flagm2", 2, 7},      {"frintts", 2, 8},
    {"f32mm", 2, 10},      {"f64mm", 2, 11},      {"i8mm", 2, 13},       {"bf16", 2, 14},
    {"rng", 2, 16},        {"bti", 2, 17},        {"memtag", 2, 18},     {"sme", 2, 23},
    {"sme-i16i64", 2, 24}, {"sme-f64f64", 2, 25}, {"wfxt", 2, 31},       {"cssc", 2, 34},
    {"sve2p1", 2, 36},     {"sme2", 2, 37},       {"sme2p1", 2, 38},     {"mops", 2, 43},
    {"hbc", 2, 44},        {"rcpc3", 2, 46},      {"lse128", 2, 47},     {"sve_vl_256", 0, 0},
    {"sve_vl_512", 0, 0},  {"sve_vl_1024", 0, 0}, {"sve_vl_2048", 0, 0},
};

static const char *const gpu[] = {"fp16",
                                  "bf16",
                                  "tf32",
                                  "fp8",
                                  "fp4",
                                  "fp64",
                                  "int8_dot",
                                  "int64",
                                  "int64_atomics",
                                  "tensor_core_nv",
                                  "async_copy_nv",
                                  "tma_nv",
                                  "wgmma_nv",
                                  "tcgen05_nv",
                                  "mfma_amd",
                                  "wmma_amd",
                                  "xmx_intel",
                                  "cooperative_launch",
                                  "clusters",
                                  "subgroups",
                                  "subgroup_size_8",
                                  "subgroup_size_16",
                                  "subgroup_size_32",
                                  "subgroup_size_64",
                                  "generic_pointer",
                                  "images"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static unsigned bit_of(kdl_feature_class which, const char *name) {
  int bit = kdl_feature_bit(which, kdl_text_of(name));
  if (bit < 0)
    fail_msg("%s is not known", name);
  assert_string_equal(kdl_feature_name(which, (unsigned)bit), name);
  return (unsigned)bit;
}

static void every_x86_token(void **state) {
  (void)state;
  size_t count;
  const kdl_x86_probe *probes = kdl_x86_probes(&count);
  assert_int_equal(count, COUNT(x86));
  for (size_t i = 0; i < count; ++i) {
    unsigned bit = bit_of(KDL_CLASS_X86, x86[i].name);
    size_t probe = 0;
    while (probe < count && probes[probe].feature != bit)
      ++probe;
    assert_true(probe < count);
    assert_int_equal(probes[probe].leaf, x86[i].leaf);
    assert_int_equal(probes[probe].subleaf, x86[i].subleaf);
    assert_int_equal(probes[probe].reg, x86[i].reg);
    assert_int_equal(probes[probe].bit, x86[i].bit);
    assert_int_equal(probes[probe].xcr0, x86[i].xcr0);
  }
}

static void every_aarch64_token(void **state) {
  (void)state;
  size_t count;
  const kdl_aarch64_probe *probes = kdl_aarch64_probes(&count);
  assert_int_equal(count, COUNT(aarch64));
  for (size_t i = 0; i < count; ++i) {
    unsigned bit = bit_of(KDL_CLASS_AARCH64, aarch64[i].name);
    size_t probe = 0;
    while (probe < count && probes[probe].feature != bit)
      ++probe;
    assert_true(probe < count);
    assert_int_equal(probes[probe].hwcap, aarch64[i].hwcap);
    assert_int_equal(probes[probe].bit, aarch64[i].bit);
  }
}

static void every_gpu_token(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(gpu); ++i)
    assert_true(strlen(kdl_feature_meaning(KDL_CLASS_GPU, bit_of(KDL_CLASS_GPU, gpu[i]))) > 0);
  assert_null(kdl_feature_name(KDL_CLASS_GPU, COUNT(gpu)));
}

static void other_names(void **state) {
  (void)state;
  static const struct {
    kdl_feature_class which;
    const char *name, *token;
  } rows[] = {
      {KDL_CLASS_X86, "avx512bf16", "avx512_bf16"},
      {KDL_CLASS_X86, "amx-tile", "amx_tile"},
      {KDL_CLASS_X86, "sse4.1", "sse4_1"},
      {KDL_CLASS_X86, "avx10.2", "avx10_2"},
      {KDL_CLASS_X86, "avxvnni", "avx_vnni"},
      {KDL_CLASS_X86, "cx16", "cmpxchg16b"},
      {KDL_CLASS_X86, "sahf", "lahf_sahf"},
      {KDL_CLASS_X86, "bmi", "bmi1"},
      {KDL_CLASS_X86, "abm", "lzcnt"},
      {KDL_CLASS_X86, "pclmulqdq", "pclmul"},
      {KDL_CLASS_X86, "rdrand", "rdrnd"},
      {KDL_CLASS_X86, "sha_ni", "sha"},
      {KDL_CLASS_X86, "apxf", "apx_f"},
      {KDL_CLASS_X86, "crc32", "sse4_2"},
      {KDL_CLASS_X86, "x87", "fpu"},
      {KDL_CLASS_X86, "bf16", "avx512_bf16"},
      {KDL_CLASS_X86, "fp16", "avx512_fp16"},
      {KDL_CLASS_X86, "fp64", "sse2"},
      {KDL_CLASS_X86, "int64", "sse2"},
      {KDL_CLASS_AARCH64, "rand", "rng"},
      {KDL_CLASS_AARCH64, "altnzcv", "flagm2"},
      {KDL_CLASS_AARCH64, "rdma", "rdm"},
      {KDL_CLASS_AARCH64, "pmull", "aes"},
      {KDL_CLASS_AARCH64, "ccpp", "dpb"},
      {KDL_CLASS_AARCH64, "ccdp", "dpb2"},
      {KDL_CLASS_AARCH64, "complxnum", "fcma"},
      {KDL_CLASS_AARCH64, "rcpc-immo", "rcpc2"},
      {KDL_CLASS_AARCH64, "fptoint", "frintts"},
      {KDL_CLASS_AARCH64, "sve-f32mm", "f32mm"},
      {KDL_CLASS_AARCH64, "sve-f64mm", "f64mm"},
      {KDL_CLASS_AARCH64, "mte", "memtag"},
      {KDL_CLASS_AARCH64, "sve2_aes", "sve2-aes"},
      {KDL_CLASS_AARCH64, "int8_dot", "dotprod"},
      {KDL_CLASS_AARCH64, "fp64", "fp"},
      {KDL_CLASS_AARCH64, "int64", "fp"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    int bit = kdl_feature_bit(rows[i].which, kdl_text_of(rows[i].name));
    if (bit < 0 || strcmp(kdl_feature_name(rows[i].which, (unsigned)bit), rows[i].token) != 0)
      fail_msg("%s is not %s", rows[i].name, rows[i].token);
  }
}

static void llvm_names_of_gpus(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"mai-insts", "mfma_amd"},
      {"fp8-insts", "fp8+mfma_amd"},
      {"sm_90a", "wgmma_nv"},
      {"sm_89+mai-insts", "fp8+tensor_core_nv+mfma_amd"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    kdl_feature_set set;
    char buffer[128] = "";
    kdl_out out = {buffer, sizeof buffer, 0};
    assert_true(kdl_feature_parse(KDL_CLASS_GPU, kdl_text_of(rows[i][0]), &set, NULL));
    kdl_out_features(&out, KDL_CLASS_GPU, set);
    assert_string_equal(buffer, rows[i][1]);
  }
  kdl_feature_set set;
  assert_false(kdl_feature_find(KDL_CLASS_X86, KDL_TEXT("sm_90a"), &set));
  assert_false(kdl_feature_find(KDL_CLASS_GPU, KDL_TEXT("xnack"), &set));
  assert_true(kdl_feature_is_known(KDL_TEXT("sm_90a")));
}

static void names_that_are_none(void **state) {
  (void)state;
  static const char *const names[] = {"", "avx", "-", "bf", "bf160", "bf16 ", " bf16", "Bf16", "_"};
  for (size_t i = 0; i < COUNT(names); ++i)
    assert_int_equal(kdl_feature_bit(KDL_CLASS_GPU, kdl_text_of(names[i])), -1);
  assert_true(kdl_feature_is_known(KDL_TEXT("avx")));
  assert_true(kdl_feature_is_known(KDL_TEXT("sve")));
  assert_false(kdl_feature_is_known(KDL_TEXT("warp_drive")));
}

/* Closing once is enough, from any single token: the tables are in the order that makes it so. */
static void closing_is_idempotent(void **state) {
  (void)state;
  for (int which = 0; which < KDL_CLASS_COUNT; ++which) {
    for (unsigned bit = 0; bit < 128; ++bit) {
      kdl_feature_set set = {{0, 0}};
      if (!kdl_feature_name((kdl_feature_class)which, bit))
        continue;
      kdl_feature_add(&set, bit);
      kdl_feature_close((kdl_feature_class)which, &set);
      kdl_feature_set again = set;
      kdl_feature_close((kdl_feature_class)which, &again);
      assert_int_equal(set.word[0], again.word[0]);
      assert_int_equal(set.word[1], again.word[1]);
    }
  }
}

/* LLVM 22, X86 updateImpliedFeatures: a sample over the whole depth. */
static void what_x86_tokens_imply(void **state) {
  (void)state;
  static const struct {
    const char *token, *closed;
  } rows[] = {
      {"sse3", "sse2+sse3"},
      {"avx2", "sse2+sse3+ssse3+sse4_1+sse4_2+osxsave+avx+avx2+xsave"},
      {"amx_bf16", "amx_tile+amx_bf16"},
      {"vaes", "sse2+sse3+ssse3+sse4_1+sse4_2+osxsave+avx+avx2+aes+vaes+xsave"},
      {"xop", "sse2+sse3+ssse3+sse4_1+sse4_2+osxsave+avx+xsave+sse4a+fma4+xop"},
      {"avx512_bf16", "sse2+sse3+ssse3+sse4_1+sse4_2+osxsave+avx+f16c+fma+avx2+avx512f+avx512bw+"
                      "avx512_bf16+xsave"},
      {"avx10_1", "sse2+sse3+ssse3+sse4_1+sse4_2+osxsave+avx+f16c+fma+avx2+avx512f+avx512vl+"
                  "avx512bw+avx512dq+avx512cd+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+"
                  "avx512_vbmi2+avx512_vnni+avx512_bitalg+avx512_bf16+avx512_fp16+avx10_1+xsave"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    kdl_feature_set set;
    char buffer[512] = "";
    kdl_out out = {buffer, sizeof buffer, 0};
    assert_true(kdl_feature_parse(KDL_CLASS_X86, kdl_text_of(rows[i].token), &set, NULL));
    kdl_feature_close(KDL_CLASS_X86, &set);
    kdl_out_features(&out, KDL_CLASS_X86, set);
    assert_string_equal(buffer, rows[i].closed);
  }
}

static void lists(void **state) {
  (void)state;
  kdl_feature_set set;
  kdl_parse_error error;
  assert_true(kdl_feature_parse(KDL_CLASS_GPU, KDL_TEXT(""), &set, NULL));
  assert_false(kdl_feature_any(set));
  assert_true(kdl_feature_parse(KDL_CLASS_GPU, KDL_TEXT("fp8+bf16,fp64"), &set, NULL));
  assert_true(set.word[0] == (1u << KDL_GPU_FP8 | 1u << KDL_GPU_BF16 | 1u << KDL_GPU_FP64));
  assert_false(kdl_feature_parse(KDL_CLASS_GPU, KDL_TEXT("fp8+"), &set, &error));
  assert_int_equal(error.position, 4);
  assert_false(kdl_feature_parse(KDL_CLASS_GPU, KDL_TEXT("fp8+sve"), &set, &error));
  assert_int_equal(error.position, 4);
  assert_string_equal(error.expected, "a feature token; tokens are joined by '+'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_x86_token),
      cmocka_unit_test(every_aarch64_token),
      cmocka_unit_test(every_gpu_token),
      cmocka_unit_test(other_names),
      cmocka_unit_test(llvm_names_of_gpus),
      cmocka_unit_test(names_that_are_none),
      cmocka_unit_test(closing_is_idempotent),
      cmocka_unit_test(what_x86_tokens_imply),
      cmocka_unit_test(lists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
