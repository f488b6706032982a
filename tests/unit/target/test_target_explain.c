/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reasons as text, with the values of the case and a remedy. */
#include "lib/inspect/selection.h"
#include "target_case.h"

static const struct {
  const char *image, *device, *code, *words, *fix;
} cases[] = {
    {"fatbin sm_90 triple=nvptx64-nvidia-cuda", "cuda sm_90", "container",
     "it is a container (fatbin); the images in it are listed on their own", ""},
    {"sequence -", "host x86-64", "sequence",
     "it is a recorded sequence; the images of its kernels are listed on their own", ""},
    {"cubin sm_9x", "cuda sm_90", "unknown_arch",
     "arch \"sm_9x\", position 3: found \"9x\", expected a compute capability as two to four "
     "digits",
     "pack the image again with its arch, or update libkdl"},
    {"hsaco gfx90a:xnack", "hip gfx90a", "unknown_arch",
     "arch \"gfx90a:xnack\", position 7: found \"xnack\", expected sramecc+, sramecc-, xnack+ or "
     "xnack-, each at most once and only where the processor has it",
     "pack the image again with its arch, or update libkdl"},
    {"zebin xyz", "level_zero pvc", "unknown_arch",
     "arch \"xyz\", position 0: found \"xyz\", expected an IP version (12.60.7) or a product (pvc, "
     "dg2-g10, bmg-g21)",
     "pack the image again with its arch, or update libkdl"},
    {"object x86-64-v9 triple=x86_64-linux", "host x86-64", "unknown_arch",
     "arch \"x86-64-v9\", position 0: found \"x86-64-v9\", expected x86-64, x86-64-v2 to x86-64-v4 "
     "or a CPU, then +features",
     "pack the image again with its arch, or update libkdl"},
    {"object armv8-a+foo", "host armv8-a", "unknown_arch",
     "arch \"armv8-a+foo\", position 8: found \"foo\", expected an AArch64 feature, as in +sve2",
     "pack the image again with its arch, or update libkdl"},
    {"object - triple=x86_64-linux", "host x86-64-v2", "unknown_level",
     "neither the object nor its metadata names the CPU it was compiled for",
     "name it in the metadata, by kdl annotate FILE --image=N arch=ARCH: what -march was"},
    {"unknown -", "cuda sm_90", "unknown_arch",
     "no target is known for the triple \"\" and the arch \"\"",
     "pack the image again with its arch, or update libkdl"},
    {"unknown sm_90 kdl.kind=0x100", "cuda sm_90", "unknown_kind",
     "its kind, \"0x100\", is not known", "update libkdl"},
    {"tileir sm_80 v13.3", "cuda sm_90 driver=13.2", "tile_ir_unknown_to_driver",
     "Tile IR 13.3 needs a driver of CUDA 13.3 or later for compute capability 9.0; the driver is "
     "of CUDA 13.2",
     "update the driver to CUDA 13.3"},
    {"tileir sm_80 v13.1", "cuda sm_86 driver=13.1", "tile_ir_unknown_to_driver",
     "Tile IR 13.1 needs a driver of CUDA 13.2 or later for compute capability 8.6; the driver is "
     "of CUDA 13.1",
     "update the driver to CUDA 13.2"},
    {"tileir sm_70 v13.1", "cuda sm_75", "tile_ir_unknown_to_driver",
     "Tile IR 13.1 is compiled for compute capability 8.0 and later; the device is 7.5", ""},
    {"tileir sm_80 v13.1", "cuda sm_75", "ptx_too_new_arch",
     "built for sm_80; runs on compute capability 8.0 and later; the device is 7.5",
     "add a cubin for sm_75 or plain PTX for compute_75 or earlier"},
    {"cubin sm_90 triple=amdgcn-amd-amdhsa", "cuda sm_90", "kind_mismatch",
     "the image is cubin, which contradicts its triple \"amdgcn-amd-amdhsa\"", ""},
    {"ptx sm_75 min_sm=9.0 requires_features=a++b", "cuda sm_90", "malformed_key",
     "min_sm=\"9.0\", position 1: found \".0\", expected a compute capability without the dot: 90 "
     "is 9.0; requires_features=\"a++b\", position 2: found \"+b\", expected tokens joined by '+': "
     "bf16+fp8",
     "correct the key with kdl annotate"},
    {"ptx sm_75 requires_features=bf16+warp_drive", "cuda sm_90", "unknown_feature",
     "requires_features names \"warp_drive\", which is no token this version knows", ""},
    {"ptx sm_75 requires_features=avx2", "cuda sm_90", "unknown_feature",
     "requires_features names \"avx2\", which means nothing on this target (NVIDIA GPU)", ""},
    {"hsaco gfx90a", "cuda sm_90", "wrong_vendor",
     "built for AMD GPUs (gfx90a); the device is an NVIDIA GPU (sm_90)", ""},
    {"spirv - triple=spirv64", "cuda sm_90", "wrong_vendor",
     "built for SPIR-V devices; the device is an NVIDIA GPU (sm_90)", ""},
    {"cubin sm_90", "opencl spirv64", "wrong_vendor",
     "built for NVIDIA GPUs (sm_90); the device is a SPIR-V device (spirv64)", ""},
    {"object x86-64-v3", "host armv8-a", "wrong_arch",
     "built for x86-64 CPUs (x86-64-v3); the device is an AArch64 CPU (armv8-a)", ""},
    {"hsaco gfx90a", "hip gfx942:sramecc+:xnack-", "wrong_arch",
     "built for gfx90a; the device is gfx942",
     "add an image for gfx942, gfx9-4-generic or amdgcnspirv"},
    {"cubin sm_80", "cuda sm_90", "other_major",
     "built for sm_80; a cubin runs on compute capability 8.x only; the device is 9.0",
     "add a cubin for sm_90 or plain PTX for compute_90 or earlier"},
    {"cubin sm_89", "cuda sm_86", "newer_minor",
     "built for sm_89; runs on compute capability 8.9 and later 8.x only; the device is 8.6",
     "add a cubin for sm_86 or plain PTX for compute_86 or earlier"},
    {"cubin sm_90a", "cuda sm_120", "arch_specific_exact",
     "built for sm_90a; runs on compute capability 9.0 only; the device is 12.0",
     "add a cubin for sm_120 or plain PTX for compute_120 or earlier"},
    {"ptx sm_90a", "cuda sm_120", "arch_specific_exact",
     "built for sm_90a; runs on compute capability 9.0 only; the device is 12.0",
     "add a cubin for sm_120 or plain PTX for compute_120 or earlier"},
    {"cubin sm_120f", "cuda sm_100", "family_mismatch",
     "built for sm_120f; runs in its family only, compute capability 12.x from 12.0 on; the device "
     "is 10.0",
     "add a cubin for sm_100 or plain PTX for compute_100 or earlier"},
    {"cubin sm_80", "cuda sm_87", "tegra_exact",
     "built for sm_80; the device is 8.7, a Tegra part, which runs cubins built for it only before "
     "CUDA 13.2",
     "add a cubin for sm_87 or plain PTX for compute_87 or earlier, or update the driver to CUDA "
     "13.2"},
    {"cubin sm_72", "cuda sm_75", "tegra_exact",
     "built for sm_72, a Tegra part, whose cubins run nowhere else; the device is 7.5",
     "add a cubin for sm_75 or plain PTX for compute_75 or earlier"},
    {"cubin sm_70", "cuda sm_72", "tegra_exact",
     "built for sm_70; the device is 7.2, a Tegra part, which runs cubins built for it only",
     "add a cubin for sm_72 or plain PTX for compute_72 or earlier"},
    {"cubin sm_87", "cuda sm_89", "tegra_exact",
     "built for sm_87, a Tegra part, whose cubins run nowhere else; the device is 8.9",
     "add a cubin for sm_89 or plain PTX for compute_89 or earlier"},
    {"ptx sm_90", "cuda sm_86", "ptx_too_new_arch",
     "built for sm_90; runs on compute capability 9.0 and later; the device is 8.6",
     "add a cubin for sm_86 or plain PTX for compute_86 or earlier"},
    {"ptx sm_90 v8.8", "cuda sm_90 driver=12.4", "ptx_isa_unknown_to_driver",
     "PTX ISA 8.8 needs a driver of CUDA 12.9 or later; the driver, of CUDA 12.4, knows PTX ISA up "
     "to 8.4",
     "update the driver to CUDA 12.9 or build the PTX with an older toolkit"},
    {"ptx sm_90 v8.8", "cuda sm_90 ptx=8.4", "ptx_isa_unknown_to_driver",
     "PTX ISA 8.8 needs a driver of CUDA 12.9 or later; the driver knows PTX ISA up to 8.4",
     "update the driver to CUDA 12.9 or build the PTX with an older toolkit"},
    {"ptx sm_90 v9.9", "cuda sm_90 driver=13.0", "ptx_isa_unknown_to_driver",
     "PTX ISA 9.9; the driver, of CUDA 13.0, knows PTX ISA up to 9.0", ""},
    {"hsaco gfx11-generic", "hip gfx90a", "not_in_generic",
     "built for gfx11-generic, which covers gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 "
     "gfx1152 gfx1153 gfx1154; the device is gfx90a, which belongs to no generic processor",
     "add an image for gfx90a or amdgcnspirv"},
    {"hsaco gfx11-generic", "hip gfx1201", "not_in_generic",
     "built for gfx11-generic, which covers gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 "
     "gfx1152 gfx1153 gfx1154; the device is gfx1201, which belongs to gfx12-generic",
     "add an image for gfx1201, gfx12-generic or amdgcnspirv"},
    {"hsaco gfx11-generic v5.0", "hip gfx1103", "code_object_version",
     "built for gfx11-generic, which needs code object version 6; the image has version 5",
     "rebuild with -mcode-object-version=6"},
    {"hsaco gfx90a:xnack+", "hip gfx90a:xnack-", "xnack_mismatch",
     "needs xnack-; built for gfx90a:xnack+", "rebuild without xnack or run with HSA_XNACK=1"},
    {"hsaco gfx90a:xnack-", "hip gfx90a:xnack+", "xnack_mismatch",
     "needs xnack+; built for gfx90a:xnack-", "rebuild without xnack or run with HSA_XNACK=0"},
    {"hsaco gfx90a:sramecc-", "hip gfx90a", "sramecc_mismatch",
     "needs sramecc+; built for gfx90a:sramecc-", "rebuild without sramecc"},
    {"hsaco gfx11-generic", "hip gfx1103 driver=6.2", "driver_too_old",
     "a generic processor needs ROCm 6.4 or later; the driver is of ROCm 6.2",
     "update to ROCm 6.4 or add an image for the processor itself"},
    {"spirv amdgcnspirv", "hip gfx1103 driver=6.2", "driver_too_old",
     "amdgcnspirv needs ROCm 6.4 or later; the driver is of ROCm 6.2",
     "update to ROCm 6.4 or add an image for the processor itself"},
    {"zebin pvc", "level_zero dg2-g10", "ip_version",
     "built for IP version 12.60.7 (pvc); the device is 12.55.8 (dg2-g10)",
     "add SPIR-V or native code for dg2-g10"},
    {"cubin sm_90 relocatable", "cuda sm_90", "relocatable",
     "it is relocatable code that something else must be linked to",
     "link it with nvlink (nvcc -dlink), and take what comes out"},
    {"spirv - triple=spirv64 v1.6", "opencl spirv64 spirv=1.4", "spirv_version",
     "SPIR-V 1.6; the driver takes SPIR-V up to 1.4", ""},
    {"spirv - triple=spirv64", "opencl spirv64", "spirv_version",
     "SPIR-V; the driver takes no SPIR-V", ""},
    {"spirv - triple=spirv32 v1.0", "opencl spirv64 spirv=1.4", "spirv_environment",
     "it has 32-bit addresses; the device is spirv64", ""},
    {"spirv - triple=spirv-unknown-vulkan", "opencl spirv64 spirv=1.4", "spirv_environment",
     "it is a shader for a graphics interface; the driver runs kernels", ""},
    {"bitcode sm_90", "cuda sm_90", "linker_missing",
     "kdl-ld not found: it links bitcode into an image for the device",
     "install kdl-ld, or name it in KDL_LD"},
    {"bitcode - triple=spirv64-unknown-unknown", "opencl spirv64 loads=cl", "kind_not_loadable",
     "the image is bitcode; the device's driver loads cl",
     "add OpenCL C, as by kdl cc --targets=opencl-c: the driver takes no SPIR-V, which kdl-ld "
     "would make"},
    {"bitcode - triple=spirv64-unknown-unknown", "opencl spirv64", "kind_not_loadable",
     "the image is bitcode; the device's driver loads none", ""},
    {"ptx sm_80 min_sm=90", "cuda sm_86", "min_sm",
     "min_sm=90 asks for compute capability 9.0 or later; the device is 8.6", ""},
    {"spirv amdgcnspirv min_gfx=gfx90a:cdna2", "hip gfx1100", "min_gfx_family",
     "min_gfx=gfx90a:cdna2; the device is gfx1100:rdna3, of another family", ""},
    {"spirv amdgcnspirv min_gfx=gfx90a:cdna2", "hip gfx908", "min_gfx_older",
     "min_gfx=gfx90a:cdna2; the device is gfx908:cdna1", ""},
    {"object znver4", "host x86-64-v3", "missing_features",
     "built for znver4; needs "
     "avx512f+avx512vl+avx512bw+avx512dq+avx512cd+avx512_vbmi+avx512_ifma+avx512_vpopcntdq and 21 "
     "more, which the device lacks",
     "add an image for x86-64-v3 or below"},
    {"object x86-64-v4", "host x86-64-v4 off=avx512f+avx512bw", "os_disabled",
     "needs avx512f+avx512bw, which the CPU has and the operating system does not enable",
     "enable the feature in the kernel or the hypervisor"},
    {"object sapphirerapids", "host sapphirerapids refused=amx_tile", "amx_permission",
     "needs amx_tile; the kernel refused permission (arch_prctl ARCH_REQ_XCOMP_PERM)", ""},
    {"ptx sm_60 requires_features=tensor_core_nv+bf16", "cuda sm_61", "missing_features",
     "needs bf16+tensor_core_nv, which the device lacks",
     "add an image that does without bf16+tensor_core_nv"},
};

