/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* CPUs described from their CPUID or registers: real ones, and ones from which an operating system
 * or a hypervisor hides features. */
#include "device_support.h"
#include "same_spec.h"

#include "lib/backends/common/built_in.h"
#include "lib/device/host_cpu.h"

/* ------------------------------------------------------------------------------------------ */
/* x86-64                                                                                       */

typedef struct {
  uint32_t leaf, subleaf, regs[4];
} leaf;

typedef struct {
  const char *brand;
  const leaf *leaves;
  size_t leaf_count;
  uint32_t max_basic, max_extended;
  uint64_t xcr0;
  bool xcr0_asked;
} machine;

/* A leaf beyond the highest gets the data of the highest, as on Intel's CPUs. */
static void answer(void *user, uint32_t number, uint32_t subleaf, uint32_t out[4]) {
  const machine *cpu = user;
  memset(out, 0, 4 * sizeof *out);
  if (number == 0 || number == 0x80000000) {
    out[0] = number ? cpu->max_extended : cpu->max_basic;
    return;
  }
  if (number >= 0x80000002 && number <= 0x80000004) {
    char text[48] = "";
    snprintf(text, sizeof text, "%s", cpu->brand);
    memcpy(out, text + (size_t)(number - 0x80000002) * 16, 16);
    return;
  }
  if (number < 0x80000000 && number > cpu->max_basic)
    number = cpu->max_basic;
  for (size_t i = 0; i < cpu->leaf_count; ++i) {
    if (cpu->leaves[i].leaf == number && cpu->leaves[i].subleaf == subleaf)
      memcpy(out, cpu->leaves[i].regs, sizeof cpu->leaves[i].regs);
  }
}

static uint64_t answer_xcr0(void *user) {
  machine *cpu = user;
  cpu->xcr0_asked = true;
  return cpu->xcr0;
}

static kdl_device_spec describe(machine *cpu) {
  kdl_device_spec spec = {.backend = KDL_BACKEND_HOST};
  kdl_cpu_describe_x86(&(kdl_x86_cpuid_ops){answer, answer_xcr0, cpu}, &spec);
  kdl_device_spec again = spec_of(line_of(&spec));
  assert_true(is_same_spec(&spec, &again));
  return spec;
}

/* Which features a described CPU has, as a set. */
static bool has(const kdl_device_spec *spec, const char *arch) {
  kdl_device_rule device;
  kdl_image_rule image;
  assert_ok(kdl_device_spec_compile(spec, &device));
  kdl_image_compile(&(kdl_image_desc){.kind = KDL_IMAGE_OBJECT,
                                      .triple = KDL_TEXT("x86_64-unknown-linux-gnu"),
                                      .arch = kdl_text_of(arch)},
                    &image);
  return kdl_match_admits(&image, &device);
}

/* CPUID of a Xeon with AMX (Sapphire Rapids), the bits that name features. */
static const leaf sapphire_rapids[] = {
    {1, 0, {0x806f8, 0, 0x7ffefbff, 0xbfebfbff}},
    {7, 0, {2, 0xf3bfbfbf, 0xfb417ffe, 0xffdd4432}},
    {7, 1, {0x00001c30, 0, 0, 0}},
    {0xd, 1, {0x1f, 0, 0, 0}},
    {0x1e, 0, {0, 0x4010, 0, 0}},
    {0x80000001, 0, {0, 0, 0x121, 0x2c100800}},
};

static machine xeon(uint64_t xcr0) {
  return (machine){.brand = "  Intel(R) Xeon(R) Platinum 8480+",
                   .leaves = sapphire_rapids,
                   .leaf_count = sizeof sapphire_rapids / sizeof *sapphire_rapids,
                   .max_basic = 0x20,
                   .max_extended = 0x80000008,
                   .xcr0 = xcr0};
}

static void a_cpu_with_everything_enabled(void **state) {
  (void)state;
  machine cpu = xeon(0x600e7);
  kdl_device_spec spec = describe(&cpu);
  assert_string_equal(spec.name, "Intel(R) Xeon(R) Platinum 8480+");
  assert_string_equal(spec.os_off, "");
  assert_true(has(&spec, "x86-64-v4"));
  assert_true(has(&spec, "x86-64-v4+avx512_fp16+avx512_bf16+avx512_vnni+avx_vnni"));
  assert_true(has(&spec, "x86-64-v4+amx_tile+amx_int8+amx_bf16"));
  assert_false(has(&spec, "x86-64-v4+amx_fp16"));
  assert_false(has(&spec, "x86-64-v4+avx10_1"));
}

