/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Properties of every image and every device, over all pairs of two long lists. */
#include "target_case.h"

static const char *const images[] = {"cubin sm_75",
                                     "cubin sm_80",
                                     "cubin sm_86",
                                     "cubin sm_87",
                                     "cubin sm_89",
                                     "cubin sm_90",
                                     "cubin sm_90a",
                                     "cubin sm_100",
                                     "cubin sm_100a",
                                     "cubin sm_100f",
                                     "cubin sm_103",
                                     "cubin sm_103f",
                                     "cubin sm_110",
                                     "cubin sm_120",
                                     "cubin sm_120f",
                                     "cubin sm_121a",
                                     "ptx sm_50",
                                     "ptx sm_75 v8.0",
                                     "ptx sm_80 min_sm=86",
                                     "ptx sm_90",
                                     "ptx sm_90a",
                                     "ptx sm_100f",
                                     "ptx sm_120 v8.8",
                                     "ptx sm_75 requires_features=bf16",
                                     "tileir sm_80 v13.1",
                                     "tileir sm_80 v13.4",
                                     "ltoir sm_80",
                                     "bitcode sm_80",
                                     "hsaco gfx900",
                                     "hsaco gfx906",
                                     "hsaco gfx908",
                                     "hsaco gfx90a",
                                     "hsaco gfx90a:xnack+",
                                     "hsaco gfx90a:xnack-",
                                     "hsaco gfx90a:sramecc+",
                                     "hsaco gfx90a:sramecc+:xnack-",
                                     "hsaco gfx942",
                                     "hsaco gfx942:xnack+",
                                     "hsaco gfx9-generic",
                                     "hsaco gfx9-4-generic",
                                     "hsaco gfx1030",
                                     "hsaco gfx10-3-generic",
                                     "hsaco gfx1100",
                                     "hsaco gfx1103",
                                     "hsaco gfx11-generic",
                                     "hsaco gfx12-generic",
                                     "spirv amdgcnspirv",
                                     "spirv amdgcnspirv min_gfx=gfx90a:cdna2",
                                     "spirv amdgcnspirv requires_features=wmma_amd",
                                     "hsaco gfx11-generic v5.0",
                                     "zebin pvc",
                                     "zebin dg2-g10",
                                     "zebin bmg-g21",
                                     "spirv - triple=spirv64",
                                     "spirv - triple=spirv64 v1.4",
                                     "spirv - triple=spirv64 v1.6",
                                     "spirv - triple=spirv64 requires_features=fp64",
                                     "spirv spirv32 triple=spirv32",
                                     "object x86-64",
                                     "object x86-64-v2",
                                     "object x86-64-v3",
                                     "object x86-64-v3+avx_vnni",
                                     "object x86-64-v4",
                                     "object x86-64-v4+avx512_bf16",
                                     "object znver4",
                                     "object sapphirerapids",
                                     "object armv8-a",
                                     "object armv8.2-a+sve",
                                     "object armv9-a",
                                     "object neoverse-v1 triple=aarch64-linux-gnu",
                                     "object x86-64 variant_priority=3",
                                     "bitcode x86-64-v3",
                                     "fatbin sm_90 triple=nvptx64-nvidia-cuda",
                                     "cubin sm_9x",
                                     "unknown -",
                                     "ptx sm_75 min_sm=x",
                                     "cubin sm_80 min_sm=90",
                                     "cubin sm_90 triple=amdgcn-amd-amdhsa"};

static const char *const devices[] = {"cuda sm_75 driver=11.0",
                                      "cuda sm_80",
                                      "cuda sm_86 driver=12.4",
                                      "cuda sm_87",
                                      "cuda sm_89",
                                      "cuda sm_90 driver=13.0",
                                      "cuda sm_100",
                                      "cuda sm_103",
                                      "cuda sm_110",
                                      "cuda sm_120",
                                      "cuda sm_121",
                                      "hip gfx900",
                                      "hip gfx906:sramecc-:xnack-",
                                      "hip gfx908",
                                      "hip gfx90a",
                                      "hip gfx90a:sramecc-:xnack+",
                                      "hip gfx942",
                                      "hip gfx950",
                                      "hip gfx1030",
                                      "hip gfx1100",
                                      "hip gfx1103 driver=6.2",
                                      "hip gfx1201",
                                      "level_zero pvc",
                                      "level_zero dg2-g10 spirv=1.3",
                                      "level_zero bmg-g21",
                                      "opencl spirv64 spirv=1.4",
                                      "opencl spirv64",
                                      "opencl spirv32 spirv=1.2",
                                      "host x86-64",
                                      "host x86-64-v3",
                                      "host znver4",
                                      "host sapphirerapids",
                                      "host sapphirerapids refused=amx_tile",
                                      "host x86-64-v4 off=avx512f",
                                      "host armv8-a",
                                      "host neoverse-v1",
                                      "host neoverse-v2",
                                      "host x86-64-v4 loads=bitcode"};