static unsigned bit_of(const char *code) {
  for (unsigned bit = 0; bit < KDL_REASON_COUNT; ++bit) {
    if (strcmp(kdl_reasons[bit].code, code) == 0)
      return bit;
  }
  fail_msg("no such code: %s", code);
  return 0;
}

static void words_and_fixes(void **state) {
  (void)state;
  static image_case image;
  static device_case device;
  char buffer[512];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    unsigned bit = bit_of(cases[i].code);
    case_image(&image, cases[i].image);
    case_device(&device, cases[i].device);
    if (!(kdl_match(&image.rule, &device.rule).reasons >> bit & 1))
      fail_msg("%s on %s: not %s", cases[i].image, cases[i].device, cases[i].code);
    assert_string_equal(case_words(&image, &device, bit, buffer, sizeof buffer), cases[i].words);
    assert_string_equal(case_fix(&image, &device, bit, buffer, sizeof buffer), cases[i].fix);
  }
}

/* In the order of kdl_image_kind; later kinds may follow. */
static void kinds_that_a_driver_loads(void **state) {
  (void)state;
  static image_case image;
  static device_case device;
  char buffer[128];
  case_image(&image, "ltoir sm_90");
  case_device(&device, "cuda sm_90");
  case_words(&image, &device, KDL_REASON_KIND_NOT_LOADABLE, buffer, sizeof buffer);
  assert_non_null(
      strstr(buffer, "the image is ltoir; the device's driver loads cubin, ptx, tileir"));
}