static void the_system_saves_no_tiles(void **state) {
  (void)state;
  machine cpu = xeon(0xe7);
  kdl_device_spec spec = describe(&cpu);
  assert_string_equal(spec.os_off, "amx_tile+amx_int8+amx_bf16");
  assert_true(has(&spec, "x86-64-v4+avx512_fp16"));
  assert_false(has(&spec, "x86-64-v4+amx_tile"));
}

/* Half of the state is none: both the configuration and the data must be saved. */
static void the_system_saves_half_of_the_tiles(void **state) {
  (void)state;
  machine cpu = xeon(0x200e7);
  kdl_device_spec spec = describe(&cpu);
  assert_string_equal(spec.os_off, "amx_tile+amx_int8+amx_bf16");
}

static void the_system_saves_no_upper_registers(void **state) {
  (void)state;
  machine cpu = xeon(0x7);
  kdl_device_spec spec = describe(&cpu);
  assert_non_null(strstr(spec.os_off, "avx512f+avx512vl"));
  assert_null(strstr(spec.arch, "avx512"));
  assert_true(has(&spec, "x86-64-v3+avx_vnni"));
  assert_false(has(&spec, "x86-64-v4"));
}

static void the_system_saves_only_the_first_registers(void **state) {
  (void)state;
  machine cpu = xeon(0x3);
  kdl_device_spec spec = describe(&cpu);
  assert_true(has(&spec, "x86-64-v2"));
  assert_false(has(&spec, "x86-64-v3"));
  assert_memory_equal(spec.arch, "x86-64-v2+", 10);
  assert_non_null(strstr(spec.os_off, "avx+f16c+fma+avx2"));
}

/* XGETBV is an illegal instruction where the system has not switched it on. */
static void xcr0_is_not_asked_without_osxsave(void **state) {
  (void)state;
  leaf leaves[sizeof sapphire_rapids / sizeof *sapphire_rapids];
  memcpy(leaves, sapphire_rapids, sizeof leaves);
  leaves[0].regs[2] &= ~(1u << 27);
  machine cpu = xeon(0xe7);
  cpu.leaves = leaves;
  kdl_device_spec spec = describe(&cpu);
  assert_false(cpu.xcr0_asked);
  assert_true(has(&spec, "x86-64-v2"));
  assert_false(has(&spec, "x86-64-v3"));
}

/* AVX2 without BMI is not level v3. */
static void a_level_needs_all_its_members(void **state) {
  (void)state;
  leaf leaves[sizeof sapphire_rapids / sizeof *sapphire_rapids];
  memcpy(leaves, sapphire_rapids, sizeof leaves);
  leaves[1].regs[1] &= ~(1u << 3);
  machine cpu = xeon(0x600e7);
  cpu.leaves = leaves;
  kdl_device_spec spec = describe(&cpu);
  assert_memory_equal(spec.arch, "x86-64-v2+", 10);
  assert_true(has(&spec, "x86-64-v2+avx2+fma"));
  assert_false(has(&spec, "x86-64-v3"));
}

/* A hypervisor that hides AVX2 and forgets what is built on it. */
static void what_lacks_its_base_is_left_out(void **state) {
  (void)state;
  leaf leaves[sizeof sapphire_rapids / sizeof *sapphire_rapids];
  memcpy(leaves, sapphire_rapids, sizeof leaves);
  leaves[1].regs[1] &= ~(1u << 5);
  machine cpu = xeon(0x600e7);
  cpu.leaves = leaves;
  kdl_device_spec spec = describe(&cpu);
  assert_null(strstr(spec.arch, "avx512"));
  assert_null(strstr(spec.arch, "avx2"));
  assert_true(has(&spec, "x86-64-v2+avx"));
}

