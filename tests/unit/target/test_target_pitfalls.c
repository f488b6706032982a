/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Cases that cost users days, each named after its public thread: which image is selected, and the
 * reasons for the others.
 */
#include "target_case.h"

static char buffer[512];

static const char *words(const char *image_line, const char *device_line, unsigned reason) {
  static image_case image;
  static device_case device;
  case_image(&image, image_line);
  case_device(&device, device_line);
  if (!(kdl_match(&image.rule, &device.rule).reasons >> reason & 1))
    fail_msg("%s on %s: not %s", image_line, device_line, kdl_reasons[reason].code);
  return case_words(&image, &device, reason, buffer, sizeof buffer);
}

static const char *fix(const char *image_line, const char *device_line, unsigned reason) {
  static image_case image;
  static device_case device;
  case_image(&image, image_line);
  case_device(&device, device_line);
  return case_fix(&image, &device, reason, buffer, sizeof buffer);
}

/* bitsandbytes#1930: Orin got the sm_80 cubin and failed with "named symbol not found". */
static void orin_and_an_sm_80_cubin(void **state) {
  (void)state;
  static const char *const images[] = {"cubin sm_75", "cubin sm_80", "cubin sm_86", "cubin sm_90"};
  assert_int_equal(case_best(images, 4, "cuda sm_87"), -1);
  assert_string_equal(
      words("cubin sm_80", "cuda sm_87", KDL_REASON_TEGRA_EXACT),
      "built for sm_80; the device is 8.7, a Tegra part, which runs cubins built for it only "
      "before CUDA 13.2");
  static const char *const with_ptx[] = {"cubin sm_80", "cubin sm_86", "ptx sm_80"};
  assert_int_equal(case_best(with_ptx, 3, "cuda sm_87"), 2);
  static const char *const with_own[] = {"cubin sm_80", "ptx sm_80", "cubin sm_87"};
  assert_int_equal(case_best(with_own, 3, "cuda sm_87"), 2);
}

/* onnxruntime#26230: the PTX shipped was compute_90a, dead on sm_120. */
static void compute_90a_ptx_on_sm_120(void **state) {
  (void)state;
  static const char *const images[] = {"cubin sm_80", "cubin sm_90a", "ptx sm_90a"};
  assert_int_equal(case_best(images, 3, "cuda sm_120 driver=13.0"), -1);
  assert_string_equal(words("ptx sm_90a", "cuda sm_120", KDL_REASON_ARCH_SPECIFIC_EXACT),
                      "built for sm_90a; runs on compute capability 9.0 only; the device is 12.0");
  assert_string_equal(fix("ptx sm_90a", "cuda sm_120", KDL_REASON_ARCH_SPECIFIC_EXACT),
                      "add a cubin for sm_120 or plain PTX for compute_120 or earlier");
  static const char *const plain[] = {"cubin sm_80", "cubin sm_90a", "ptx sm_90"};
  assert_int_equal(case_best(plain, 3, "cuda sm_120 driver=13.0"), 2);
}

/* aotriton#138, rocm-libraries#9366: members of a supported family got nothing until each was
 * listed, and generic code was looked up under the device's own name. */
static void gfx1103_with_gfx11_generic(void **state) {
  (void)state;
  static const char *const images[] = {"hsaco gfx1100", "hsaco gfx1101", "hsaco gfx11-generic",
                                       "spirv amdgcnspirv"};
  assert_int_equal(case_best(images, 4, "hip gfx1103"), 2);
  assert_int_equal(case_best(images, 4, "hip gfx1100"), 0);
  assert_int_equal(case_best(images, 4, "hip gfx1201"), 3);
  assert_int_equal(case_best(images, 2, "hip gfx1103"), -1);
  assert_string_equal(fix("hsaco gfx1100", "hip gfx1103", KDL_REASON_WRONG_ARCH),
                      "add an image for gfx1103, gfx11-generic or amdgcnspirv");
}

