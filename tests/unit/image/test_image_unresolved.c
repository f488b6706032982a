/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which images need to be linked with others first. */
#include "support.h"

#include "lib/image/readers.h"
#include "lib/inspect/images.h"

static bool unresolved(kdl_image_kind kind, const void *data, size_t size) {
  bool found = false;
  assert_ok(kdl_image_read_unresolved(kind, data, size, &found));
  return found;
}

static void ptx_declares_what_it_lacks(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool expected;
  } rows[] = {
      {".visible .entry k() { ret; }", false},
      {".extern .func (.param .b32 r) _Z1ff (.param .b32 p);", true},
      {".extern .func f;", true},
      {".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);", false},
      {".extern .func __assertfail (.param .b64 a) ;", false},
      {".extern .func (.param .b64 r) malloc (.param .b64 a); .extern .func g;", true},
      {".extern .shared .align 16 .b8 memory[];", false},
      {".extern .global .align 4 .u32 counter;", true},
      {".extern .const .align 4 .u32 table[4];", true},
      {"// .extern .func f;", false},
      {"/* .extern .func f; */ .visible .entry k() { ret; }", false},
      {".extern", false},
      {".extern .func", true},
      {".extern .func (", true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char text[256];
    int length = snprintf(text, sizeof text, ".version 8.0\n.target sm_90\n%s", rows[i].text);
    if (unresolved(KDL_IMAGE_PTX, text, (size_t)length) != rows[i].expected)
      fail_msg("%s", rows[i].text);
  }
}

static bool first_image_is_unresolved(const char *golden) {
  kdl_library *lib = open_golden(golden);
  const void *data;
  size_t size;
  assert_ok(kdl_image_bytes(lib, 0, &data, &size));
  bool found = unresolved(KDL_IMAGE_CUBIN, data, size);
  kdl_close(lib);
  return found;
}

static void cubins_have_undefined_functions(void **state) {
  (void)state;
  assert_true(first_image_is_unresolved("fatbin/extern.fatbin"));
  assert_false(first_image_is_unresolved("fatbin/rdc.fatbin"));
  assert_false(first_image_is_unresolved("fatbin/stored.fatbin"));
  assert_false(first_image_is_unresolved("images/sm_75.cubin"));
}

static void other_kinds_are_whole(void **state) {
  (void)state;
  assert_false(unresolved(KDL_IMAGE_SPIRV, ".extern .func f;", 16));
  bool found;
  assert_int_equal(kdl_image_read_unresolved(KDL_IMAGE_CUBIN, "no ELF", 6, &found), KDL_BAD_FILE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ptx_declares_what_it_lacks),
      cmocka_unit_test(cubins_have_undefined_functions),
      cmocka_unit_test(other_kinds_are_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
