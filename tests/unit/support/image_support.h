/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Helpers for tests of lib/image: exact answers, and images with false contents. */
#ifndef KDL_TESTS_UNIT_IMAGE_SUPPORT_H
#define KDL_TESTS_UNIT_IMAGE_SUPPORT_H

#include "lib/inspect/images.h"
#include "support.h"

/* The names of all kernels, each followed by a blank. */
typedef struct name_list {
  char text[1024];
  size_t length;
  size_t count;
  size_t stop_after; /* 0: never */
} name_list;

static inline int collect_name(void *user, const char *name, size_t length) {
  name_list *list = user;
  assert_true(list->length + length + 2 < sizeof list->text);
  memcpy(list->text + list->length, name, length);
  list->length += length;
  list->text[list->length++] = ' ';
  list->text[list->length] = '\0';
  return ++list->count == list->stop_after;
}

#define assert_kernels(kind, data, size, expected)                                                 \
  do {                                                                                             \
    name_list list_ = {.length = 0};                                                               \
    assert_ok(kdl_image_read_kernels((kind), (data), (size), collect_name, &list_));               \
    assert_string_equal(list_.text, (expected));                                                   \
  } while (0)

#define assert_target(kind, data, size, expected_triple, expected_arch, expected_offload)          \
  do {                                                                                             \
    kdl_image_target target_;                                                                      \
    assert_ok(kdl_image_read_target((kind), (data), (size), &target_));                            \
    assert_string_equal(target_.triple, (expected_triple));                                        \
    assert_string_equal(target_.arch, (expected_arch));                                            \
    assert_int_equal(target_.offload_kind, (expected_offload));                                    \
  } while (0)

typedef struct golden_image {
  const char *file;
  kdl_image_kind kind;
  const char *triple;
  const char *arch;
  uint16_t offload_kind;
  const char *kernels;
} golden_image;

static inline void check_golden(const golden_image *golden) {
  char path[128];
  snprintf(path, sizeof path, "images/%s", golden->file);
  size_t size;
  uint8_t *data = read_golden(path, &size);
  size_t head = size < KDL_SNIFF_SIZE ? size : KDL_SNIFF_SIZE;
  print_message("%s\n", golden->file);
  assert_int_equal(kdl_image_sniff(data, head), golden->kind);
  assert_target(golden->kind, data, size, golden->triple, golden->arch, golden->offload_kind);
  assert_kernels(golden->kind, data, size, golden->kernels);
  free(data);
}

static inline int ignore_name(void *user, const char *name, size_t length) {
  /* Touches the bytes, so that a name outside the image is seen. */
  volatile unsigned char *sum = user;
  for (size_t i = 0; i < length; ++i)
    *sum = (unsigned char)(*sum + (unsigned char)name[i]);
  return 0;
}

/* Any answer is right, as long as a refusal has a reason. */
static inline void read_anything(kdl_image_kind kind, const uint8_t *data, size_t size) {
  kdl_image_target target;
  unsigned char sum = 0;
  if (kdl_image_read_target(kind, data, size, &target) != KDL_OK)
    assert_string_not_equal(kdl_error_message(), "");
  if (kdl_image_read_kernels(kind, data, size, ignore_name, &sum) != KDL_OK)
    assert_string_not_equal(kdl_error_message(), "");
}

typedef void image_reader(kdl_image_kind kind, const uint8_t *data, size_t size);

/* Prefixes in allocations of their own size, all of them where `step` is 0, and every byte changed
 * in two ways, or in four where the image is small, so that a sanitizer sees what a trusting reader
 * would do. */
static inline void check_damaged(kdl_image_kind kind, const uint8_t *data, size_t size,
                                 image_reader *read, size_t step) {
  for (size_t length = 0; length < size; length += 1 + (step ? length / step : 0)) {
    uint8_t *prefix = malloc(length ? length : 1);
    memcpy(prefix, data, length);
    read(kind, prefix, length);
    free(prefix);
  }
  uint8_t *copy = malloc(size);
  memcpy(copy, data, size);
  for (size_t i = 0; i < size; ++i) {
    const uint8_t lies[] = {0xff, (uint8_t)(data[i] ^ 0x01), 0x00, (uint8_t)(data[i] ^ 0x80)};
    for (size_t k = 0; k < (size < 4096 ? 4 : 2); ++k) {
      copy[i] = lies[k];
      read(kind, copy, size);
    }
    copy[i] = data[i];
  }
  free(copy);
}

static inline void check_damaged_file(kdl_image_kind kind, const char *file, image_reader *read,
                                      size_t step) {
  char path[128];
  snprintf(path, sizeof path, "images/%s", file);
  size_t size;
  uint8_t *data = read_golden(path, &size);
  check_damaged(kind, data, size, read, step);
  free(data);
}

static inline void check_damaged_golden(const golden_image *golden) {
  check_damaged_file(golden->kind, golden->file, read_anything, 0);
}

/* Declares the two tests that every table of golden images gets. */
#define GOLDEN_TESTS(table)                                                                        \
  static void golden_images_tell_target_and_kernels(void **state) {                                \
    (void)state;                                                                                   \
    for (size_t i = 0; i < sizeof(table) / sizeof *(table); ++i)                                   \
      check_golden(&(table)[i]);                                                                   \
  }                                                                                                \
  static void damaged_images_are_survived(void **state) {                                          \
    (void)state;                                                                                   \
    for (size_t i = 0; i < sizeof(table) / sizeof *(table); ++i)                                   \
      check_damaged_golden(&(table)[i]);                                                           \
  }

#endif
