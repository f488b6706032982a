/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AArch64: versions, CPU names, named features, and ACLE's order among images. */
#include "lib/inspect/targets.h"

#include "lib/target/families/cpu.h"
#include "target_case.h"

/* Arm Architecture Reference Manual: what each version makes mandatory, of the features that have a
 * token (BTI, which is hints, left out). */
static const struct {
  const char *name;
  const char *features;
} versions[] = {
    {"armv8-a", "armv8-a"},
    {"armv8.1-a", "armv8-a+crc+lse+rdm"},
    {"armv8.2-a", "armv8.1-a+dpb"},
    {"armv8.3-a", "armv8.2-a+fcma+jscvt+rcpc+pauth"},
    {"armv8.4-a", "armv8.3-a+dotprod+dit+flagm+rcpc2+lse2"},
    {"armv8.5-a", "armv8.4-a+sb+ssbs+frintts+flagm2+dpb2"},
    {"armv8.6-a", "armv8.5-a+bf16+i8mm"},
    {"armv8.7-a", "armv8.6-a+wfxt"},
    {"armv8.8-a", "armv8.7-a+mops+hbc"},
    {"armv8.9-a", "armv8.8-a+cssc"},
    {"armv9-a", "armv8.5-a+sve2+fp16"},
    {"armv9.1-a", "armv8.6-a+sve2+fp16"},
    {"armv9.2-a", "armv8.7-a+sve2+fp16"},
    {"armv9.3-a", "armv8.8-a+sve2+fp16"},
    {"armv9.4-a", "armv8.9-a+sve2+fp16+sve2p1"},
    {"aarch64", "armv8-a"},
    {"generic", "armv8-a"},
    {"", "armv8-a"},
    /* CPUs: the version and the extensions LLVM 22 gives them. */
    {"cortex-a53", "armv8-a+crc+crypto"},
    {"cortex-a57", "armv8-a+crc+crypto"},
    {"cortex-a72", "armv8-a+crc+crypto"},
    {"cortex-a76", "armv8.2-a+crypto+dotprod+fp16+rcpc+ssbs"},
    {"cortex-a78", "armv8.2-a+crypto+dotprod+fp16+rcpc+ssbs"},
    {"cortex-x1", "armv8.2-a+crypto+dotprod+fp16+rcpc+ssbs"},
    {"cortex-x2", "armv9-a+bf16+i8mm+fp16fml+memtag+sve2-bitperm"},
    {"cortex-x3", "armv9-a+bf16+i8mm+fp16fml+memtag+sve2-bitperm"},
    {"cortex-x4", "armv9.2-a+fp16fml+memtag+sve2-bitperm"},
    {"cortex-x925", "armv9.2-a+fp16fml+memtag+sve2-bitperm"},
    {"neoverse-e1", "armv8.2-a+crypto+dotprod+fp16+rcpc+ssbs"},
    {"neoverse-n1", "armv8.2-a+crypto+dotprod+fp16+rcpc+ssbs"},
    {"neoverse-n2", "armv9-a+bf16+i8mm+fp16fml+memtag+sve2-bitperm"},
    {"cobalt-100", "armv9-a+bf16+i8mm+fp16fml+memtag+sve2-bitperm"},
    {"neoverse-n3", "armv9.2-a+fp16fml+memtag+sve2-bitperm+rng"},
    {"neoverse-512tvb", "armv8.4-a+crypto+sha3+sm4+bf16+i8mm+fp16fml+dpb2+rng+ssbs+sve"},
    {"neoverse-v1", "armv8.4-a+crypto+sha3+sm4+bf16+i8mm+fp16fml+dpb2+rng+ssbs+sve"},
    {"neoverse-v2", "armv9-a+bf16+i8mm+fp16fml+memtag+sve2-bitperm+rng"},
    {"grace", "armv9-a+bf16+i8mm+fp16fml+memtag+sve2-bitperm+sve2-aes+sve2-sha3+sve2-sm4+crypto"},
    {"neoverse-v3", "armv9.2-a+fp16fml+memtag+sve2-bitperm+rng"},
    {"a64fx", "armv8.2-a+crypto+fcma+fp16+sve"},
    {"ampere1", "armv8.6-a+crypto+sha3+fp16+fp16fml+rng"},
    {"ampere1a", "armv8.6-a+crypto+sha3+fp16+fp16fml+rng+sm4+memtag"},
    {"ampere1b", "armv8.7-a+crypto+sha3+fp16+fp16fml+rng+sm4+memtag+cssc"},
};

static kdl_feature_set parse(const char *text) {
  kdl_feature_set set;
  kdl_parse_error error = {0, NULL};
  if (!kdl_aarch64_parse(kdl_text_of(text), &set, &error))
    fail_msg("%s: position %zu: expected %s", text, error.position, error.expected);
  return set;
}

