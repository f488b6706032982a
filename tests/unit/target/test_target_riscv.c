/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* RISC-V: extensions, profiles, what CPUs report, and which of two images is better. */
#include "lib/inspect/targets.h"

#include "lib/device/host_cpu.h"
#include "lib/target/families/cpu.h"
#include "target_case.h"

static const char *print(const char *text) {
  static char buffer[256];
  kdl_feature_set set;
  kdl_parse_error error = {0, NULL};
  if (!kdl_riscv_parse(kdl_text_of(text), &set, &error))
    fail_msg("%s: position %zu: expected %s", text, error.position, error.expected);
  buffer[0] = '\0';
  kdl_out_riscv(&(kdl_out){buffer, sizeof buffer, 0}, set);
  return buffer;
}

static void architecture_names(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"rv64gc", "rv64gc"},
      {"", "rv64gc"},
      {"riscv64", "rv64gc"},
      {"rv64imafdc_zicsr_zifencei", "rv64gc"},
      {"rv64gcv", "rv64gcv"},
      {"rv64gc+rvv", "rv64gcv"},
      {"rv64gcv_zbb_zba", "rv64gcv_zba_zbb"},
      {"rva20u64", "rv64gc"},
      {"rva22u64", "rv64gc_zbs_zba_zbb_zfhmin"},
      {"rva22u64+v", "rv64gcv_zbs_zba_zbb_zfhmin"},
      {"rva23u64", "rv64gcv_zicond_zbs_zba_zbb_zfhmin_zfa_zvbb_zvfhmin"},
      {"rv64gc_zvfh", "rv64gcv_zfhmin_zvfhmin_zvfh"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_string_equal(print(rows[i][0]), rows[i][1]);
    assert_string_equal(print(rows[i][1]), rows[i][1]);
  }
}

static void names_that_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t position;
  } rows[] = {{"rv64i", 0},      {"rv32gc", 0},          {"rv64gcx", 0}, {"rva21u64", 0},
              {"rv64gc_zzz", 7}, {"rv64gcv_zvl256b", 8}, {"rv64gc_", 7}, {"rv64gc+avx2", 7}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_feature_set set;
    kdl_parse_error error = {99, NULL};
    assert_false(kdl_riscv_parse(kdl_text_of(rows[i].text), &set, &error));
    assert_int_equal(error.position, rows[i].position);
    assert_non_null(error.expected);
  }
}

/* Letters of the auxiliary vector, and bits of riscv_hwprobe. */
static void what_a_cpu_tells(void **state) {
  (void)state;
  enum { imafdc = 0x112d, v = 1 << 21 };
  static const struct {
    uint64_t hwcap, extensions;
    const char *arch;
  } rows[] = {{imafdc, 0, "rv64gc"},
              {imafdc | v, 0, "rv64gcv"},
              {imafdc, 0x3b, "rv64gc_zbs_zba_zbb"},
              {imafdc, 0x3b | 4, "rv64gcv_zbs_zba_zbb"},
              {imafdc, (uint64_t)1 << 35, "rv64gc_zicond"},
              {imafdc & ~4u, 0, ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_device_spec spec = {.backend = KDL_BACKEND_HOST};
    kdl_cpu_describe_riscv(rows[i].hwcap, rows[i].extensions, &spec);
    assert_string_equal(spec.arch, rows[i].arch);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(architecture_names),
      cmocka_unit_test(names_that_are_refused),
      cmocka_unit_test(what_a_cpu_tells),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
