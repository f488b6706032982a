/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Intel GPUs and SPIR-V: IP versions, products, and the order among images. */
#include "lib/inspect/selection.h"
#include "lib/target/families/gpu.h"

#include "lib/target/features/feature.h"
#include "target_case.h"

/* compute-runtime: the numbers its drivers report for the products ocloc names. */
static const struct {
  const char *name;
  uint32_t number;
} products[] = {
    {"tgllp", 0x03000000},     {"tgl", 0x03000000},       {"rkl", 0x03004000},
    {"adl-s", 0x03008000},     {"rpl-s", 0x03008000},     {"adl-p", 0x0300c000},
    {"rpl-p", 0x0300c000},     {"adl-n", 0x03010000},     {"dg1", 0x03028000},
    {"dg2-g10", 0x030dc008},   {"acm-g10", 0x030dc008},   {"ats-m150", 0x030dc008},
    {"dg2", 0x030dc008},       {"dg2-g11", 0x030e0005},   {"acm-g11", 0x030e0005},
    {"ats-m75", 0x030e0005},   {"dg2-g12", 0x030e4000},   {"acm-g12", 0x030e4000},
    {"pvc-xl-a0", 0x030f0000}, {"pvc-sdv", 0x030f0001},   {"pvc-xt-a0", 0x030f0003},
    {"pvc-xt-b0", 0x030f0005}, {"pvc-xt-b1", 0x030f0006}, {"pvc", 0x030f0007},
    {"pvc-xt-c0", 0x030f0007}, {"pvc-vg", 0x030f4007},    {"mtl-u", 0x03118004},
    {"mtl-s", 0x03118004},     {"mtl-m", 0x03118004},     {"arl-u", 0x03118004},
    {"arl-s", 0x03118004},     {"mtl", 0x03118004},       {"mtl-h", 0x0311c004},
    {"mtl-p", 0x0311c004},     {"arl-h", 0x03128004},     {"bmg-g21", 0x05004000},
    {"bmg", 0x05004000},       {"bmg-g31", 0x05008000},   {"lnl-m", 0x05010004},
    {"ptl-h", 0x07800004},     {"ptl", 0x07800004},       {"ptl-u", 0x07804000},
    {"wcl", 0x0780c001},       {"nvl-s", 0x07810004},     {"nvl-hx", 0x07810004},
    {"nvl-ul", 0x07810004},    {"nvl-u", 0x07814004},     {"nvl-h", 0x07814004},
    {"cri", 0x08c2c000},
};

static void every_product(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof products / sizeof *products; ++i) {
    kdl_intel_ip ip;
    assert_true(kdl_intel_parse(kdl_text_of(products[i].name), &ip, NULL));
    if (kdl_intel_number(ip) != products[i].number)
      fail_msg("%s: found 0x%08x", products[i].name, kdl_intel_number(ip));
    const char *acronym = kdl_intel_acronym(ip);
    assert_non_null(acronym);
    kdl_intel_ip back;
    assert_true(kdl_intel_parse(kdl_text_of(acronym), &back, NULL));
    assert_int_equal(kdl_intel_number(back), products[i].number);
  }
}

static void spellings(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint32_t number;
  } rows[] = {
      {"12.60.7", 0x030f0007},
      {"0x030f0007", 0x030f0007},
      {"0x30F0007", 0x030f0007},
      {"intel_gpu_pvc", 0x030f0007},
      {"ip=12.60.7", 0x030f0007},
      {"intel_gpu_dg2_g10", 0x030dc008},
      {"intel_gpu_12_60_7", 0x030f0007},
      {"dg2_g10", 0x030dc008},
      {"20.1.0", 0x05004000},
      {"255.255.63", 0x3fffc03f},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_intel_ip ip;
    if (!kdl_intel_parse(kdl_text_of(rows[i].text), &ip, NULL))
      fail_msg("%s was refused", rows[i].text);
    assert_int_equal(kdl_intel_number(ip), rows[i].number);
  }
  char buffer[32] = "";
  kdl_out out = {buffer, sizeof buffer, 0};
  kdl_out_intel(&out, KDL_TEXT("12.60.7"));
  assert_string_equal(buffer, "12.60.7 (pvc)");
  out.used = 0;
  kdl_out_intel(&out, KDL_TEXT("12.60.9"));
  assert_string_equal(buffer, "12.60.9");
}

