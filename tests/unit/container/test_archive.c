/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Archives: every way of naming a member, what is skipped, and what is refused. */
#include "support.h"

typedef struct {
  uint8_t data[16384];
  size_t size;
} archive;

static void start(archive *out) {
  memset(out, 0, sizeof *out);
  memcpy(out->data, "!<arch>\n", 8);
  out->size = 8;
}

static void add(archive *out, const char *name, const char *prefix, const void *data, size_t size) {
  size_t total = strlen(prefix) + size;
  assert_true(out->size + 61 + total < sizeof out->data);
  char header[64];
  snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, "644", total);
  memcpy(out->data + out->size, header, 60);
  memcpy(out->data + out->size + 60, prefix, strlen(prefix));
  memcpy(out->data + out->size + 60 + strlen(prefix), data, size);
  out->size += 60 + total;
  if (out->size & 1)
    out->data[out->size++] = '\n';
}

static uint8_t *one;
static size_t one_size;

static int load(void **state) {
  (void)state;
  one = read_golden("offload/v1_one.offload", &one_size);
  return 0;
}

static int unload(void **state) {
  (void)state;
  free(one);
  return 0;
}

static void reads_every_kind_of_name(void **state) {
  (void)state;
  static const char names[] = "a_rather_long_member_name.offload/\nanother_long_name.offload/\n";
  archive ar;
  start(&ar);
  add(&ar, "/", "", "\0\0\0\0", 4);
  add(&ar, "//", "", names, sizeof names - 1);
  add(&ar, "short.o/", "", one, one_size);
  add(&ar, "/0", "", one, one_size);
  add(&ar, "/35", "", one, one_size);
  size_t bsd = ar.size;
  add(&ar, "#1/11", "bsd_name.o|", one, one_size);
  ar.data[bsd + 60 + 10] = '\0'; /* names are padded with NULs */
  add(&ar, "no_slash", "", one, one_size);
  kdl_library *lib;
  assert_ok(try_open(ar.data, ar.size, &lib));
  static const char *const expected[] = {
      "offload-binary v1 in short.o",
      "offload-binary v1 in a_rather_long_member_name.offload",
      "offload-binary v1 in another_long_name.offload",
      "offload-binary v1 in bsd_name.o",
      "offload-binary v1 in no_slash",
  };
  assert_int_equal(kdl_image_count(lib), 5);
  for (size_t i = 0; i < 5; ++i) {
    assert_string_equal(image_at(lib, i).container.data, expected[i]);
    assert_string_equal(image_at(lib, i).arch.data, "sm_90");
  }
  kdl_close(lib);
}

static void passes_over_other_members(void **state) {
  (void)state;
  archive ar;
  start(&ar);
  add(&ar, "notes.txt/", "", "hello", 5);
  add(&ar, "empty/", "", "", 0);
  add(&ar, "k.o/", "", one, one_size);
  kdl_library *lib;
  assert_ok(try_open(ar.data, ar.size, &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  kdl_close(lib);
}

static void refuses_thin_archives(void **state) {
  (void)state;
  kdl_library *lib;
  assert_fails(try_open((const uint8_t *)"!<thin>\n", 8, &lib), KDL_UNSUPPORTED,
               "t: a thin archive names its members and does not hold them; list the member files "
               "themselves, or make a plain archive with `ar rc` (no T)");
}

static void names_each_damaged_field(void **state) {
  (void)state;
  archive ar;
  kdl_library *lib;
  start(&ar);
  add(&ar, "k.o/", "", one, one_size);
  memcpy(ar.data + 8 + 48, "9999999999", 10);
  assert_fails(
      try_open(ar.data, ar.size, &lib), KDL_BAD_FILE,
      "t: offset 0x38: member size: found 9999999999, expected at most 168, the bytes left "
      "in the archive");
  memcpy(ar.data + 8 + 48, "16x       ", 10);
  assert_fails(try_open(ar.data, ar.size, &lib), KDL_BAD_FILE,
               "t: offset 0x38: member size: found \"16x       \", expected a decimal number");
  ar.data[8 + 58] = 'x';
  assert_fails(try_open(ar.data, ar.size, &lib), KDL_BAD_FILE,
               "t: offset 0x42: member header: found 78 0a, expected 60 0a at its end");
  start(&ar);
  add(&ar, "/7", "", one, one_size);
  assert_fails(try_open(ar.data, ar.size, &lib), KDL_BAD_FILE,
               "t: offset 0x8: member name: found offset 7 into a name table of 0 bytes, expected "
               "less");
  start(&ar);
  add(&ar, "#1/999", "", one, one_size);
  assert_fails(try_open(ar.data, ar.size, &lib), KDL_BAD_FILE,
               "t: offset 0x8: member name: found a name of 999 bytes, expected at most 168");
  start(&ar);
  add(&ar, "k.o/", "", one, one_size);
  assert_fails(try_open(ar.data, 40, &lib), KDL_BAD_FILE,
               "t: offset 0x8: member header: found 32 bytes, expected 60");
}

static void refuses_deep_nesting(void **state) {
  (void)state;
  archive inner, outer;
  start(&inner);
  add(&inner, "k.o/", "", one, one_size);
  kdl_library *lib;
  for (int depth = 0; depth < 2; ++depth) {
    start(&outer);
    add(&outer, "in.a/", "", inner.data, inner.size);
    inner = outer;
  }
  assert_ok(open_and_read_all(inner.data, inner.size));
  start(&outer);
  add(&outer, "in.a/", "", inner.data, inner.size);
  assert_int_equal(try_open(outer.data, outer.size, &lib), KDL_BAD_FILE);
  assert_non_null(strstr(kdl_error_message(), "nesting: found containers more than 4 deep"));
}

static void survives_truncation(void **state) {
  (void)state;
  archive ar;
  start(&ar);
  add(&ar, "//", "", "a_rather_long_member_name.o/\n", 29);
  add(&ar, "/0", "", one, one_size);
  for (size_t cut = 0; cut < ar.size; ++cut)
    open_and_read_all(ar.data, cut);
  assert_ok(open_and_read_all(ar.data, ar.size));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_kind_of_name), cmocka_unit_test(passes_over_other_members),
      cmocka_unit_test(refuses_thin_archives),    cmocka_unit_test(names_each_damaged_field),
      cmocka_unit_test(refuses_deep_nesting),     cmocka_unit_test(survives_truncation),
  };
  return cmocka_run_group_tests(tests, load, unload);
}
