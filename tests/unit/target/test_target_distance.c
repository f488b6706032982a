/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Among the images that do not run on a device, the nearest is the one that a user would name. */
#include "target_case.h"

enum { most_images = 6 };

static const struct {
  const char *device;
  const char *images[most_images]; /* the nearest first; none runs */
} rows[] = {
    /* The next minor, not the highest of all. */
    {"cuda sm_70", {"cubin sm_75", "cubin sm_60", "cubin sm_90a", "cubin sm_121a"}},
    {"cuda sm_87", {"cubin sm_86", "cubin sm_89", "cubin sm_80", "cubin sm_75"}},
    {"cuda sm_90", {"cubin sm_89", "cubin sm_100a", "cubin sm_120f"}},
    {"cuda sm_103", {"cubin sm_100a", "cubin sm_90", "cubin sm_120", "cubin sm_75"}},
    {"cuda sm_61", {"ptx sm_70", "ptx sm_80", "ptx sm_90a"}},
    /* A driver can be updated. */
    {"cuda sm_90 driver=12.2", {"ptx sm_80 v9.0", "cubin sm_89"}},
    /* CDNA is nearer to CDNA than RDNA is, whatever the numbers say. */
    {"hip gfx950",
     {"hsaco gfx942", "hsaco gfx90a", "hsaco gfx908", "hsaco gfx906", "hsaco gfx1030"}},
    {"hip gfx1030", {"hsaco gfx1031", "hsaco gfx1010", "hsaco gfx1100", "hsaco gfx942"}},
    {"hip gfx90a", {"hsaco gfx90a:xnack+", "hsaco gfx908", "hsaco gfx1200"}},
    {"hip gfx1200",
     {"hsaco gfx11-generic g1", "hsaco gfx10-3-generic g1", "hsaco gfx9-4-generic g1"}},
    {"level_zero pvc", {"zebin dg2-g10", "zebin bmg-g21", "cubin sm_90"}},
    /* The fewest features to do without. */
    {"host x86-64-v2", {"object x86-64-v3", "object x86-64-v4", "object armv8-a", "cubin sm_90"}},
};

static void the_nearest_goes_first(void **state) {
  (void)state;
  static device_case device;
  static image_case image;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    uint64_t before = 0;
    case_device(&device, rows[i].device);
    for (size_t k = 0; k < most_images && rows[i].images[k]; ++k) {
      case_image(&image, rows[i].images[k]);
      uint64_t reasons = kdl_match(&image.rule, &device.rule).reasons;
      if (!reasons)
        fail_msg("%s runs on %s", rows[i].images[k], rows[i].device);
      uint64_t distance = kdl_match_distance(&image.rule, &device.rule, reasons);
      if (distance <= before)
        fail_msg("%s: %s is at %#llx, the one before at %#llx", rows[i].device, rows[i].images[k],
                 (unsigned long long)distance, (unsigned long long)before);
      before = distance;
    }
  }
}

static void orin_takes_desktop_cubins_from_cuda_13_2_on(void **state) {
  (void)state;
  static const struct {
    const char *image, *device, *expected;
  } cases[] = {
      {"cubin sm_80", "cuda sm_87", "tegra_exact"},
      {"cubin sm_80", "cuda sm_87 driver=12.6", "tegra_exact"},
      {"cubin sm_86", "cuda sm_87 driver=13.1", "tegra_exact"},
      {"cubin sm_80", "cuda sm_87 driver=13.2", "runs"},
      {"cubin sm_86", "cuda sm_87 driver=13.4", "runs"},
      {"cubin sm_87", "cuda sm_87 driver=13.2", "runs"},
      {"cubin sm_89", "cuda sm_87 driver=13.2", "newer_minor"},
      {"cubin sm_75", "cuda sm_87 driver=13.2", "other_major"},
      {"cubin sm_87", "cuda sm_89 driver=13.2", "tegra_exact"},
      {"cubin sm_70", "cuda sm_72 driver=13.2", "tegra_exact"},
  };
  static device_case device;
  static image_case image;
  char buffer[256];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    case_image(&image, cases[i].image);
    case_device(&device, cases[i].device);
    assert_string_equal(case_match(&image, &device, buffer, sizeof buffer), cases[i].expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_nearest_goes_first),
      cmocka_unit_test(orin_takes_desktop_cubins_from_cuda_13_2_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