static void bad_text(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t position;
  } rows[] = {
      {"", 0},           {"pvd", 0},        {"12", 2},
      {"12.60", 5},      {"12.60.", 6},     {"12.60.64", 6},
      {"12.256.0", 3},   {"256.0.0", 0},    {"12.60.7.1", 7},
      {"12-60-7", 2},    {"0x", 0},         {"0x030f00071", 0},
      {"0x030g0007", 0}, {"0xffffffff", 0}, {"intel_gpu_", 10},
      {"0x030f0047", 0}, /* reserved bits */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_intel_ip ip;
    kdl_parse_error error = {99, NULL};
    if (kdl_intel_parse(kdl_text_of(rows[i].text), &ip, &error))
      fail_msg("%s was taken", rows[i].text);
    if (error.position != rows[i].position)
      fail_msg("%s: position %zu, expected %zu", rows[i].text, error.position, rows[i].position);
    assert_string_equal(error.expected,
                        "an IP version (12.60.7) or a product (pvc, dg2-g10, bmg-g21)");
  }
}

/* Intel's product documentation; what is not certain of a product is not in the table and must come
 * from the driver. */
static void tokens(void **state) {
  (void)state;
  static const struct {
    const char *token;
    const char *with, *without;
  } rows[] = {
      {"fp16", "tgllp dg2-g10 pvc bmg-g21 ptl-h", ""},
      {"int64_atomics", "tgllp dg2-g10 pvc bmg-g21", ""},
      {"images", "tgllp dg2-g10 mtl-u bmg-g21 ptl-h", "pvc pvc-vg"},
      {"int64", "tgllp dg2-g10 pvc bmg-g21", ""},
      {"subgroups", "tgllp dg2-g10 pvc bmg-g21", ""},
      {"generic_pointer", "tgllp pvc lnl-m", ""},
      {"int8_dot", "tgllp dg2-g10 pvc", ""},
      {"subgroup_size_8", "tgllp dg2-g10 dg2-g12 mtl-u arl-h", "pvc pvc-vg bmg-g21 lnl-m ptl-h"},
      {"subgroup_size_16", "tgllp dg2-g10 pvc bmg-g21", ""},
      {"subgroup_size_32", "tgllp dg2-g10 pvc bmg-g21", ""},
      {"subgroup_size_64", "", "tgllp pvc bmg-g21"},
      {"xmx_intel", "dg2-g10 dg2-g12 pvc arl-h bmg-g21 lnl-m ptl-h", "tgllp dg1 mtl-u mtl-h"},
      {"bf16", "dg2-g10 pvc arl-h bmg-g21", "tgllp mtl-u"},
      {"fp64", "pvc pvc-vg bmg-g21 lnl-m", "tgllp dg1 dg2-g10 dg2-g11"},
      {"tf32", "pvc", "dg2-g10"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    int bit = kdl_feature_bit(KDL_CLASS_GPU, kdl_text_of(rows[i].token));
    assert_true(bit >= 0);
    for (int with = 0; with < 2; ++with) {
      char names[128];
      strcpy(names, with ? rows[i].with : rows[i].without);
      char *rest;
      for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        static device_case device;
        char line[64];
        snprintf(line, sizeof line, "level_zero %s", name);
        case_device(&device, line);
        if (kdl_feature_has(device.rule.lacks, (unsigned)bit) == with)
          fail_msg("%s and %s", name, rows[i].token);
      }
    }
  }
}

