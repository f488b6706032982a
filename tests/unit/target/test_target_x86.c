/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* x86-64: levels, CPU names, named features, and the order among images. */
#include "lib/target/families/cpu.h"

#include "lib/target/features/feature.h"
#include "target_case.h"

/* x86-64 psABI, table "Micro-Architecture Levels"; and XSAVE, which OSXSAVE implies. */
static const struct {
  unsigned level;
  const char *members;
} levels[] = {
    {1, "cmov cx8 fpu fxsr mmx sce sse sse2"},
    {2, "cmpxchg16b lahf_sahf popcnt sse3 sse4_1 sse4_2 ssse3"},
    {3, "avx avx2 bmi1 bmi2 f16c fma lzcnt movbe osxsave xsave"},
    {4, "avx512f avx512bw avx512cd avx512dq avx512vl"},
};

/* What LLVM 22 enables for -march=NAME, of the features that have a token. */
static const struct {
  const char *name;
  const char *features;
} cpus[] = {
    {"nocona", "x86-64+cmpxchg16b+sse3"},
    {"core2", "x86-64+cmpxchg16b+lahf_sahf+sse3+ssse3"},
    {"penryn", "x86-64+cmpxchg16b+lahf_sahf+sse3+ssse3+sse4_1"},
    {"bonnell", "x86-64+cmpxchg16b+lahf_sahf+sse3+ssse3+movbe"},
    {"atom", "x86-64+cmpxchg16b+lahf_sahf+sse3+ssse3+movbe"},
    {"silvermont", "x86-64-v2+movbe+pclmul+rdrnd+prfchw"},
    {"slm", "x86-64-v2+movbe+pclmul+rdrnd+prfchw"},
    {"goldmont", "x86-64-v2+osxsave+movbe+aes+pclmul+sha+rdrnd+rdseed+fsgsbase+prfchw+clflushopt+"
                 "xsave+xsavec+xsaveopt"},
    {"goldmont-plus", "x86-64-v2+osxsave+movbe+aes+pclmul+sha+rdrnd+rdseed+rdpid+fsgsbase+prfchw+"
                      "clflushopt+xsave+xsavec+xsaveopt"},
    {"tremont", "x86-64-v2+osxsave+movbe+aes+pclmul+gfni+sha+rdrnd+rdseed+rdpid+fsgsbase+prfchw+"
                "clflushopt+clwb+xsave+xsavec+xsaveopt"},
    {"nehalem", "x86-64-v2"},
    {"corei7", "x86-64-v2"},
    {"westmere", "x86-64-v2+pclmul"},
    {"sandybridge", "x86-64-v2+osxsave+avx+pclmul+xsave+xsaveopt"},
    {"corei7-avx", "x86-64-v2+osxsave+avx+pclmul+xsave+xsaveopt"},
    {"ivybridge", "x86-64-v2+osxsave+avx+f16c+pclmul+rdrnd+fsgsbase+xsave+xsaveopt"},
    {"core-avx-i", "x86-64-v2+osxsave+avx+f16c+pclmul+rdrnd+fsgsbase+xsave+xsaveopt"},
    {"haswell", "x86-64-v3+pclmul+rdrnd+fsgsbase+xsaveopt"},
    {"core-avx2", "x86-64-v3+pclmul+rdrnd+fsgsbase+xsaveopt"},
    {"broadwell", "x86-64-v3+pclmul+adx+rdrnd+rdseed+fsgsbase+prfchw+xsaveopt"},
    {"skylake", "x86-64-v3+aes+pclmul+adx+rdrnd+rdseed+fsgsbase+prfchw+clflushopt+xsavec+xsaveopt"},
    {"skylake-avx512",
     "x86-64-v4+aes+pclmul+adx+rdrnd+rdseed+fsgsbase+prfchw+clflushopt+clwb+xsavec+xsaveopt"},
    {"skx",
     "x86-64-v4+aes+pclmul+adx+rdrnd+rdseed+fsgsbase+prfchw+clflushopt+clwb+xsavec+xsaveopt"},
    {"cascadelake", "x86-64-v4+avx512_vnni+aes+pclmul+adx+rdrnd+rdseed+fsgsbase+prfchw+clflushopt+"
                    "clwb+xsavec+xsaveopt"},
    {"cooperlake", "x86-64-v4+avx512_vnni+avx512_bf16+aes+pclmul+adx+rdrnd+rdseed+fsgsbase+prfchw+"
                   "clflushopt+clwb+xsavec+xsaveopt"},
    {"cannonlake", "x86-64-v4+avx512_vbmi+avx512_ifma+aes+pclmul+sha+adx+rdrnd+rdseed+fsgsbase+"
                   "prfchw+clflushopt+xsavec+xsaveopt"},
    {"icelake-client", "x86-64-v4+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_"
                       "vnni+avx512_bitalg+aes+pclmul+vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+"
                       "rdpid+fsgsbase+prfchw+clflushopt+xsavec+xsaveopt"},
    {"rocketlake", "x86-64-v4+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_vnni+"
                   "avx512_bitalg+aes+pclmul+vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+"
                   "fsgsbase+prfchw+clflushopt+xsavec+xsaveopt"},
    {"icelake-server", "x86-64-v4+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_"
                       "vnni+avx512_bitalg+aes+pclmul+vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+"
                       "rdpid+fsgsbase+prfchw+clflushopt+clwb+xsavec+xsaveopt"},
    {"tigerlake",
     "x86-64-v4+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_vnni+avx512_bitalg+"
     "avx512_vp2intersect+aes+pclmul+vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+"
     "prfchw+clflushopt+clwb+movdiri+movdir64b+xsavec+xsaveopt"},
    {"sapphirerapids",
     "x86-64-v4+avx_vnni+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_vnni+avx512_"
     "bitalg+avx512_bf16+avx512_fp16+amx_tile+amx_int8+amx_bf16+aes+pclmul+vaes+vpclmulqdq+gfni+"
     "sha+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+movdiri+movdir64b+serialize+"
     "waitpkg+xsavec+xsaveopt"},
    {"alderlake",
     "x86-64-v3+avx_vnni+aes+pclmul+vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+"
     "prfchw+clflushopt+clwb+movdiri+movdir64b+serialize+waitpkg+xsavec+xsaveopt"},
    {"raptorlake",
     "x86-64-v3+avx_vnni+aes+pclmul+vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+"
     "prfchw+clflushopt+clwb+movdiri+movdir64b+serialize+waitpkg+xsavec+xsaveopt"},
    {"meteorlake",
     "x86-64-v3+avx_vnni+aes+pclmul+vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+"
     "prfchw+clflushopt+clwb+movdiri+movdir64b+serialize+waitpkg+xsavec+xsaveopt"},
    {"arrowlake", "x86-64-v3+avx_vnni+avx_ifma+avx_ne_convert+avx_vnni_int8+aes+pclmul+vaes+"
                  "vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+"
                  "movdiri+movdir64b+cmpccxadd+serialize+waitpkg+xsavec+xsaveopt"},
    {"arrowlake-s",
     "x86-64-v3+avx_vnni+avx_ifma+avx_ne_convert+avx_vnni_int8+avx_vnni_int16+aes+pclmul+vaes+"
     "vpclmulqdq+gfni+sha+sha512+sm3+sm4+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+"
     "movdiri+movdir64b+cmpccxadd+serialize+waitpkg+xsavec+xsaveopt"},
    {"lunarlake",
     "x86-64-v3+avx_vnni+avx_ifma+avx_ne_convert+avx_vnni_int8+avx_vnni_int16+aes+pclmul+vaes+"
     "vpclmulqdq+gfni+sha+sha512+sm3+sm4+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+"
     "movdiri+movdir64b+cmpccxadd+serialize+waitpkg+xsavec+xsaveopt"},
    {"gracemont",
     "x86-64-v3+avx_vnni+aes+pclmul+vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+"
     "prfchw+clflushopt+clwb+movdiri+movdir64b+serialize+waitpkg+xsavec+xsaveopt"},
    {"pantherlake",
     "x86-64-v3+avx_vnni+avx_ifma+avx_ne_convert+avx_vnni_int8+avx_vnni_int16+aes+pclmul+vaes+"
     "vpclmulqdq+gfni+sha+sha512+sm3+sm4+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+"
     "movdiri+movdir64b+cmpccxadd+serialize+waitpkg+xsavec+xsaveopt"},
    {"wildcatlake",
     "x86-64-v3+avx_vnni+avx_ifma+avx_ne_convert+avx_vnni_int8+avx_vnni_int16+aes+pclmul+vaes+"
     "vpclmulqdq+gfni+sha+sha512+sm3+sm4+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+"
     "movdiri+movdir64b+cmpccxadd+serialize+waitpkg+xsavec+xsaveopt"},
    {"novalake", "x86-64-v4+avx_vnni+avx_ifma+avx_ne_convert+avx_vnni_int8+avx_vnni_int16+avx512_"
                 "vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_vnni+avx512_bitalg+avx512_"
                 "bf16+avx512_fp16+avx10_1+avx10_2+aes+pclmul+vaes+vpclmulqdq+gfni+sha+sha512+sm3+"
                 "sm4+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+movdiri+movdir64b+"
                 "cmpccxadd+serialize+waitpkg+xsavec+xsaveopt+movrs+apx_f"},
    {"sierraforest", "x86-64-v3+avx_vnni+avx_ifma+avx_ne_convert+avx_vnni_int8+aes+pclmul+vaes+"
                     "vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+"
                     "movdiri+movdir64b+cmpccxadd+serialize+waitpkg+xsavec+xsaveopt"},
    {"grandridge", "x86-64-v3+avx_vnni+avx_ifma+avx_ne_convert+avx_vnni_int8+aes+pclmul+vaes+"
                   "vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+"
                   "movdiri+movdir64b+cmpccxadd+serialize+waitpkg+xsavec+xsaveopt"},
    {"graniterapids",
     "x86-64-v4+avx_vnni+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_vnni+avx512_"
     "bitalg+avx512_bf16+avx512_fp16+amx_tile+amx_int8+amx_bf16+amx_fp16+aes+pclmul+vaes+"
     "vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+movdiri+movdir64b+"
     "serialize+waitpkg+xsavec+xsaveopt"},
    {"graniterapids-d",
     "x86-64-v4+avx_vnni+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_vnni+avx512_"
     "bitalg+avx512_bf16+avx512_fp16+amx_tile+amx_int8+amx_bf16+amx_fp16+amx_complex+aes+pclmul+"
     "vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+movdiri+"
     "movdir64b+serialize+waitpkg+xsavec+xsaveopt"},
    {"emeraldrapids",
     "x86-64-v4+avx_vnni+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_vnni+avx512_"
     "bitalg+avx512_bf16+avx512_fp16+amx_tile+amx_int8+amx_bf16+aes+pclmul+vaes+vpclmulqdq+gfni+"
     "sha+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+movdiri+movdir64b+serialize+"
     "waitpkg+xsavec+xsaveopt"},
    {"clearwaterforest",
     "x86-64-v3+avx_vnni+avx_ifma+avx_ne_convert+avx_vnni_int8+avx_vnni_int16+aes+pclmul+vaes+"
     "vpclmulqdq+gfni+sha+sha512+sm3+sm4+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+"
     "movdiri+movdir64b+cmpccxadd+serialize+waitpkg+xsavec+xsaveopt"},
    {"diamondrapids",
     "x86-64-v4+avx_vnni+avx_ifma+avx_ne_convert+avx_vnni_int8+avx_vnni_int16+avx512_vbmi+avx512_"
     "ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_vnni+avx512_bitalg+avx512_bf16+avx512_fp16+avx10_1+"
     "avx10_2+amx_tile+amx_int8+amx_bf16+amx_fp16+amx_complex+amx_fp8+amx_tf32+amx_avx512+aes+"
     "pclmul+vaes+vpclmulqdq+gfni+sha+sha512+sm3+sm4+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+"
     "clflushopt+clwb+movdiri+movdir64b+cmpccxadd+serialize+waitpkg+xsavec+xsaveopt+movrs+"
     "apx_f"},
    {"knl", "x86-64-v3+avx512f+avx512cd+aes+pclmul+adx+rdrnd+rdseed+fsgsbase+prfchw+xsaveopt"},
    {"knm", "x86-64-v3+avx512f+avx512cd+avx512_vpopcntdq+aes+pclmul+adx+rdrnd+rdseed+fsgsbase+"
            "prfchw+xsaveopt"},
    {"k8", "x86-64+prfchw"},
    {"athlon64", "x86-64+prfchw"},
    {"opteron", "x86-64+prfchw"},
    {"k8-sse3", "x86-64+sse3+prfchw"},
    {"amdfam10", "x86-64+cmpxchg16b+lahf_sahf+sse3+popcnt+lzcnt+prfchw+sse4a"},
    {"barcelona", "x86-64+cmpxchg16b+lahf_sahf+sse3+popcnt+lzcnt+prfchw+sse4a"},
    {"btver1", "x86-64+cmpxchg16b+lahf_sahf+sse3+ssse3+popcnt+lzcnt+prfchw+sse4a"},
    {"btver2",
     "x86-64-v2+osxsave+movbe+lzcnt+avx+f16c+bmi1+aes+pclmul+prfchw+xsave+xsaveopt+sse4a"},
    {"bdver1", "x86-64-v2+osxsave+lzcnt+avx+aes+pclmul+prfchw+xsave+sse4a+fma4+xop"},
    {"bdver2",
     "x86-64-v2+osxsave+lzcnt+avx+f16c+bmi1+fma+aes+pclmul+prfchw+xsave+sse4a+fma4+xop+tbm"},
    {"bdver3", "x86-64-v2+osxsave+lzcnt+avx+f16c+bmi1+fma+aes+pclmul+fsgsbase+prfchw+xsave+"
               "xsaveopt+sse4a+fma4+xop+tbm"},
    {"bdver4", "x86-64-v3+aes+pclmul+rdrnd+fsgsbase+prfchw+xsaveopt+sse4a+fma4+xop+tbm"},
    {"znver1", "x86-64-v3+aes+pclmul+sha+adx+rdrnd+rdseed+fsgsbase+prfchw+clflushopt+xsavec+"
               "xsaveopt+sse4a"},
    {"znver2", "x86-64-v3+aes+pclmul+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+clflushopt+clwb+"
               "xsavec+xsaveopt+sse4a"},
    {"znver3", "x86-64-v3+aes+pclmul+vaes+vpclmulqdq+sha+adx+rdrnd+rdseed+rdpid+fsgsbase+prfchw+"
               "clflushopt+clwb+xsavec+xsaveopt+sse4a"},
    {"znver4", "x86-64-v4+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_vnni+avx512_"
               "bitalg+avx512_bf16+aes+pclmul+vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+rdpid+"
               "fsgsbase+prfchw+clflushopt+clwb+xsavec+xsaveopt+sse4a"},
    {"znver5",
     "x86-64-v4+avx_vnni+avx512_vbmi+avx512_ifma+avx512_vpopcntdq+avx512_vbmi2+avx512_vnni+avx512_"
     "bitalg+avx512_bf16+avx512_vp2intersect+aes+pclmul+vaes+vpclmulqdq+gfni+sha+adx+rdrnd+rdseed+"
     "rdpid+fsgsbase+prfchw+clflushopt+clwb+movdiri+movdir64b+xsavec+xsaveopt+sse4a"},
};

