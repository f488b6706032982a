/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Helpers for the unit tests: cmocka with its prerequisites, golden files, and checks that print
 * the library's message when they fail. */
#ifndef KDL_TESTS_UNIT_SUPPORT_H
#define KDL_TESTS_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kdl/kdl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define assert_ok(call)                                                                            \
  do {                                                                                             \
    if ((call) != KDL_OK)                                                                          \
      fail_msg("%s: %s", #call, kdl_error_message());                                              \
  } while (0)

#define assert_fails(call, expected_status, expected_message)                                      \
  do {                                                                                             \
    assert_int_equal((call), (expected_status));                                                   \
    assert_string_equal(kdl_error_message(), (expected_message));                                  \
  } while (0)

/* A failure whose message has the words. */
#define assert_refused(call, expected_status, words)                                               \
  do {                                                                                             \
    assert_int_equal((call), (expected_status));                                                   \
    if (!strstr(kdl_error_message(), (words)))                                                     \
      fail_msg("found \"%s\", expected \"%s\"", kdl_error_message(), (words));                     \
  } while (0)

/* Fewer rounds where each allocation fails in turn, for which a test runs many times. */
static inline unsigned rounds_of(unsigned usual, unsigned few) {
  return getenv("KDL_SHORT_OF_MEMORY") ? few : usual;
}

/* A whole file, malloc'ed; fails the test where it cannot be read. */
static inline uint8_t *read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  if (!file)
    fail_msg("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  uint8_t *data = malloc((size_t)size + 1);
  assert_int_equal(fread(data, 1, (size_t)size, file), (size_t)size);
  fclose(file);
  *out_size = (size_t)size;
  return data;
}

static inline uint8_t *read_golden(const char *name, size_t *out_size) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", KDL_TEST_DATA, name);
  return read_file(path, out_size);
}

static inline kdl_library *open_golden(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", KDL_TEST_DATA, name);
  kdl_library *lib = NULL;
  kdl_open_opts opts = {.size = sizeof opts, .name = name};
  assert_ok(kdl_open(path, &opts, &lib));
  return lib;
}

static inline kdl_image_info image_at(const kdl_library *lib, size_t index) {
  kdl_image_info info = {.size = sizeof info};
  assert_ok(kdl_image_get(lib, index, &info));
  return info;
}

/* Opens a copy that ends exactly where the allocation does, so that ASan sees any step beyond. */
static inline kdl_status try_open(const uint8_t *data, size_t size, kdl_library **out_lib) {
  *out_lib = NULL;
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  return kdl_open_memory(data, size, &opts, out_lib);
}

/* Opens and, where that works, asks for everything there is to ask for. */
static inline kdl_status open_and_read_all(const uint8_t *data, size_t size) {
  uint8_t *exact = malloc(size ? size : 1);
  if (size)
    memcpy(exact, data, size);
  kdl_library *lib;
  kdl_status status = try_open(exact, size, &lib);
  if (status == KDL_OK) {
    for (size_t i = 0; i < kdl_image_count(lib); ++i) {
      const void *bytes;
      size_t count;
      volatile unsigned sum = 0;
      if (kdl_image_bytes(lib, i, &bytes, &count) == KDL_OK)
        for (size_t k = 0; k < count; ++k)
          sum += ((const unsigned char *)bytes)[k];
    }
    kdl_close(lib);
  }
  free(exact);
  return status;
}

/* A golden file with one field set to `value`, and the message that refuses it. */
typedef struct damage {
  const char *golden;
  size_t offset;
  unsigned width; /* bytes of the field */
  uint64_t value;
  const char *message;
} damage;

static inline void expect_each_refused(const damage *damages, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    size_t size;
    uint8_t *data = read_golden(damages[i].golden, &size);
    for (unsigned byte = 0; byte < damages[i].width; ++byte)
      data[damages[i].offset + byte] = (uint8_t)(damages[i].value >> 8 * byte);
    kdl_library *lib;
    assert_fails(try_open(data, size, &lib), KDL_BAD_FILE, damages[i].message);
    free(data);
  }
}

#endif