static void nearer_images_rank_higher(void **state) {
  (void)state;
  static const char *const order[] = {
      "spirv - triple=spirv64 v1.0",
      "spirv - triple=spirv64 v1.2",
      "spirv - triple=spirv64 v1.2 requires_features=fp64",
      "spirv - triple=spirv64 v1.4",
      "zebin pvc",
  };
  for (int count = 1; count <= (int)(sizeof order / sizeof *order); ++count)
    assert_int_equal(case_best(order, count, "level_zero pvc"), count - 1);
}

static void every_spirv_version_is_told_apart(void **state) {
  (void)state;
  static image_case image;
  static device_case device;
  char line[64];
  for (int has = 0; has <= 6; ++has) {
    snprintf(line, sizeof line, "opencl spirv64 spirv=1.%d", has);
    case_device(&device, line);
    for (int needs = 0; needs <= 6; ++needs) {
      snprintf(line, sizeof line, "spirv - triple=spirv64 v1.%d", needs);
      case_image(&image, line);
      assert_int_equal(kdl_match_admits(&image.rule, &device.rule), needs <= has);
    }
    case_image(&image, "spirv - triple=spirv64 v2.0");
    assert_false(kdl_match_admits(&image.rule, &device.rule));
  }
}

/* Where the metadata does not name features, what the module declares counts, and only on devices
 * whose features are known. */
static void capabilities_of_a_module_count(void **state) {
  (void)state;
  static const struct {
    const char *image, *device;
    bool runs;
  } rows[] = {
      {"spirv - triple=spirv64 v1.2", "level_zero dg2-g10", false},
      {"spirv - triple=spirv64 v1.2", "level_zero dg2-g10 features=fp64", true},
      {"spirv - triple=spirv64 v1.2", "level_zero pvc", true},
      {"spirv - triple=spirv64 v1.2 variant_tag=x", "level_zero dg2-g10", false},
      {"spirv - triple=spirv64 v1.2 requires_features=int64", "level_zero dg2-g10", true},
      {"spirv - triple=spirv64 v1.2", "opencl spirv64 spirv=1.2", true},
      {"spirv - triple=spirv64 v1.2", "opencl spirv64 spirv=1.2 features=int64", false},
      {"spirv - triple=spirv64 v1.2", "opencl spirv64 spirv=1.2 features=fp64", true},
  };
  static image_case image;
  static device_case device;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    case_image(&image, rows[i].image);
    image.desc.capabilities = 1u << KDL_GPU_FP64;
    kdl_image_compile(&image.desc, &image.rule);
    case_device(&device, rows[i].device);
    kdl_match_result found = kdl_match(&image.rule, &device.rule);
    if (found.reasons != (rows[i].runs ? 0 : KDL_REASON(MISSING_FEATURES)))
      fail_msg("%s on %s: reasons 0x%llx", rows[i].image, rows[i].device,
               (unsigned long long)found.reasons);
  }
  case_device(&device, "level_zero dg2-g10");
  const kdl_mismatch mismatch = {&image.desc, &image.rule, &device.desc, &device.rule};
  char words[128];
  kdl_reason_words(&mismatch, KDL_REASON_MISSING_FEATURES, words, sizeof words);
  assert_string_equal(words, "needs fp64, which the device lacks");
}

static void bad_spirv_device(void **state) {
  (void)state;
  static device_case device;
  kdl_device_error error;
  assert_false(case_device_try(&device, "opencl spirv128", &error));
  assert_string_equal(error.field, "arch");
  assert_string_equal(error.parse.expected, "spirv64 or spirv32");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_product),
      cmocka_unit_test(spellings),
      cmocka_unit_test(bad_text),
      cmocka_unit_test(tokens),
      cmocka_unit_test(nearer_images_rank_higher),
      cmocka_unit_test(every_spirv_version_is_told_apart),
      cmocka_unit_test(capabilities_of_a_module_count),
      cmocka_unit_test(bad_spirv_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
