/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image_support.h"

static const golden_image goldens[] = {
    {"nvcc.ptx", KDL_IMAGE_PTX, "nvptx64-nvidia-cuda", "sm_90a", KDL_OFFLOAD_CUDA, "fill "},
    {"llvm.ptx", KDL_IMAGE_PTX, "nvptx64-nvidia-cuda", "sm_90", KDL_OFFLOAD_CUDA, "saxpy fill "},
};
GOLDEN_TESTS(goldens)

static kdl_status read_text(const char *text, kdl_image_target *target) {
  return kdl_image_read_target(KDL_IMAGE_PTX, text, strlen(text), target);
}

static void target_is_read_from_the_directives(void **state) {
  (void)state;
  static const struct {
    const char *text, *triple, *arch;
    uint32_t major, minor;
  } rows[] = {
      {".version 9.0\n.target sm_120f\n.address_size 64\n", "nvptx64-nvidia-cuda", "sm_120f", 9, 0},
      {".version 4.1 .target sm_35", "nvptx-nvidia-cuda", "sm_35", 4, 1},
      {".version 7.8 .target sm_90, debug .address_size 64", "nvptx64-nvidia-cuda", "sm_90", 7, 8},
      {".version 1.4 .target map_f64_to_f32, sm_10", "nvptx-nvidia-cuda", "sm_10", 1, 4},
      {".version 8.8 /* .target sm_10 */ .target // sm_11\n sm_103a .address_size 32",
       "nvptx-nvidia-cuda", "sm_103a", 8, 8},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_image_target target;
    assert_ok(read_text(rows[i].text, &target));
    assert_string_equal(target.triple, rows[i].triple);
    assert_string_equal(target.arch, rows[i].arch);
    assert_int_equal(target.version_major, rows[i].major);
    assert_int_equal(target.version_minor, rows[i].minor);
  }
}

static void wrong_directives_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"", "offset 0x0: PTX: found the end of the text, expected the directive .version"},
      {".target sm_90", "offset 0x0: PTX: found \".target\", expected the directive .version"},
      {".version nine", "offset 0x9: .version: found \"nine\", expected MAJOR.MINOR"},
      {".version 9", "offset 0x9: .version: found \"9\", expected MAJOR.MINOR"},
      {".version 99999.0", "offset 0x9: .version: found \"99999\", expected MAJOR.MINOR"},
      {".version 9.0 .entry", "offset 0xd: PTX: found \".entry\", expected the directive .target"},
      {".version 9.0 .target", "offset 0x14: .target: found the end of the text, expected an "
                               "architecture such as sm_90"},
      {".version 9.0 .target debug;",
       "offset 0x1a: .target: found byte 0x3b, expected an architecture such as sm_90"},
      {".version 9.0 .target sm_90 .address_size 48",
       "offset 0x29: .address_size: found \"48\", expected 32 or 64"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_image_target target;
    assert_fails(read_text(rows[i].text, &target), KDL_BAD_FILE, rows[i].message);
  }
}

static void an_architecture_that_does_not_fit_is_refused(void **state) {
  (void)state;
  char text[128] = ".version 9.0 .target sm_";
  memset(text + strlen(text), '9', 61);
  kdl_image_target target;
  assert_fails(read_text(text, &target), KDL_BAD_FILE,
               "offset 0x15: .target: found 64 bytes, expected at most 63");
}

static void only_entries_with_a_body_are_kernels(void **state) {
  (void)state;
  static const struct {
    const char *text, *kernels;
  } rows[] = {
      {".visible .entry a(){}.weak .entry b{}.entry $c_1 ( .param .u64 p ) { ret; }", "a b $c_1 "},
      {".visible.entry a(){}", "a "},
      {".extern .entry a ( .param .u64 p ) ; .entry b () {}", "b "},
      {".entry a () .maxntid 256, 1, 1 .minnctapersm 2 { }", "a "},
      {".entry a () .pragma \"nounroll\", \"; {\"; { }", "a "},
      {".entry a () .pragma \"nounroll\"; ; .entry b () {}", "b "},
      {"// .entry a () {}\n/* .entry b () {} */ .entry /* x */ c // y\n () {}", "c "},
      {".file 1 \"x\\\".entry a () {}\" .entry b () {}", "b "},
      {".func a () {} .func entry () {}", ""},
      {"/* .entry a () {}", ""},
      {"\" .entry a () {}", ""},
      {".entry a (", ""},
      {".entryx a () {} x.entry b () {} .entry/**/c () {}", "b c "},
      {"a / b .entry c () {} / .entry d () {}", "c d "},
      {"\"//\" .entry a () {} // \"\n.entry b () {} /* \" */ .entry c () {}", "a b c "},
      {"\".entry a () {}\" .entry b () { \".entry c () {}\" } // .entry d () {}", "b "},
      {".entry a () {} /* // */ .entry b () {} // /*\n .entry c () {}", "a b c "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    assert_kernels(KDL_IMAGE_PTX, rows[i].text, strlen(rows[i].text), rows[i].kernels);
}

/* Containers pad PTX, and drivers want a NUL after it. */
static void text_ends_at_a_nul(void **state) {
  (void)state;
  static const char text[] =
      ".version 9.0 .target sm_90 .entry a () {}\0\0\0.entry b () {}\0\0\0\0\0";
  assert_kernels(KDL_IMAGE_PTX, text, sizeof text, "a ");
  assert_target(KDL_IMAGE_PTX, text, sizeof text, "nvptx-nvidia-cuda", "sm_90", KDL_OFFLOAD_CUDA);
}

static void an_entry_without_a_name_is_refused(void **state) {
  (void)state;
  name_list list = {.length = 0};
  assert_fails(kdl_image_read_kernels(KDL_IMAGE_PTX, " .entry (", 9, collect_name, &list),
               KDL_BAD_FILE, "offset 0x8: .entry: found byte 0x28, expected the name of a kernel");
  assert_fails(kdl_image_read_kernels(KDL_IMAGE_PTX, ".entry", 6, collect_name, &list),
               KDL_BAD_FILE,
               "offset 0x6: .entry: found the end of the text, expected the name of a kernel");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_images_tell_target_and_kernels),
      cmocka_unit_test(damaged_images_are_survived),
      cmocka_unit_test(target_is_read_from_the_directives),
      cmocka_unit_test(wrong_directives_are_refused),
      cmocka_unit_test(an_architecture_that_does_not_fit_is_refused),
      cmocka_unit_test(only_entries_with_a_body_are_kernels),
      cmocka_unit_test(text_ends_at_a_nul),
      cmocka_unit_test(an_entry_without_a_name_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
