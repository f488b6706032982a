/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The shipped table of devices, row by row, and what users may write for a device. */
#include "device_support.h"

#include "device/named.h"

#include <unistd.h>

/* Name, backend and arch as the vendors' product pages and compiler documentation have them. */
static const struct {
  const char *name, *arch;
  kdl_device_class device_class;
} expected[] = {
    {"p100", "cuda:sm_60", KDL_DEVICE_DISCRETE},
    {"v100", "cuda:sm_70", KDL_DEVICE_DISCRETE},
    {"t4", "cuda:sm_75", KDL_DEVICE_DISCRETE},
    {"gtx1650", "cuda:sm_75", KDL_DEVICE_DISCRETE},
    {"a100", "cuda:sm_80", KDL_DEVICE_DISCRETE},
    {"a10", "cuda:sm_86", KDL_DEVICE_DISCRETE},
    {"rtx3090", "cuda:sm_86", KDL_DEVICE_DISCRETE},
    {"l4", "cuda:sm_89", KDL_DEVICE_DISCRETE},
    {"l40s", "cuda:sm_89", KDL_DEVICE_DISCRETE},
    {"rtx4090", "cuda:sm_89", KDL_DEVICE_DISCRETE},
    {"h100", "cuda:sm_90", KDL_DEVICE_DISCRETE},
    {"h200", "cuda:sm_90", KDL_DEVICE_DISCRETE},
    {"gh200", "cuda:sm_90", KDL_DEVICE_DISCRETE},
    {"b200", "cuda:sm_100", KDL_DEVICE_DISCRETE},
    {"b300", "cuda:sm_103", KDL_DEVICE_DISCRETE},
    {"rtx5090", "cuda:sm_120", KDL_DEVICE_DISCRETE},
    {"rtxpro6000", "cuda:sm_120", KDL_DEVICE_DISCRETE},
    {"gb10", "cuda:sm_121", KDL_DEVICE_INTEGRATED},
    {"xavier", "cuda:sm_72", KDL_DEVICE_INTEGRATED},
    {"orin", "cuda:sm_87", KDL_DEVICE_INTEGRATED},
    {"thor", "cuda:sm_110", KDL_DEVICE_INTEGRATED},
    {"mi50", "hip:gfx906:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi100", "hip:gfx908:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi210", "hip:gfx90a:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi250", "hip:gfx90a:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi250x", "hip:gfx90a:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi300x", "hip:gfx942:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi325x", "hip:gfx942:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi300a", "hip:gfx942:sramecc+:xnack-", KDL_DEVICE_INTEGRATED},
    {"mi350x", "hip:gfx950:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi355x", "hip:gfx950:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"rx6900xt", "hip:gfx1030", KDL_DEVICE_DISCRETE},
    {"rx7600", "hip:gfx1102", KDL_DEVICE_DISCRETE},
    {"rx7800xt", "hip:gfx1101", KDL_DEVICE_DISCRETE},
    {"rx7900xtx", "hip:gfx1100", KDL_DEVICE_DISCRETE},
    {"rx9060xt", "hip:gfx1200", KDL_DEVICE_DISCRETE},
    {"rx9070xt", "hip:gfx1201", KDL_DEVICE_DISCRETE},
    {"phoenix", "hip:gfx1103", KDL_DEVICE_INTEGRATED},
    {"strix-point", "hip:gfx1150", KDL_DEVICE_INTEGRATED},
    {"strix-halo", "hip:gfx1151", KDL_DEVICE_INTEGRATED},
    {"krackan", "hip:gfx1152", KDL_DEVICE_INTEGRATED},
    {"tgl", "level_zero:ip=12.0.0", KDL_DEVICE_INTEGRATED},
    {"arc-a770", "level_zero:ip=12.55.8", KDL_DEVICE_DISCRETE},
    {"dg2", "level_zero:ip=12.55.8", KDL_DEVICE_DISCRETE},
    {"arc-a380", "level_zero:ip=12.56.5", KDL_DEVICE_DISCRETE},
    {"pvc", "level_zero:ip=12.60.7", KDL_DEVICE_DISCRETE},
    {"mtl", "level_zero:ip=12.70.4", KDL_DEVICE_INTEGRATED},
    {"mtl-h", "level_zero:ip=12.71.4", KDL_DEVICE_INTEGRATED},
    {"arl-h", "level_zero:ip=12.74.4", KDL_DEVICE_INTEGRATED},
    {"arc-b580", "level_zero:ip=20.1.0", KDL_DEVICE_DISCRETE},
    {"bmg", "level_zero:ip=20.1.0", KDL_DEVICE_DISCRETE},
    {"lnl", "level_zero:ip=20.4.4", KDL_DEVICE_INTEGRATED},
    {"ptl", "level_zero:ip=30.0.4", KDL_DEVICE_INTEGRATED},
    {"haswell", "host:haswell", KDL_DEVICE_CPU},
    {"skylake-avx512", "host:skylake-avx512", KDL_DEVICE_CPU},
    {"cascadelake", "host:cascadelake", KDL_DEVICE_CPU},
    {"icelake-server", "host:icelake-server", KDL_DEVICE_CPU},
    {"alderlake", "host:alderlake", KDL_DEVICE_CPU},
    {"spr", "host:sapphirerapids", KDL_DEVICE_CPU},
    {"emr", "host:emeraldrapids", KDL_DEVICE_CPU},
    {"gnr", "host:graniterapids", KDL_DEVICE_CPU},
    {"srf", "host:sierraforest", KDL_DEVICE_CPU},
    {"zen1", "host:znver1", KDL_DEVICE_CPU},
    {"zen2", "host:znver2", KDL_DEVICE_CPU},
    {"zen3", "host:znver3", KDL_DEVICE_CPU},
    {"zen4", "host:znver4", KDL_DEVICE_CPU},
    {"zen5", "host:znver5", KDL_DEVICE_CPU},
    {"graviton2", "host:neoverse-n1", KDL_DEVICE_CPU},
    {"graviton3", "host:neoverse-v1+sve_vl_256", KDL_DEVICE_CPU},
    {"graviton4", "host:neoverse-v2", KDL_DEVICE_CPU},
    {"grace", "host:grace", KDL_DEVICE_CPU},
    {"altra", "host:neoverse-n1", KDL_DEVICE_CPU},
    {"a64fx", "host:a64fx+sve_vl_512", KDL_DEVICE_CPU},
};
enum { expected_count = sizeof expected / sizeof *expected };

/* Row i of the table and of the list above are about the same device, so that a row without its
 * test, or a test without its row, shows. */
static void every_row_is_the_device_it_names(void **state) {
  (void)state;
  for (size_t i = 0; i < expected_count; ++i) {
    const kdl_named_device *row = kdl_named_device_at(i);
    assert_non_null(row);
    assert_string_equal(row->name, expected[i].name);
    kdl_device_spec spec = spec_of(row->line);
    assert_string_equal(line_of(&spec), row->line);
    char arch[KDL_SPEC_LINE];
    snprintf(arch, sizeof arch, "%s ", expected[i].arch);
    assert_memory_equal(row->line, arch, strlen(arch));
    assert_int_equal(kdl_device_spec_class(&spec), expected[i].device_class);
    assert_true(spec.name[0] != '\0');
    assert_string_equal(spec.driver, "");
    assert_ptr_equal(kdl_named_device_find(kdl_text_of(row->name)), row);
  }
  assert_null(kdl_named_device_at(expected_count));
}

static void limits_follow_from_the_architecture(void **state) {
  (void)state;
  static const struct {
    const char *arch;
    uint64_t shared_optin;
    uint32_t cluster;
  } limits[] = {
      {"sm_60", 48 << 10, 0},   {"sm_70", 96 << 10, 0},   {"sm_72", 96 << 10, 0},
      {"sm_75", 64 << 10, 0},   {"sm_80", 163 << 10, 0},  {"sm_86", 99 << 10, 0},
      {"sm_87", 163 << 10, 0},  {"sm_89", 99 << 10, 0},   {"sm_90", 227 << 10, 8},
      {"sm_100", 227 << 10, 8}, {"sm_103", 227 << 10, 8}, {"sm_110", 227 << 10, 8},
      {"sm_120", 99 << 10, 8},  {"sm_121", 99 << 10, 8},
  };
  for (size_t i = 0; i < expected_count; ++i) {
    kdl_device_spec spec = spec_of(kdl_named_device_at(i)->line);
    if (spec.backend != KDL_BACKEND_CUDA)
      continue;
    size_t k = 0;
    while (k < sizeof limits / sizeof *limits && strcmp(limits[k].arch, spec.arch) != 0)
      ++k;
    assert_true(k < sizeof limits / sizeof *limits);
    assert_int_equal(spec.shared_optin, limits[k].shared_optin);
    assert_int_equal(spec.cluster, limits[k].cluster);
    assert_int_equal(spec.shared, 48 << 10);
    assert_int_equal(spec.subgroups, 32);
  }
}

static void names_take_keys(void **state) {
  (void)state;
  kdl_device_spec spec;
  assert_ok(kdl_device_spec_resolve("H100 driver=12.4 memory=94GB", &spec));
  assert_string_equal(spec.arch, "sm_90");
  assert_string_equal(spec.driver, "12.4");
  assert_int_equal(spec.memory, 94000000000);
  assert_string_equal(spec.name, "NVIDIA H100");
  assert_ok(kdl_device_spec_resolve("  cuda:sm_75 driver=11.8", &spec));
  assert_string_equal(line_of(&spec), "cuda:sm_75 driver=11.8");
}

static void mistakes_in_what_a_user_wrote(void **state) {
  (void)state;
  kdl_device_spec spec;
  assert_int_equal(kdl_device_spec_resolve("h300", &spec), KDL_BAD_CALL);
  static const char start[] = "device 'h300': offset 0: found no device of that name (did you mean "
                              "'h100'?), expected one of: p100 v100 t4 ";
  assert_memory_equal(kdl_error_message(), start, strlen(start));
  assert_non_null(
      strstr(kdl_error_message(),
             " a64fx, an architecture as sm_90, a spec BACKEND:ARCH [KEY=VALUE]..., or @FILE"));
  assert_int_equal(kdl_device_spec_resolve("h100 drivr=12.4", &spec), KDL_BAD_CALL);
  assert_non_null(
      strstr(kdl_error_message(), "device spec 'h100 drivr=12.4': offset 5: found 'drivr'"));
  assert_int_equal(kdl_device_spec_resolve("h100 driver=twelve", &spec), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "offset 12: found 'twelve', expected a version"));
  assert_int_equal(kdl_device_spec_resolve("h100 features=wgma_nv", &spec), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "offset 14: found 'wgma_nv'"));
  assert_non_null(strstr(kdl_error_message(), "did you mean 'wgmma_nv'?"));
  assert_int_equal(kdl_device_spec_resolve("", &spec), KDL_BAD_CALL);
  assert_int_equal(kdl_device_spec_resolve("@/nowhere/devices.json", &spec), KDL_IO);
  assert_string_equal(kdl_error_message(),
                      "/nowhere/devices.json: cannot open: No such file or directory");
}