/* Every reason that a target can give is in the table above; those of kernels are elsewhere. */
static void every_reason_has_a_case(void **state) {
  (void)state;
  for (unsigned bit = 0; bit < KDL_REASON_BLOCK_TOO_LARGE; ++bit) {
    size_t i = 0;
    while (i < sizeof cases / sizeof *cases && bit_of(cases[i].code) != bit)
      ++i;
    if (i == sizeof cases / sizeof *cases && bit != KDL_REASON_GENERIC_VERSION_OLD)
      fail_msg("%s has no case", kdl_reasons[bit].code);
  }
}

/* All minima are 1 today, so no pair of a real image and a real device gives this one. */
static void an_old_generic_version(void **state) {
  (void)state;
  static image_case image;
  static device_case device;
  char buffer[128];
  case_image(&image, "hsaco gfx11-generic g1");
  case_device(&device, "hip gfx1103");
  assert_string_equal(
      case_words(&image, &device, KDL_REASON_GENERIC_VERSION_OLD, buffer, sizeof buffer),
      "built for gfx11-generic version 1; gfx1103 needs version 1 or later");
}

static void reason_rows(void **state) {
  (void)state;
  for (unsigned bit = 0; bit < KDL_REASON_COUNT; ++bit) {
    const kdl_reason_row *row = &kdl_reasons[bit];
    assert_true(strlen(row->code) > 0 && strlen(row->words) > 0 && row->distance > 0);
    for (unsigned other = 0; other < bit; ++other)
      assert_string_not_equal(row->code, kdl_reasons[other].code);
    assert_int_equal(kdl_reasons_distance((uint64_t)1 << bit), row->distance);
  }
  assert_int_equal(kdl_reasons_distance(0), 0);
  /* A setting is nearer than a rebuild, which is nearer than another machine. */
  assert_true(kdl_reasons_distance(KDL_REASON(XNACK_MISMATCH)) <
              kdl_reasons_distance(KDL_REASON(WRONG_ARCH)));
  assert_true(kdl_reasons_distance(KDL_REASON(WRONG_ARCH)) <
              kdl_reasons_distance(KDL_REASON(WRONG_VENDOR)));
  /* PTX that is too new is nearer than a kind that the driver never loads, `min_sm` or not. */
  assert_true(kdl_reasons_distance(KDL_REASON(PTX_TOO_NEW_ARCH) | KDL_REASON(MIN_SM)) <
              kdl_reasons_distance(KDL_REASON(KIND_NOT_LOADABLE)));
}