enum {
  image_count = sizeof images / sizeof *images,
  device_count = sizeof devices / sizeof *devices,
};

static image_case image[image_count];
static device_case device[device_count];

static int compile_all(void **state) {
  (void)state;
  for (int i = 0; i < image_count; ++i)
    case_image(&image[i], images[i]);
  for (int d = 0; d < device_count; ++d)
    case_device(&device[d], devices[d]);
  return 0;
}

static void a_reason_or_a_rank(void **state) {
  (void)state;
  for (int d = 0; d < device_count; ++d) {
    for (int i = 0; i < image_count; ++i) {
      kdl_match_result result = kdl_match(&image[i].rule, &device[d].rule);
      bool admits = kdl_match_admits(&image[i].rule, &device[d].rule);
      assert_int_equal(admits, result.reasons == 0);
      assert_int_equal(admits, result.rank != 0);
      if (admits)
        assert_true(result.rank == image[i].rule.rank);
    }
  }
}

/* The reasons are those of the description, not of what was compiled before it. */
static void compiling_is_deterministic(void **state) {
  (void)state;
  for (int i = image_count - 1; i >= 0; --i) {
    static image_case again;
    case_image(&again, images[i]);
    assert_memory_equal(&again.rule, &image[i].rule, sizeof again.rule);
  }
  assert_int_equal(sizeof(kdl_image_rule), 64);
}

static void ranks_are_exact_in_a_double(void **state) {
  (void)state;
  for (int i = 0; i < image_count; ++i) {
    assert_true(image[i].rule.rank > 0);
    assert_true(image[i].rule.rank < (uint64_t)1 << 53);
  }
}

/* An image runs on devices of one family; SPIR-V on two. */
static void no_image_crosses_vendors(void **state) {
  (void)state;
  for (int i = 0; i < image_count; ++i) {
    for (int d = 0; d < device_count; ++d) {
      uint32_t has = device[d].rule.family;
      uint32_t wants = image[i].rule.family;
      if (kdl_match_admits(&image[i].rule, &device[d].rule))
        assert_true(has == wants || (wants == KDL_FAMILY_SPIRV && has == KDL_FAMILY_INTEL));
    }
  }
}

/* What some image offers, some device takes: the lists would be worthless otherwise. */
static void the_lists_are_worth_something(void **state) {
  (void)state;
  int runs = 0;
  for (int d = 0; d < device_count; ++d) {
    int here = 0;
    for (int i = 0; i < image_count; ++i)
      here += kdl_match_admits(&image[i].rule, &device[d].rule);
    assert_true(here > 0 || strcmp(devices[d], "opencl spirv64") == 0);
    runs += here;
  }
  assert_true(runs > 150);
}

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t limit) {
  random_state = random_state * 1664525 + 1013904223;
  return (random_state >> 8) % limit;
}

/* (priority, rank) of the best of the first `count` images in an order, and its index. */
static int best_of(const int *order, int count, int d, uint32_t *out_priority, uint64_t *out_rank) {
  int best = -1;
  *out_priority = 0;
  *out_rank = 0;
  for (int k = 0; k < count; ++k) {
    const kdl_image_rule *rule = &image[order[k]].rule;
    if (!kdl_match_admits(rule, &device[d].rule))
      continue;
    if (best < 0 || rule->priority > *out_priority ||
        (rule->priority == *out_priority &&
         (rule->rank > *out_rank || (rule->rank == *out_rank && order[k] < best)))) {
      best = order[k];
      *out_priority = rule->priority;
      *out_rank = rule->rank;
    }
  }
  return best;
}