static const char *print(kdl_feature_set set) {
  static char buffer[1024];
  kdl_out out = {buffer, sizeof buffer, 0};
  buffer[0] = '\0';
  kdl_out_aarch64(&out, set);
  return buffer;
}

static void every_base(void **state) {
  (void)state;
  size_t count = 0;
  for (const char *name; (name = kdl_aarch64_base_at(count)); ++count) {
    size_t row = 0;
    while (row < sizeof versions / sizeof *versions && strcmp(versions[row].name, name) != 0)
      ++row;
    if (row == sizeof versions / sizeof *versions)
      fail_msg("%s has no row in this test", name);
    char expected[1024];
    strcpy(expected, print(parse(versions[row].features)));
    assert_string_equal(print(parse(name)), expected);
  }
  assert_int_equal(count, sizeof versions / sizeof *versions);
}

static void round_trip(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof versions / sizeof *versions; ++i) {
    kdl_feature_set set = parse(versions[i].name);
    kdl_feature_set back = parse(print(set));
    assert_int_equal(set.word[0], back.word[0]);
    assert_int_equal(set.word[1], back.word[1]);
  }
  assert_string_equal(print(parse("armv8.1-a")), "armv8-a+lse+rdm+crc");
}

static void features_imply(void **state) {
  (void)state;
  assert_string_equal(print(parse("armv8-a+sve2-aes")), "armv8-a+aes+fp16+sve+sve2+sve2-aes");
  assert_string_equal(print(parse("armv8-a+sme2")), "armv8-a+fp16+bf16+sme+sme2");
  assert_string_equal(print(parse("armv8-a+rcpc3")), "armv8-a+rcpc+rcpc2+rcpc3");
  assert_string_equal(print(parse("armv8-a+crypto")), "armv8-a+sha2+aes");
  assert_string_equal(print(parse("armv8-a+sve_vl_512")), "armv8-a+fp16+sve+sve_vl_256+sve_vl_512");
}

static void bad_text(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t position;
    const char *expected;
  } rows[] = {
      {"armv8.10-a", 0, "armv8-a to armv9.4-a or a CPU, then +features"},
      {"armv9.5-a", 0, "armv8-a to armv9.4-a or a CPU, then +features"},
      {"neoverse", 0, "armv8-a to armv9.4-a or a CPU, then +features"},
      {"armv8-a+", 8, "an AArch64 feature, as in +sve2"},
      {"armv8-a+nosve", 8, "an AArch64 feature, as in +sve2"},
      {"armv8-a+sve+avx2", 12, "an AArch64 feature, as in +sve2"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_feature_set set;
    kdl_parse_error error = {99, NULL};
    assert_false(kdl_aarch64_parse(kdl_text_of(rows[i].text), &set, &error));
    assert_int_equal(error.position, rows[i].position);
    assert_string_equal(error.expected, rows[i].expected);
  }
}

/* ACLE: "the higher priority version is determined by identifying the highest priority feature that
 * is specified in exactly one of the versions". The list, ascending. */
static void acle_priority(void **state) {
  (void)state;
  static const char *const ascending[] = {
      "rng",   "flagm",  "flagm2", "lse",   "dotprod",  "sm4",          "rdm",        "crc",
      "sha2",  "sha3",   "aes",    "fp16",  "fp16fml",  "dit",          "dpb",        "dpb2",
      "jscvt", "fcma",   "rcpc",   "rcpc2", "rcpc3",    "frintts",      "i8mm",       "bf16",
      "sve",   "f32mm",  "f64mm",  "sve2",  "sve2-aes", "sve2-bitperm", "sve2-sha3",  "sve2-sm4",
      "sme",   "memtag", "sb",     "ssbs",  "bti",      "wfxt",         "sme-f64f64", "sme-i16i64",
      "sme2",  "mops",   "cssc"};
  image_case low;
  image_case high;
  for (size_t i = 0; i + 1 < sizeof ascending / sizeof *ascending; ++i) {
    char line[64];
    snprintf(line, sizeof line, "object armv8-a+%s", ascending[i]);
    case_image(&low, line);
    snprintf(line, sizeof line, "object armv8-a+%s", ascending[i + 1]);
    case_image(&high, line);
    assert_true(high.rule.rank > low.rule.rank);
  }
  /* One high feature outweighs any number of lower ones. */
  case_image(&low, "object armv8-a+sve+bf16+i8mm+dotprod+fp16fml+crypto");
  case_image(&high, "object armv8-a+sve2");
  assert_true(high.rule.rank > low.rule.rank);
  case_image(&low, "object armv8-a+sve2");
  case_image(&high, "object armv8-a+sve2+rng");
  assert_true(high.rule.rank > low.rule.rank);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_base),     cmocka_unit_test(round_trip),
      cmocka_unit_test(features_imply), cmocka_unit_test(bad_text),
      cmocka_unit_test(acle_priority),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