/* For any buffer size, the text is truncated and terminated, and its full length returned. */
static void small_buffers(void **state) {
  (void)state;
  static image_case image;
  static device_case device;
  case_image(&image, "cubin sm_90a");
  case_device(&device, "cuda sm_120");
  static const char whole[] =
      "built for sm_90a; runs on compute capability 9.0 only; the device is "
      "12.0";
  kdl_mismatch mismatch = {&image.desc, &image.rule, &device.desc, &device.rule};
  for (size_t size = 1; size <= sizeof whole; ++size) {
    char *buffer = malloc(size);
    assert_non_null(buffer);
    size_t length = kdl_reason_words(&mismatch, KDL_REASON_ARCH_SPECIFIC_EXACT, buffer, size);
    assert_int_equal(length, size - 1);
    assert_memory_equal(buffer, whole, size - 1);
    assert_int_equal(buffer[size - 1], 0);
    free(buffer);
  }
  assert_int_equal(kdl_reason_words(&mismatch, KDL_REASON_ARCH_SPECIFIC_EXACT, NULL, 0), 0);
  assert_int_equal(kdl_reason_fix(&mismatch, KDL_REASON_COUNT, NULL, 0), 0);
}

/* Names come from files; they must not carry escape sequences to a terminal. */
static void foreign_text_is_tamed(void **state) {
  (void)state;
  static image_case image;
  static device_case device;
  char buffer[256];
  case_image(&image, "cubin sm_\x1b[2J");
  case_device(&device, "hip gfx90a");
  assert_string_equal(case_words(&image, &device, KDL_REASON_WRONG_VENDOR, buffer, sizeof buffer),
                      "built for NVIDIA GPUs (sm_?[2J); the device is an AMD GPU (gfx90a)");
  assert_string_equal(case_words(&image, &device, KDL_REASON_UNKNOWN_ARCH, buffer, sizeof buffer),
                      "arch \"sm_\\x1b[2J\", position 3: found \"\\x1b[2J\", expected sm_NN or "
                      "compute_NN, with 'a' or 'f' behind it if need be");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_and_fixes),
      cmocka_unit_test(kinds_that_a_driver_loads),
      cmocka_unit_test(every_reason_has_a_case),
      cmocka_unit_test(an_old_generic_version),
      cmocka_unit_test(reason_rows),
      cmocka_unit_test(small_buffers),
      cmocka_unit_test(foreign_text_is_tamed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
