/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NVIDIA: names, Tegra parts, PTX versions, tokens, and the order among images. */
#include "lib/target/families/gpu.h"

#include "lib/target/features/feature.h"
#include "target_case.h"

#define V(major, minor) KDL_VERSION_OF(major, minor)

static void names(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned number, major, minor;
    char suffix;
    bool is_virtual, is_tegra;
  } rows[] = {
      {"sm_20", 20, 2, 0, 0, false, false},       {"sm_32", 32, 3, 2, 0, false, true},
      {"sm_50", 50, 5, 0, 0, false, false},       {"sm_53", 53, 5, 3, 0, false, true},
      {"sm_62", 62, 6, 2, 0, false, true},        {"sm_72", 72, 7, 2, 0, false, true},
      {"sm_75", 75, 7, 5, 0, false, false},       {"sm_87", 87, 8, 7, 0, false, true},
      {"sm_88", 88, 8, 8, 0, false, false},       {"sm_89", 89, 8, 9, 0, false, false},
      {"sm_90", 90, 9, 0, 0, false, false},       {"sm_90a", 90, 9, 0, 'a', false, false},
      {"compute_90", 90, 9, 0, 0, true, false},   {"compute_90a", 90, 9, 0, 'a', true, false},
      {"sm_100", 100, 10, 0, 0, false, false},    {"sm_100f", 100, 10, 0, 'f', false, false},
      {"sm_101", 101, 11, 0, 0, false, true},     {"sm_101a", 101, 11, 0, 'a', false, true},
      {"sm_103", 103, 10, 3, 0, false, false},    {"sm_107", 107, 10, 7, 0, false, false},
      {"sm_110", 110, 11, 0, 0, false, true},     {"sm_110f", 110, 11, 0, 'f', false, true},
      {"sm_120", 120, 12, 0, 0, false, false},    {"sm_121a", 121, 12, 1, 'a', false, false},
      {"sm_2559", 2559, 255, 9, 0, false, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_nvptx_arch arch;
    if (!kdl_nvptx_parse(kdl_text_of(rows[i].text), &arch, NULL))
      fail_msg("%s was refused", rows[i].text);
    assert_int_equal(arch.number, rows[i].number);
    assert_int_equal(arch.major, rows[i].major);
    assert_int_equal(arch.minor, rows[i].minor);
    assert_int_equal(arch.suffix, rows[i].suffix);
    assert_int_equal(arch.is_virtual, rows[i].is_virtual);
    assert_int_equal(arch.part == KDL_NVPTX_TEGRA, rows[i].is_tegra);
  }
}

static void bad_names(void **state) {
  (void)state;
  static const char grammar[] = "sm_NN or compute_NN, with 'a' or 'f' behind it if need be";
  static const char digits[] = "a compute capability as two to four digits";
  static const struct {
    const char *text;
    size_t position;
    const char *expected;
  } rows[] = {
      {"", 0, grammar},         {"sm90", 0, grammar},
      {"SM_90", 0, grammar},    {"sm_", 3, grammar},
      {"sm_9", 3, digits},      {"sm_090", 3, grammar},
      {"sm_9x", 3, digits},     {"sm_90b", 5, grammar},
      {"sm_90aa", 6, grammar},  {"sm_80a", 5, grammar},
      {"sm_90f", 5, grammar},   {"sm_90 ", 5, grammar},
      {"sm_2560", 3, digits},   {"sm_99999999999", 12, grammar},
      {"compute_", 8, grammar}, {"compute_90x", 10, grammar},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_nvptx_arch arch;
    kdl_parse_error error = {99, NULL};
    assert_false(kdl_nvptx_parse(kdl_text_of(rows[i].text), &arch, &error));
    assert_string_equal(error.expected, rows[i].expected);
    if (error.position != rows[i].position)
      fail_msg("%s: position %zu, expected %zu", rows[i].text, error.position, rows[i].position);
  }
}