/* Data of a leaf that is not there must not be taken for features. */
static void leaves_beyond_the_highest_are_not_read(void **state) {
  (void)state;
  static const leaf leaves[] = {
      {1, 0, {0, 0, 0x7ffefbff, 0xffffffff}},
      {4, 0, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
      {4, 1, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
      {0x80000001, 0, {0, 0, 1, 0x800}},
  };
  machine cpu = {.brand = "old",
                 .leaves = leaves,
                 .leaf_count = sizeof leaves / sizeof *leaves,
                 .max_basic = 4,
                 .max_extended = 0x80000001,
                 .xcr0 = 0x600e7};
  kdl_device_spec spec = describe(&cpu);
  assert_string_equal(spec.name, "");
  assert_null(strstr(spec.arch, "avx2"));
  assert_null(strstr(spec.arch, "avx512"));
  assert_null(strstr(spec.arch, "amx"));
  assert_true(has(&spec, "x86-64-v2+avx+fma+f16c"));
}

static void subleaves_beyond_the_highest_are_not_read(void **state) {
  (void)state;
  leaf leaves[sizeof sapphire_rapids / sizeof *sapphire_rapids];
  memcpy(leaves, sapphire_rapids, sizeof leaves);
  leaves[1].regs[0] = 0; /* leaf 7 has no subleaf 1 */
  leaves[2].regs[0] = 0xffffffff;
  machine cpu = xeon(0x600e7);
  cpu.leaves = leaves;
  kdl_device_spec spec = describe(&cpu);
  assert_null(strstr(spec.arch, "avx512_bf16"));
  assert_null(strstr(spec.arch, "avx_vnni"));
}

static void avx10_is_what_its_leaf_says(void **state) {
  (void)state;
  leaf leaves[sizeof sapphire_rapids / sizeof *sapphire_rapids + 1];
  memcpy(leaves, sapphire_rapids, sizeof sapphire_rapids);
  leaves[2].regs[3] = 1u << 19;
  machine cpu = xeon(0x600e7);
  cpu.leaves = leaves;
  cpu.leaf_count = sizeof leaves / sizeof *leaves;
  cpu.max_basic = 0x24;
  for (uint32_t version = 0; version <= 2; ++version) {
    leaves[cpu.leaf_count - 1] = (leaf){0x24, 0, {0, version | 0x70000, 0, 0}};
    kdl_device_spec spec = describe(&cpu);
    assert_int_equal(strstr(spec.arch, "avx10_1") != NULL, version >= 1);
    assert_int_equal(strstr(spec.arch, "avx10_2") != NULL, version >= 2);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* AArch64                                                                                      */

static kdl_device_spec describe_arm(uint64_t hwcap, uint64_t hwcap2, unsigned bits) {
  kdl_device_spec spec = {.backend = KDL_BACKEND_HOST};
  kdl_cpu_describe_aarch64(hwcap, hwcap2, bits, &spec);
  kdl_device_spec again = spec_of(line_of(&spec));
  assert_true(is_same_spec(&spec, &again));
  assert_int_equal(kdl_device_spec_family(&spec), KDL_FAMILY_AARCH64);
  return spec;
}

static bool arm_has(const kdl_device_spec *spec, const char *arch) {
  kdl_device_rule device;
  kdl_image_rule image;
  assert_ok(kdl_device_spec_compile(spec, &device));
  kdl_image_compile(&(kdl_image_desc){.kind = KDL_IMAGE_OBJECT,
                                      .triple = KDL_TEXT("aarch64-unknown-linux-gnu"),
                                      .arch = kdl_text_of(arch)},
                    &image);
  return kdl_match_admits(&image, &device);
}

/* What /proc/self/auxv has on a Neoverse N1 (Graviton2), from Linux 6.1. */
static void neoverse_n1(void **state) {
  (void)state;
  kdl_device_spec spec = describe_arm(0x119fff, 0, 0);
  assert_true(arm_has(&spec, "armv8.2-a"));
  assert_true(arm_has(&spec, "armv8.2-a+dotprod+fp16"));
  assert_false(arm_has(&spec, "armv8.2-a+sve"));
}

/* Neoverse V1 (Graviton3): SVE of 256 bits, no SVE2. */
static void neoverse_v1(void **state) {
  (void)state;
  uint64_t sve = 1 << 22;
  uint64_t i8mm_bf16 = 1 << 13 | 1 << 14;
  kdl_device_spec spec = describe_arm(0x3fffff | sve, i8mm_bf16, 256);
  assert_true(arm_has(&spec, "armv8.2-a+sve+i8mm+bf16"));
  assert_true(arm_has(&spec, "armv8.2-a+sve_vl_256"));
  assert_false(arm_has(&spec, "armv8.2-a+sve_vl_512"));
  assert_false(arm_has(&spec, "armv8.2-a+sve2"));
}

/* SVE2 in the second word and no SVE in the first: nothing of it can be used. */
static void sve2_without_sve_is_left_out(void **state) {
  (void)state;
  kdl_device_spec spec = describe_arm(0x119fff, 1 << 1, 512);
  assert_null(strstr(spec.arch, "sve"));
}

static void names_of_arm_cpus(void **state) {
  (void)state;
  static const struct {
    uint64_t midr;
    const char *name;
  } rows[] = {
      {0x413fd0c1, "Arm Neoverse N1"}, {0x411fd401, "Arm Neoverse V1"},
      {0x410fd4f0, "Arm Neoverse V2"}, {0x461f0010, "Fujitsu A64FX"},
      {0xc00fac30, "Ampere-1"},        {0x610f0220, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_device_spec spec = {.backend = KDL_BACKEND_HOST};
    kdl_cpu_name_aarch64(rows[i].midr, &spec);
    assert_string_equal(spec.name, rows[i].name);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* KDL_CPU                                                                                      */

static kdl_device_spec described_xeon(void) {
  return spec_of("host:x86-64-v4+avx512_bf16+avx512_vnni+amx_tile+amx_bf16+amx_int8 units=2 "
                 "name=Xeon l2=2MiB");
}

static void a_setting_lowers_architecture_and_features_alone(void **state) {
  (void)state;
  static const struct {
    const char *setting;
    const char *line;
  } rows[] = {
      {"x86-64-v3", "host:x86-64-v3 name=Xeon units=2 l2=2MiB"},
      {"host:x86-64-v4+avx512_bf16", "host:x86-64-v4+avx512_bf16 name=Xeon units=2 l2=2MiB"},
      {"x86-64 features=sse4_2", "host:x86-64 features=sse4_2 name=Xeon units=2 l2=2MiB"},
      {"x86-64-v4+amx_bf16+amx_tile", "host:x86-64-v4+amx_bf16+amx_tile name=Xeon units=2 l2=2MiB"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_device_spec spec = described_xeon();
    assert_ok(kdl_cpu_lower(rows[i].setting, &spec));
    assert_string_equal(line_of(&spec), rows[i].line);
  }
}

static void a_setting_above_the_cpu_is_refused_by_what_it_lacks(void **state) {
  (void)state;
  static const struct {
    const char *setting;
    const char *words;
  } rows[] = {
      {"x86-64-v4+avx512_fp16", "lacks avx512_fp16"},
      {"x86-64-v4+sse4a", "lacks sse4a"},
      {"armv9-a", "expected an x86-64 CPU"},
      {"h200", "expected an x86-64 CPU"},
      {"x86-64-v5", "x86-64-v5"},
      {"x86-64-v3+avx9", "avx9"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_device_spec spec = described_xeon();
    kdl_device_spec before = spec;
    assert_int_equal(kdl_cpu_lower(rows[i].setting, &spec), KDL_BAD_CALL);
    assert_non_null(strstr(kdl_error_message(), "KDL_CPU"));
    assert_non_null(strstr(kdl_error_message(), rows[i].words));
    assert_true(is_same_spec(&spec, &before));
  }
}

/* ------------------------------------------------------------------------------------------ */
/* This machine                                                                                 */

static void this_cpu(void **state) {
  (void)state;
  unsetenv("KDL_CPU");
  kdl_spec_list list = {.report = {.backend = KDL_BACKEND_HOST}};
  kdl_built_in_host.list(&list);
  assert_int_equal(list.count, 1);
  const kdl_device_spec *spec = &list.specs[0];
  assert_int_equal(spec->device_class, KDL_DEVICE_CPU);
  assert_true(spec->memory > 0);
  assert_true(spec->units > 0);
#if defined(__x86_64__)
  assert_true(has(spec, "x86-64"));
  static const char *const names[] = {"sse4_2", "avx2", "avx512f", "avx512bf16"};
  bool compiler_says[] = {__builtin_cpu_supports("sse4.2"), __builtin_cpu_supports("avx2"),
                          __builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bf16")};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char arch[64];
    snprintf(arch, sizeof arch, "x86-64+%s", names[i]);
    assert_int_equal(has(spec, arch), compiler_says[i]);
  }
#endif
  kdl_device_spec again = spec_of(line_of(spec));
  assert_true(is_same_spec(spec, &again));
  free(list.specs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_cpu_with_everything_enabled),
      cmocka_unit_test(the_system_saves_no_tiles),
      cmocka_unit_test(the_system_saves_half_of_the_tiles),
      cmocka_unit_test(the_system_saves_no_upper_registers),
      cmocka_unit_test(the_system_saves_only_the_first_registers),
      cmocka_unit_test(xcr0_is_not_asked_without_osxsave),
      cmocka_unit_test(a_level_needs_all_its_members),
      cmocka_unit_test(what_lacks_its_base_is_left_out),
      cmocka_unit_test(leaves_beyond_the_highest_are_not_read),
      cmocka_unit_test(subleaves_beyond_the_highest_are_not_read),
      cmocka_unit_test(avx10_is_what_its_leaf_says),
      cmocka_unit_test(neoverse_n1),
      cmocka_unit_test(neoverse_v1),
      cmocka_unit_test(sve2_without_sve_is_left_out),
      cmocka_unit_test(names_of_arm_cpus),
      cmocka_unit_test(a_setting_lowers_architecture_and_features_alone),
      cmocka_unit_test(a_setting_above_the_cpu_is_refused_by_what_it_lacks),
      cmocka_unit_test(this_cpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