/* pytorch#73534: hipErrorNoBinaryForGpu at import for a mismatch of xnack. */
static void gfx90a_xnack_mismatch(void **state) {
  (void)state;
  static const char *const images[] = {"hsaco gfx90a:xnack+", "hsaco gfx908"};
  assert_int_equal(case_best(images, 2, "hip gfx90a:sramecc+:xnack-"), -1);
  assert_string_equal(
      words("hsaco gfx90a:xnack+", "hip gfx90a:sramecc+:xnack-", KDL_REASON_XNACK_MISMATCH),
      "needs xnack-; built for gfx90a:xnack+");
  assert_string_equal(
      fix("hsaco gfx90a:xnack+", "hip gfx90a:sramecc+:xnack-", KDL_REASON_XNACK_MISMATCH),
      "rebuild without xnack or run with HSA_XNACK=1");
  static const char *const both[] = {"hsaco gfx90a", "hsaco gfx90a:xnack+", "hsaco gfx90a:xnack-"};
  assert_int_equal(case_best(both, 3, "hip gfx90a:sramecc+:xnack-"), 2);
  assert_int_equal(case_best(both, 3, "hip gfx90a:sramecc+:xnack+"), 1);
}

/* llvm-project#116162: in a box with two AMD GPUs, the one without an image broke the other. */
static void two_different_amd_gpus(void **state) {
  (void)state;
  static const char *const images[] = {"hsaco gfx1030", "hsaco gfx90a"};
  assert_int_equal(case_best(images, 2, "hip gfx90a"), 1);
  assert_int_equal(case_best(images, 2, "hip gfx1030"), 0);
  assert_int_equal(case_best(images, 1, "hip gfx90a"), -1);
  assert_int_equal(case_best(images, 1, "hip gfx1030"), 0);
}

/* llvm-project#139147: with sm_80 and sm_89 in one file, both were loaded; then the first. */
static void sm_80_and_sm_89_in_one_file(void **state) {
  (void)state;
  static const char *const images[] = {"cubin sm_80", "cubin sm_89"};
  assert_int_equal(case_best(images, 2, "cuda sm_89"), 1);
  assert_int_equal(case_best(images, 2, "cuda sm_86"), 0);
  assert_int_equal(case_best(images, 2, "cuda sm_80"), 0);
  assert_int_equal(case_best(images, 2, "cuda sm_90"), -1);
  /* The same for gfx942 and its generic target. */
  static const char *const amd[] = {"hsaco gfx9-4-generic", "hsaco gfx942"};
  assert_int_equal(case_best(amd, 2, "hip gfx942"), 1);
  assert_int_equal(case_best(amd, 2, "hip gfx950"), 0);
}

/* A host image for Zen 4 on a CPU with AVX2 is refused, not run into SIGILL. */
static void znver4_host_image_on_an_avx2_cpu(void **state) {
  (void)state;
  static const char *const images[] = {"object znver4", "object x86-64-v3", "object x86-64"};
  assert_int_equal(case_best(images, 3, "host haswell"), 1);
  assert_int_equal(case_best(images, 3, "host znver4"), 0);
  assert_int_equal(case_best(images, 3, "host nehalem"), 2);
  assert_int_equal(case_best(images, 1, "host haswell"), -1);
  assert_string_equal(words("object znver4", "host haswell", KDL_REASON_MISSING_FEATURES),
                      "built for znver4; needs avx512f+avx512vl+avx512bw+avx512dq+avx512cd+"
                      "avx512_vbmi+avx512_ifma+avx512_vpopcntdq and 17 more, which the device "
                      "lacks");
}

/* cms-sw/cmssw#51395: which of 80, 86, 89, f and a will run? */
static void sm_120f_runs_on_sm_121(void **state) {
  (void)state;
  static const char *const images[] = {"ptx sm_90", "cubin sm_120", "cubin sm_120f",
                                       "cubin sm_120a"};
  assert_int_equal(case_best(images, 4, "cuda sm_121"), 2);
  assert_int_equal(case_best(images, 4, "cuda sm_120"), 3);
  assert_int_equal(case_best(images, 4, "cuda sm_100"), 0);
  assert_string_equal(
      words("cubin sm_120a", "cuda sm_121", KDL_REASON_ARCH_SPECIFIC_EXACT),
      "built for sm_120a; runs on compute capability 12.0 only; the device is 12.1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(orin_and_an_sm_80_cubin),
      cmocka_unit_test(compute_90a_ptx_on_sm_120),
      cmocka_unit_test(gfx1103_with_gfx11_generic),
      cmocka_unit_test(gfx90a_xnack_mismatch),
      cmocka_unit_test(two_different_amd_gpus),
      cmocka_unit_test(sm_80_and_sm_89_in_one_file),
      cmocka_unit_test(znver4_host_image_on_an_avx2_cpu),
      cmocka_unit_test(sm_120f_runs_on_sm_121),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