/* docs.architectures compares what follows from each row. */
static void rows_are_found(void **state) {
  (void)state;
  uint16_t before = 0;
  for (size_t i = 0; i < KDL_NVPTX_COUNT; before = kdl_nvptx_processors[i++].number) {
    const kdl_nvptx_processor *row = &kdl_nvptx_processors[i];
    uint8_t major;
    uint8_t minor;
    assert_true(row->number > before && row->ptx);
    assert_true(kdl_nvptx_capability(row->number, &major, &minor));
    assert_ptr_equal(kdl_nvptx_find(major, minor), row);
  }
  assert_null(kdl_nvptx_find(9, 1));
  assert_null(kdl_nvptx_find(9, 10));
  assert_null(kdl_nvptx_find(255, 9));
}

static void first_ptx_of_targets_without_a_row(void **state) {
  (void)state;
  static const struct {
    const char *arch;
    uint32_t ptx;
  } rows[] = {{"sm_101", V(8, 6)},
              {"sm_101a", V(8, 6)},
              {"sm_101f", V(8, 8)},
              {"sm_91", 0},
              {"sm_2559", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_nvptx_arch arch;
    assert_true(kdl_nvptx_parse(kdl_text_of(rows[i].arch), &arch, NULL));
    if (kdl_nvptx_first_ptx(&arch) != rows[i].ptx)
      fail_msg("%s: found 0x%x", rows[i].arch, kdl_nvptx_first_ptx(&arch));
  }
}

static void tile_ir_of_unknown_parts_is_that_of_the_row_before(void **state) {
  (void)state;
  assert_int_equal(kdl_nvptx_tile_ir_driver(0x0100), 0);
  assert_int_equal(kdl_nvptx_tile_ir_driver(0x0901), V(13, 3));
  assert_int_equal(kdl_nvptx_tile_ir_driver(0x0a07), V(13, 1));
  assert_int_not_equal(kdl_nvptx_tile_ir_driver(0xff09), 0);
}

/* PTX ISA, "Release Notes". */
static void ptx_of_each_cuda_release(void **state) {
  (void)state;
  static const struct {
    uint32_t cuda, ptx;
  } rows[] = {
      {V(9, 0), V(6, 0)},
      {V(9, 1), V(6, 1)},
      {V(9, 2), V(6, 2)},
      {V(10, 0), V(6, 3)},
      {V(10, 1), V(6, 4)},
      {V(10, 2), V(6, 5)},
      {V(11, 0), V(7, 0)},
      {V(11, 1), V(7, 1)},
      {V(11, 2), V(7, 2)},
      {V(11, 3), V(7, 3)},
      {V(11, 4), V(7, 4)},
      {V(11, 5), V(7, 5)},
      {V(11, 6), V(7, 6)},
      {V(11, 7), V(7, 7)},
      {V(11, 8), V(7, 8)},
      {V(12, 0), V(8, 0)},
      {V(12, 1), V(8, 1)},
      {V(12, 2), V(8, 2)},
      {V(12, 3), V(8, 3)},
      {V(12, 4), V(8, 4)},
      {V(12, 5), V(8, 5)},
      {V(12, 6), V(8, 5)},
      {V(12, 7), V(8, 6)},
      {V(12, 8), V(8, 7)},
      {V(12, 9), V(8, 8)},
      {V(13, 0), V(9, 0)},
      {V(13, 1), V(9, 1)},
      {V(13, 2), V(9, 2)},
      {V(13, 3), V(9, 3)},
      {V(13, 4), V(9, 4)},
      /* before and behind the table */
      {V(8, 0), 0},
      {V(14, 0), V(9, 4)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    assert_int_equal(kdl_nvptx_ptx_of_cuda(rows[i].cuda), rows[i].ptx);
  assert_int_equal(kdl_nvptx_cuda_of_ptx(V(8, 5)), V(12, 5));
  assert_int_equal(kdl_nvptx_cuda_of_ptx(V(8, 8)), V(12, 9));
  assert_int_equal(kdl_nvptx_cuda_of_ptx(V(9, 0)), V(13, 0));
  assert_int_equal(kdl_nvptx_cuda_of_ptx(V(10, 0)), 0);
}

/* A PTX version has a bit of its own: a driver that knows one version knows all before it and none
 * behind it. */
static void every_ptx_version_is_told_apart(void **state) {
  (void)state;
  static image_case image;
  static device_case device;
  static const struct {
    int major, last_minor;
  } majors[] = {{6, 5}, {7, 8}, {8, 8}, {9, 9}, {10, 4}};
  char line[64];
  int known = 0;
  for (size_t i = 0; i < sizeof majors / sizeof *majors; ++i) {
    for (int minor = 0; minor <= majors[i].last_minor; ++minor, ++known) {
      snprintf(line, sizeof line, "cuda sm_120 ptx=%d.%d", majors[i].major, minor);
      case_device(&device, line);
      int runs = 0;
      int total = 0;
      for (size_t j = 0; j < sizeof majors / sizeof *majors; ++j) {
        for (int other = 0; other <= majors[j].last_minor; ++other, ++total) {
          snprintf(line, sizeof line, "ptx sm_50 v%d.%d", majors[j].major, other);
          case_image(&image, line);
          runs += kdl_match_admits(&image.rule, &device.rule);
        }
      }
      assert_int_equal(runs, known + 1);
      assert_int_equal(total, 6 + 9 + 9 + 10 + 5);
    }
  }
}

/* CUDA C++ Programming Guide, "Feature Support per Compute Capability"; PTX ISA. */
static void tokens(void **state) {
  (void)state;
  static const struct {
    const char *token;
    const char *first;  /* the first device that has it ... */
    const char *before; /* ... and the last before that has not, or none */
  } rows[] = {
      {"fp64", "sm_20", NULL},
      {"int64", "sm_20", NULL},
      {"subgroups", "sm_20", NULL},
      {"subgroup_size_32", "sm_20", NULL},
      {"generic_pointer", "sm_20", NULL},
      {"images", "sm_20", NULL},
      {"int64_atomics", "sm_35", "sm_30"},
      {"fp16", "sm_53", "sm_52"},
      {"cooperative_launch", "sm_60", "sm_53"},
      {"int8_dot", "sm_61", "sm_60"},
      {"tensor_core_nv", "sm_70", "sm_62"},
      {"bf16", "sm_80", "sm_75"},
      {"tf32", "sm_80", "sm_75"},
      {"async_copy_nv", "sm_80", "sm_75"},
      {"fp8", "sm_89", "sm_87"},
      {"clusters", "sm_90", "sm_89"},
      {"tma_nv", "sm_90", "sm_89"},
      {"wgmma_nv", "sm_90", "sm_89"},
      {"wgmma_nv", "sm_90", "sm_100"},
      {"tcgen05_nv", "sm_100", "sm_90"},
      {"tcgen05_nv", "sm_103", "sm_120"},
      {"tcgen05_nv", "sm_110", "sm_121"},
      {"fp4", "sm_100", "sm_90"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    static device_case device;
    char line[64];
    int bit = kdl_feature_bit(KDL_CLASS_GPU, kdl_text_of(rows[i].token));
    assert_true(bit >= 0);
    snprintf(line, sizeof line, "cuda %s", rows[i].first);
    case_device(&device, line);
    if (kdl_feature_has(device.rule.lacks, (unsigned)bit))
      fail_msg("%s lacks %s", rows[i].first, rows[i].token);
    if (!rows[i].before)
      continue;
    snprintf(line, sizeof line, "cuda %s", rows[i].before);
    case_device(&device, line);
    if (!kdl_feature_has(device.rule.lacks, (unsigned)bit))
      fail_msg("%s has %s", rows[i].before, rows[i].token);
  }
}

static void nearer_images_rank_higher(void **state) {
  (void)state;
  /* Worst first, on a device of compute capability 10.3. */
  static const char *const on_103[] = {
      "ltoir sm_75",  "tileir sm_80",  "ptx sm_75",     "ptx sm_90",    "ptx sm_100",
      "ptx sm_100f",  "ptx sm_103",    "ptx sm_103f",   "ptx sm_103a",  "cubin sm_100",
      "cubin sm_103", "cubin sm_100f", "cubin sm_103f", "cubin sm_103a"};
  for (int count = 1; count <= (int)(sizeof on_103 / sizeof *on_103); ++count)
    assert_int_equal(case_best(on_103, count, "cuda sm_103 loads=ltoir"), count - 1);
  static const char *const on_89[] = {"ptx sm_50",   "ptx sm_75",   "ptx sm_80",  "ptx sm_89",
                                      "cubin sm_80", "cubin sm_86", "cubin sm_89"};
  for (int count = 1; count <= (int)(sizeof on_89 / sizeof *on_89); ++count)
    assert_int_equal(case_best(on_89, count, "cuda sm_89"), count - 1);
  /* Of equals, the one that requires more. */
  static const char *const equal[] = {"cubin sm_90", "cubin sm_90 requires_features=bf16",
                                      "cubin sm_90 requires_features=bf16+tensor_core_nv"};
  assert_int_equal(case_best(equal, 3, "cuda sm_90"), 2);
}

static void fits_are_told(void **state) {
  (void)state;
  static const struct {
    const char *image, *fit;
  } rows[] = {{"cubin sm_103a", "arch-specific"},
              {"cubin sm_100f", "family"},
              {"cubin sm_103", "exact"},
              {"cubin sm_100", "lower minor"},
              {"ptx sm_90", "driver IR"}};
  static image_case image;
  static device_case device;
  case_device(&device, "cuda sm_103");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    case_image(&image, rows[i].image);
    assert_string_equal(kdl_match_fit(&image.rule, &device.rule), rows[i].fit);
  }
}

/* What is refused without a rule is refused by the rule. */
static void refused_at_once_is_refused_by_the_rule(void **state) {
  (void)state;
  static const char *const suffixes[] = {"", "a", "f", "x"};
  static const char *const devices[] = {"sm_50",  "sm_75",  "sm_87", "sm_90",
                                        "sm_101", "sm_110", "sm_121"};
  size_t refused = 0;
  for (size_t d = 0; d < sizeof devices / sizeof *devices; ++d) {
    kdl_device_rule device;
    assert_true(kdl_device_compile(
        &(kdl_device_desc){.family = KDL_FAMILY_NVPTX, .arch = kdl_text_of(devices[d])}, &device,
        NULL));
    for (unsigned i = 0; i < 32 * 140; ++i) {
      char arch[32];
      snprintf(arch, sizeof arch, "%s%u%s", i & 16 ? "compute_" : "sm_", i / 32, suffixes[i & 3]);
      kdl_image_kind kind = i & 4 ? KDL_IMAGE_PTX : i & 8 ? KDL_IMAGE_HSACO : KDL_IMAGE_CUBIN;
      kdl_image_rule image;
      kdl_image_compile(&(kdl_image_desc){.kind = kind, .arch = kdl_text_of(arch)}, &image);
      bool may_run = kdl_match_may_run(kind, kdl_text_of(arch), &device);
      assert_true(may_run || !kdl_match_admits(&image, &device));
      refused += !may_run;
    }
  }
  assert_true(refused > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names),
      cmocka_unit_test(bad_names),
      cmocka_unit_test(rows_are_found),
      cmocka_unit_test(first_ptx_of_targets_without_a_row),
      cmocka_unit_test(tile_ir_of_unknown_parts_is_that_of_the_row_before),
      cmocka_unit_test(ptx_of_each_cuda_release),
      cmocka_unit_test(every_ptx_version_is_told_apart),
      cmocka_unit_test(tokens),
      cmocka_unit_test(nearer_images_rank_higher),
      cmocka_unit_test(fits_are_told),
      cmocka_unit_test(refused_at_once_is_refused_by_the_rule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