static kdl_feature_set parse(const char *text) {
  kdl_feature_set set;
  kdl_parse_error error = {0, NULL};
  if (!kdl_x86_parse(kdl_text_of(text), &set, &error))
    fail_msg("%s: position %zu: expected %s", text, error.position, error.expected);
  return set;
}

static const char *print(kdl_feature_set set) {
  static char buffer[1024];
  kdl_out out = {buffer, sizeof buffer, 0};
  buffer[0] = '\0';
  kdl_out_x86(&out, set);
  return buffer;
}

static void levels_have_all_their_members(void **state) {
  (void)state;
  kdl_feature_set expected = {{0, 0}};
  for (size_t i = 0; i < 4; ++i) {
    char members[256];
    strcpy(members, levels[i].members);
    char *rest;
    for (char *name = strtok_r(members, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
      int bit = kdl_feature_bit(KDL_CLASS_X86, kdl_text_of(name));
      assert_true(bit >= 0);
      kdl_feature_add(&expected, (unsigned)bit);
    }
    kdl_feature_set set = kdl_x86_level_set(levels[i].level);
    assert_int_equal(set.word[0], expected.word[0]);
    assert_int_equal(set.word[1], expected.word[1]);
    assert_int_equal(kdl_x86_level(set), levels[i].level);
  }
  assert_false(kdl_feature_any(kdl_x86_level_set(0)));
  assert_false(kdl_feature_any(kdl_x86_level_set(5)));
}

/* Taking any one member away takes the level away. */
static void a_level_needs_every_member(void **state) {
  (void)state;
  for (unsigned level = 1; level <= 4; ++level) {
    kdl_feature_set set = kdl_x86_level_set(level);
    for (unsigned bit = 0; bit < 128; ++bit) {
      if (!kdl_feature_has(set, bit))
        continue;
      kdl_feature_set less = set;
      kdl_feature_remove(&less, bit);
      assert_true(kdl_x86_level(less) < level);
    }
  }
}

static void level_names(void **state) {
  (void)state;
  assert_string_equal(print(parse("x86-64")), "x86-64");
  assert_string_equal(print(parse("x86-64-v1")), "x86-64");
  assert_string_equal(print(parse("")), "x86-64");
  assert_string_equal(print(parse("generic")), "x86-64");
  assert_string_equal(print(parse("x86_64")), "x86-64");
  assert_string_equal(print(parse("x86-64-v2")), "x86-64-v2");
  assert_string_equal(print(parse("x86-64-v3")), "x86-64-v3");
  assert_string_equal(print(parse("x86-64-v4")), "x86-64-v4");
  assert_string_equal(print(parse("x86-64-v3+avx_vnni")), "x86-64-v3+avx_vnni");
}

static void every_cpu(void **state) {
  (void)state;
  size_t count = 0;
  for (const char *name; (name = kdl_x86_cpu_at(count)); ++count) {
    size_t row = 0;
    while (row < sizeof cpus / sizeof *cpus && strcmp(cpus[row].name, name) != 0)
      ++row;
    if (row == sizeof cpus / sizeof *cpus)
      fail_msg("%s has no row in this test", name);
    if (strcmp(print(parse(name)), cpus[row].features) != 0)
      fail_msg("%s: expected %s, found %s", name, cpus[row].features, print(parse(name)));
  }
  assert_int_equal(count, sizeof cpus / sizeof *cpus);
}

/* What is printed is read back as the same set. */
static void round_trip(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cpus / sizeof *cpus; ++i) {
    kdl_feature_set set = parse(cpus[i].name);
    kdl_feature_set back = parse(print(set));
    assert_int_equal(set.word[0], back.word[0]);
    assert_int_equal(set.word[1], back.word[1]);
  }
}

