/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How many groups of a kernel run at a time. */
#include "lib/inspect/images.h"
#include "support.h"
#include "support/base/text.h"

static kdl_kernel_resources uses_of(uint32_t registers, uint32_t shared, uint32_t subgroup) {
  return (kdl_kernel_resources){.vector_registers = registers,
                                .scalar_registers = 16,
                                .accumulator_registers = 0,
                                .shared = shared,
                                .subgroup = subgroup};
}

static void groups_of_a_compute_unit(void **state) {
  (void)state;
  static const struct {
    const char *arch;
    uint32_t registers, shared, subgroup, block, dynamic;
    uint32_t groups, subgroups, most;
    kdl_occupancy_limit limit;
  } rows[] = {
      /* NVIDIA's occupancy calculator. */
      {"sm_80", 32, 0, 32, 256, 0, 8, 64, 64, KDL_LIMIT_BY_SUBGROUPS},
      {"sm_80", 33, 0, 32, 256, 0, 6, 48, 64, KDL_LIMIT_BY_REGISTERS},
      {"sm_80", 40, 0, 32, 256, 0, 6, 48, 64, KDL_LIMIT_BY_REGISTERS},
      {"sm_80", 255, 0, 32, 256, 0, 1, 8, 64, KDL_LIMIT_BY_REGISTERS},
      {"sm_80", 255, 0, 32, 512, 0, 0, 0, 64, KDL_LIMIT_BY_REGISTERS},
      {"sm_80", 16, 0, 32, 32, 0, 32, 32, 64, KDL_LIMIT_BY_GROUPS},
      {"sm_80", 16, 48 << 10, 32, 128, 0, 3, 12, 64, KDL_LIMIT_BY_SHARED},
      {"sm_80", 16, 0, 32, 128, 163 << 10, 1, 4, 64, KDL_LIMIT_BY_SHARED},
      {"sm_80", 16, 0, 32, 128, 164 << 10, 0, 0, 64, KDL_LIMIT_BY_SHARED},
      {"sm_86", 16, 0, 32, 1024, 0, 1, 32, 48, KDL_LIMIT_BY_SUBGROUPS},
      {"sm_75", 64, 0, 32, 1024, 0, 1, 32, 32, KDL_LIMIT_BY_SUBGROUPS},
      {"sm_90", 16, 5120, 32, 32, 0, 32, 32, 64, KDL_LIMIT_BY_GROUPS},
      {"sm_90a", 168, 0, 32, 384, 0, 1, 12, 64, KDL_LIMIT_BY_REGISTERS},
      {"sm_60", 40, 0, 32, 256, 0, 6, 48, 64, KDL_LIMIT_BY_REGISTERS},
      /* LLVM 22: "Occupancy" of a kernel with so many registers. */
      {"gfx906", 24, 0, 64, 64, 0, 40, 40, 40, KDL_LIMIT_BY_SUBGROUPS},
      {"gfx906", 25, 0, 64, 64, 0, 36, 36, 40, KDL_LIMIT_BY_REGISTERS},
      {"gfx90a:xnack-", 65, 0, 64, 64, 0, 28, 28, 32, KDL_LIMIT_BY_REGISTERS},
      {"gfx942", 128, 0, 64, 256, 0, 4, 16, 32, KDL_LIMIT_BY_REGISTERS},
      {"gfx942", 8, 32 << 10, 64, 256, 0, 2, 8, 32, KDL_LIMIT_BY_SHARED},
      {"gfx950", 8, 32 << 10, 64, 256, 0, 5, 20, 32, KDL_LIMIT_BY_SHARED},
      {"gfx1030", 65, 0, 32, 32, 0, 24, 24, 32, KDL_LIMIT_BY_REGISTERS},
      {"gfx1030", 64, 0, 64, 64, 0, 16, 16, 32, KDL_LIMIT_BY_REGISTERS},
      {"gfx1100", 96, 0, 32, 64, 0, 16, 32, 32, KDL_LIMIT_BY_SUBGROUPS},
      {"gfx1201", 97, 0, 32, 32, 0, 24, 24, 32, KDL_LIMIT_BY_REGISTERS},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_kernel_resources uses = uses_of(rows[i].registers, rows[i].shared, rows[i].subgroup);
    kdl_occupancy found;
    if (!kdl_occupancy_of(kdl_text_of(rows[i].arch), &uses, rows[i].block, rows[i].dynamic, &found))
      fail_msg("row %zu: %s is not known", i, rows[i].arch);
    if (found.groups != rows[i].groups || found.subgroups != rows[i].subgroups ||
        found.most_subgroups != rows[i].most || found.limit != rows[i].limit)
      fail_msg("row %zu, %s: found %u groups, %u of %u subgroups, limit %d", i, rows[i].arch,
               found.groups, found.subgroups, found.most_subgroups, (int)found.limit);
  }
}

static void what_is_not_known_has_none(void **state) {
  (void)state;
  kdl_kernel_resources uses = uses_of(32, 0, 32);
  kdl_occupancy found;
  static const char *const archs[] = {"sm_88", "sm_140", "gfx1250", "gfx803", "12.60.7", "", "sm_"};
  for (size_t i = 0; i < sizeof archs / sizeof *archs; ++i)
    assert_false(kdl_occupancy_of(kdl_text_of(archs[i]), &uses, 256, 0, &found));
  assert_false(kdl_occupancy_of(KDL_TEXT("sm_90"), &uses, 0, 0, &found));
  assert_false(kdl_occupancy_of(KDL_TEXT("sm_90"), &uses, 1025, 0, &found));
  uses.vector_registers = KDL_NO_RESOURCE;
  assert_false(kdl_occupancy_of(KDL_TEXT("sm_90"), &uses, 256, 0, &found));
  uses = uses_of(32, KDL_NO_RESOURCE - 1, 32);
  assert_true(kdl_occupancy_of(KDL_TEXT("sm_90"), &uses, 256, UINT32_MAX, &found));
  assert_int_equal(found.groups, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_of_a_compute_unit),
      cmocka_unit_test(what_is_not_known_has_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
