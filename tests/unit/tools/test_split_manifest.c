/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Manifests: what is written is read back, and errors are named. */
#include "pack/split/split.h"
#include "support/system/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define HOST "\"host\": {\"file\": \"h\", \"blake2b-256\": \"" DIGEST "\"}"
#define HEAD                                                                                       \
  "{\"kdl_split\": 1, \"file\": \"f\", \"size\": 9, \"blake2b-256\": \"" DIGEST "\", " HOST

static kdl_status read_text(const char *text, split_manifest *out) {
  char path[64];
  int fd = kdl_memory_file_create("manifest", KDL_MEMORY_FILE_DATA, text, strlen(text));
  assert_true(fd >= 0);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  kdl_status status = split_manifest_read(path, out);
  close(fd);
  return status;
}

static void what_is_written_is_read_again(void **state) {
  char path[] = "/tmp/kdl-manifest-XXXXXX";
  (void)state;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  split_part parts[] = {
      {.arch = "sm_90", .file = "f.sm_90.offload", .images = 3, .bytes = 7, .size = 11},
      {.arch = "a \"b\"\n", .file = "f.x", .is_needed = true},
  };
  parts[1].digest.bytes[31] = 0xfe;
  split_manifest written = {.file = "f", .host = "f", .mode = 0755, .size = UINT64_MAX >> 12};
  written.parts = parts;
  written.part_count = 2;
  written.host_digest.bytes[0] = 0x12;
  assert_int_equal(split_manifest_save(&written, path), KDL_OK);
  split_manifest read;
  assert_int_equal(split_manifest_read(path, &read), KDL_OK);
  assert_string_equal(read.file, "f");
  assert_int_equal(read.mode, 0755);
  assert_true(read.size == UINT64_MAX >> 12);
  assert_int_equal(read.host_digest.bytes[0], 0x12);
  assert_int_equal(read.part_count, 2);
  assert_string_equal(read.parts[0].arch, "sm_90");
  assert_int_equal(read.parts[0].images, 3);
  assert_int_equal(read.parts[0].bytes, 7);
  assert_int_equal(read.parts[0].size, 11);
  assert_false(read.parts[0].is_needed);
  assert_string_equal(read.parts[1].arch, "a \"b\"\n");
  assert_true(read.parts[1].is_needed);
  assert_int_equal(read.parts[1].digest.bytes[31], 0xfe);
  split_manifest_free(&read);
  unlink(path);
}

static void what_is_wrong_is_named(void **state) {
  static const struct {
    const char *text, *message;
  } wrong[] = {
      {"[]", "expected an object"},
      {"{}", "found a manifest that lacks a key"},
      {HEAD "}", "found a manifest that lacks a key"},
      {HEAD ", \"parts\": [], \"parts\": []}", "found the key \"parts\" twice"},
      {HEAD ", \"parts\": [{}]}", "found a part that lacks a key"},
      {HEAD ", \"parts\": []} x", "x"},
      {"{\"kdl_split\": 7}", "found version 7 of the manifest, expected 1"},
      {"{\"file\": \"a/b\"}", "found \"a/b\", expected the name of a file in the folder"},
      {"{\"file\": \"..\"}", "found \"..\", expected the name of a file in the folder"},
      {"{\"file\": \"\"}", "found \"\", expected the name of a file in the folder"},
      {"{\"blake2b-256\": \"00\"}", "expected 64 hexadecimal digits"},
      {"{\"blake2b-256\": \"" DIGEST "00\"}", ""},
      {"{\"host\": {\"file\": \"h\"}}", "found a host part that lacks a key"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    split_manifest manifest;
    assert_int_equal(read_text(wrong[i].text, &manifest), KDL_BAD_FILE);
    if (!strstr(kdl_error_message(), wrong[i].message))
      fail_msg("%s: found '%s', expected '%s'", wrong[i].text, kdl_error_message(),
               wrong[i].message);
  }
  split_manifest manifest;
  assert_int_equal(read_text(HEAD ", \"parts\": [], \"later\": [1, {}]}", &manifest), KDL_OK);
  split_manifest_free(&manifest);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read_again),
      cmocka_unit_test(what_is_wrong_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