static void spellings_of_features(void **state) {
  (void)state;
  kdl_feature_set set = parse("x86-64-v4+avx512_bf16+amx_tile");
  kdl_feature_set llvm = parse("x86-64-v4+avx512bf16+amx-tile");
  assert_int_equal(set.word[0], llvm.word[0]);
  /* LLVM spells bmi1 bmi, and a name implies what it builds on. */
  assert_true(kdl_feature_has(parse("x86-64+bmi"), KDL_X86_BMI1));
  assert_true(kdl_feature_has(parse("x86-64+avx512_vnni"), KDL_X86_AVX2));
  assert_true(kdl_feature_has(parse("x86-64+avx10.1"), KDL_X86_AVX512_FP16));
  assert_true(kdl_x86_needs_amx(parse("sapphirerapids")));
  assert_true(kdl_x86_needs_amx(parse("x86-64-v4+amx_int8")));
  assert_false(kdl_x86_needs_amx(parse("znver5")));
}

static void bad_text(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t position;
    const char *expected;
  } rows[] = {
      {"x86-64-v5", 0, "x86-64, x86-64-v2 to x86-64-v4 or a CPU, then +features"},
      {"native", 0, "x86-64, x86-64-v2 to x86-64-v4 or a CPU, then +features"},
      {"zen4", 0, "x86-64, x86-64-v2 to x86-64-v4 or a CPU, then +features"},
      {"x86-64-v3+", 10, "an x86-64 feature, as in +avx512_bf16"},
      {"x86-64-v3+avx512", 10, "an x86-64 feature, as in +avx512_bf16"},
      {"x86-64-v3+fma++aes", 14, "an x86-64 feature, as in +avx512_bf16"},
      {"x86-64-v3+fma+sve", 14, "an x86-64 feature, as in +avx512_bf16"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_feature_set set;
    kdl_parse_error error = {99, NULL};
    assert_false(kdl_x86_parse(kdl_text_of(rows[i].text), &set, &error));
    assert_int_equal(error.position, rows[i].position);
    assert_string_equal(error.expected, rows[i].expected);
  }
}

/* On a CPU that runs them all, later is better. */
static void nearer_images_rank_higher(void **state) {
  (void)state;
  static const char *const order[] = {
      "bitcode x86-64-v3",
      "object x86-64",
      "object x86-64-v2",
      "object x86-64-v3",
      "object x86-64-v3+avx_vnni",
      "object x86-64-v4",
      "object x86-64-v4+avx512_vnni",
      "object x86-64-v4+avx512_bf16",
      "object x86-64-v4+avx512_fp16",
      "object x86-64-v4+avx10_1",
      "object x86-64-v4+avx10_2",
      "object x86-64-v4+amx_int8",
      "object x86-64-v4+amx_bf16",
      "object x86-64-v4+amx_fp16",
  };
  for (int count = 1; count <= (int)(sizeof order / sizeof *order); ++count)
    assert_int_equal(case_best(order, count, "host diamondrapids loads=bitcode"), count - 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels_have_all_their_members),
      cmocka_unit_test(a_level_needs_every_member),
      cmocka_unit_test(level_names),
      cmocka_unit_test(every_cpu),
      cmocka_unit_test(round_trip),
      cmocka_unit_test(spellings_of_features),
      cmocka_unit_test(bad_text),
      cmocka_unit_test(nearer_images_rank_higher),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
