/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libkdl's copy of LLVM 22's rule: every row was checked with areTargetsCompatible. */
#include "llvm_rule.h"

#include "target_case.h"

static const struct {
  const char *left_triple, *left_arch, *right_triple, *right_arch;
  bool compatible;
} rows[] = {
#define NV "nvptx64-nvidia-cuda"
#define AMD "amdgcn-amd-amdhsa"
    {NV, "sm_80", NV, "sm_80", false}, /* equal is not "compatible" */
    {NV, "sm_80", NV, "sm_90", false}, /* no rule for NVIDIA at all */
    {NV, "sm_90", NV, "sm_80", false},
    {NV, "sm_90", NV, "sm_90a", false},
    {NV, "generic", NV, "sm_90", true},
    {NV, "sm_90", NV, "generic", true},
    {NV, "generic", NV, "generic", false},
    {NV, "generic", "nvptx64", "sm_90", false}, /* triples are compared as text */
    {"x86_64-pc-linux-gnu", "generic", "x86_64-unknown-linux-gnu", "x86-64-v3", false},
    {"x86_64-unknown-linux-gnu", "generic", "x86_64-unknown-linux-gnu", "x86-64-v3", true},
    {"x86_64-unknown-linux-gnu", "x86-64-v2", "x86_64-unknown-linux-gnu", "x86-64-v3", false},
    {AMD, "gfx90a", AMD, "gfx90a", false},
    {AMD, "gfx90a", AMD, "gfx90a:xnack+", true},
    {AMD, "gfx90a:xnack+", AMD, "gfx90a", true},
    {AMD, "gfx90a:xnack+", AMD, "gfx90a:xnack-", false},
    {AMD, "gfx90a:xnack-", AMD, "gfx90a:xnack+", false},
    {AMD, "gfx90a:sramecc+", AMD, "gfx90a:sramecc-", false},
    {AMD, "gfx90a:xnack+", AMD, "gfx90a:sramecc+", true},
    {AMD, "gfx90a:sramecc+:xnack-", AMD, "gfx90a:xnack-", true},
    {AMD, "gfx90a:xnack-:sramecc+", AMD, "gfx90a:sramecc+:xnack-", true},
    {AMD, "gfx90a:foo+", AMD, "gfx90a:foo-", true}, /* features it does not know */
    {AMD, "gfx90a", AMD, "gfx942", false},
    {AMD, "gfx9-4-generic", AMD, "gfx942", false}, /* nor generics */
    {AMD, "generic", AMD, "gfx942", true},
    {AMD, "", AMD, "gfx90a", false},
    {"amdgcn-amd-amdhsa--", "gfx90a", AMD, "gfx90a:xnack+", false},
};

static void every_row(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_string left = kdl_text_of(rows[i].left_triple);
    kdl_string left_arch = kdl_text_of(rows[i].left_arch);
    kdl_string right = kdl_text_of(rows[i].right_triple);
    kdl_string right_arch = kdl_text_of(rows[i].right_arch);
    bool same = kdl_text_equal(left, right) && kdl_text_equal(left_arch, right_arch);
    if (llvm_targets_compatible(left, left_arch, right, right_arch) != rows[i].compatible)
      fail_msg("%s %s and %s %s", rows[i].left_triple, rows[i].left_arch, rows[i].right_triple,
               rows[i].right_arch);
    assert_int_equal(llvm_takes(left, left_arch, right, right_arch), same || rows[i].compatible);
    assert_int_equal(llvm_targets_compatible(right, right_arch, left, left_arch),
                     rows[i].compatible);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