static void an_architecture_of_one_backend_is_enough(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"sm_90", "cuda:sm_90"},         {"sm_120 driver=13.0", "cuda:sm_120 driver=13.0"},
      {"gfx942", "hip:gfx942"},        {"gfx90a:sramecc+:xnack-", "hip:gfx90a:sramecc+:xnack-"},
      {"x86-64-v3", "host:x86-64-v3"}, {"armv8-a", "host:armv8-a"},
  };
  kdl_device_spec spec;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_ok(kdl_device_spec_resolve(rows[i][0], &spec));
    assert_string_equal(line_of(&spec), rows[i][1]);
  }
  assert_int_equal(kdl_device_spec_resolve("sm_banana", &spec), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "device spec 'cuda:sm_banana': offset 8"));
  assert_int_equal(kdl_device_spec_resolve("spirv64", &spec), KDL_BAD_CALL);
  char line[KDL_SPEC_LINE + 8];
  memset(line, '0', sizeof line - 1);
  memcpy(line, "sm_", 3);
  line[sizeof line - 1] = '\0';
  assert_int_equal(kdl_device_spec_resolve(line, &spec), KDL_BAD_CALL);
}

static void files_are_read(void **state) {
  (void)state;
  char path[] = "/tmp/kdl-device-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  static const char text[] = "[{\"backend\":\"cuda\",\"arch\":\"sm_90\"},\n"
                             " {\"backend\":\"host\",\"arch\":\"znver4\"}]\n";
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  char at[64];
  kdl_device_spec spec;
  snprintf(at, sizeof at, "@%s", path);
  assert_ok(kdl_device_spec_resolve(at, &spec));
  assert_string_equal(line_of(&spec), "cuda:sm_90");
  snprintf(at, sizeof at, "@%s#1", path);
  assert_ok(kdl_device_spec_resolve(at, &spec));
  assert_string_equal(line_of(&spec), "host:znver4");
  snprintf(at, sizeof at, "@%s#2", path);
  char message[128];
  snprintf(message, sizeof message, "%s: found 2 devices, expected one with index 2", path);
  assert_fails(kdl_device_spec_resolve(at, &spec), KDL_NO_MATCH, message);
  snprintf(at, sizeof at, "@%s#x", path);
  assert_int_equal(kdl_device_spec_resolve(at, &spec), KDL_IO);
  assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
  snprintf(at, sizeof at, "@%s", path);
  snprintf(message, sizeof message,
           "%s: found more than 1048576 bytes, expected device specs in JSON", path);
  assert_fails(kdl_device_spec_resolve(at, &spec), KDL_BAD_FILE, message);
  close(fd);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_is_the_device_it_names),
      cmocka_unit_test(limits_follow_from_the_architecture),
      cmocka_unit_test(names_take_keys),
      cmocka_unit_test(mistakes_in_what_a_user_wrote),
      cmocka_unit_test(an_architecture_of_one_backend_is_enough),
      cmocka_unit_test(files_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