static void shuffle(int *order) {
  for (int i = image_count - 1; i > 0; --i) {
    int j = (int)random_below((uint32_t)i + 1);
    int swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
}

static void the_choice_survives_shuffling_and_grows(void **state) {
  (void)state;
  int order[image_count];
  for (int i = 0; i < image_count; ++i)
    order[i] = i;
  for (int d = 0; d < device_count; ++d) {
    uint32_t priority;
    uint64_t rank;
    int chosen = best_of(order, image_count, d, &priority, &rank);
    for (int round = 0; round < 20; ++round) {
      shuffle(order);
      uint32_t last_priority = 0;
      uint64_t last_rank = 0;
      for (int count = 1; count <= image_count; ++count) {
        best_of(order, count, d, &priority, &rank);
        assert_true(priority > last_priority || (priority == last_priority && rank >= last_rank));
        last_priority = priority;
        last_rank = rank;
      }
      assert_int_equal(best_of(order, image_count, d, &priority, &rank), chosen);
    }
  }
}

static int compare_rules(const void *left, const void *right) {
  const kdl_image_rule *a = left;
  const kdl_image_rule *b = right;
  return a->rank < b->rank ? 1 : a->rank > b->rank ? -1 : 0;
}

/* The order of preference does not depend on the device: one sorted list serves them all. */
static void the_first_of_the_sorted_is_the_best(void **state) {
  (void)state;
  kdl_image_rule sorted[image_count];
  for (int i = 0; i < image_count; ++i)
    sorted[i] = image[i].rule;
  qsort(sorted, image_count, sizeof *sorted, compare_rules);
  for (int d = 0; d < device_count; ++d) {
    uint64_t best = 0;
    for (int i = 0; i < image_count; ++i) {
      uint64_t rank = kdl_match(&image[i].rule, &device[d].rule).rank;
      best = rank > best ? rank : best;
    }
    size_t first = 0;
    while (first < image_count && !kdl_match_admits(&sorted[first], &device[d].rule))
      ++first;
    assert_int_equal(first < image_count, best != 0);
    if (best)
      assert_true(sorted[first].rank == best);
  }
}

/* Every reason comes with words, whatever the pair. */
static void every_reason_is_told(void **state) {
  (void)state;
  char buffer[1024];
  for (int d = 0; d < device_count; ++d) {
    for (int i = 0; i < image_count; ++i) {
      uint64_t reasons = kdl_match(&image[i].rule, &device[d].rule).reasons;
      for (unsigned bit = 0; bit < 64; ++bit) {
        if (reasons >> bit & 1)
          assert_true(strlen(case_words(&image[i], &device[d], bit, buffer, sizeof buffer)) > 0);
      }
    }
  }
}

static void device_errors_name_the_field(void **state) {
  (void)state;
  static device_case broken;
  static const struct {
    const char *line, *field;
    size_t position;
  } rows[] = {{"cuda sm_9x", "arch", 3},
              {"cuda sm_90 features=bf16+warp_drive", "features", 5},
              {"host x86-64 off=bf16+avx3", "os_off", 5},
              {"host x86-64 refused=amx", "refused", 0},
              {"host armv8-a+avx2", "arch", 8},
              {"level_zero 12.60", "arch", 5}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_device_error error = {0};
    assert_false(case_device_try(&broken, rows[i].line, &error));
    assert_string_equal(error.field, rows[i].field);
    assert_int_equal(error.parse.position, rows[i].position);
  }
  kdl_device_desc none = {
      .arch = {"", 0}, .features = {"", 0}, .os_off = {"", 0}, .refused = {"", 0}};
  kdl_device_rule rule;
  assert_false(kdl_device_compile(&none, &rule, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_reason_or_a_rank),
      cmocka_unit_test(compiling_is_deterministic),
      cmocka_unit_test(ranks_are_exact_in_a_double),
      cmocka_unit_test(no_image_crosses_vendors),
      cmocka_unit_test(the_lists_are_worth_something),
      cmocka_unit_test(the_choice_survives_shuffling_and_grows),
      cmocka_unit_test(the_first_of_the_sorted_is_the_best),
      cmocka_unit_test(every_reason_is_told),
      cmocka_unit_test(device_errors_name_the_field),
  };
  return cmocka_run_group_tests(tests, compile_all, NULL);
}
