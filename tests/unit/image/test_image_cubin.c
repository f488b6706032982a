/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image_support.h"
#include "support/base/bytes.h"

#define CUDA "nvptx64-nvidia-cuda"

static const golden_image goldens[] = {
    {"sm_75.cubin", KDL_IMAGE_CUBIN, CUDA, "sm_75", KDL_OFFLOAD_CUDA, "fill saxpy "},
    {"sm_90a.cubin", KDL_IMAGE_CUBIN, CUDA, "sm_90a", KDL_OFFLOAD_CUDA, "fill saxpy "},
    {"sm_100f.cubin", KDL_IMAGE_CUBIN, CUDA, "sm_100f", KDL_OFFLOAD_CUDA, "fill saxpy "},
    {"sm_120.cubin", KDL_IMAGE_CUBIN, CUDA, "sm_120", KDL_OFFLOAD_CUDA, "fill saxpy "},
    {"sm_75_cuda12.cubin", KDL_IMAGE_CUBIN, CUDA, "sm_75", KDL_OFFLOAD_CUDA, "fill saxpy "},
    {"sm_90a_cuda12.cubin", KDL_IMAGE_CUBIN, CUDA, "sm_90a", KDL_OFFLOAD_CUDA, "fill saxpy "},
    {"sm_100a_cuda12.cubin", KDL_IMAGE_CUBIN, CUDA, "sm_100a", KDL_OFFLOAD_CUDA, "fill saxpy "},
};
GOLDEN_TESTS(goldens)

enum { at_abi_version = 8, at_flags = 48, at_section_table = 40 };

static uint8_t *read_cubin(const char *name, size_t *size) {
  char path[64];
  snprintf(path, sizeof path, "images/%s", name);
  return read_golden(path, size);
}

static void the_walk_stops_when_told(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_cubin("sm_75.cubin", &size);
  name_list list = {.stop_after = 1};
  assert_ok(kdl_image_read_kernels(KDL_IMAGE_CUBIN, data, size, collect_name, &list));
  assert_string_equal(list.text, "fill ");
  free(data);
}

static void an_unknown_abi_leaves_the_arch_open(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_cubin("sm_75.cubin", &size);
  data[at_abi_version] = 9;
  assert_target(KDL_IMAGE_CUBIN, data, size, CUDA, "", KDL_OFFLOAD_CUDA);
  free(data);
}

/* CUDA 13 leaves e_flags alone and writes attribute 9 of .nv.compat, 12.8 sets the flag. */
static void either_mark_makes_it_arch_specific(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_cubin("sm_90a.cubin", &size);
  assert_int_equal(kdl_load_u32(data + at_flags), 0x06005a04);
  static const uint8_t accelerator[] = {2, 9, 1, 0};
  uint8_t *attribute = memmem(data, size, accelerator, sizeof accelerator);
  assert_non_null(attribute);
  attribute[2] = 0;
  assert_target(KDL_IMAGE_CUBIN, data, size, CUDA, "sm_90", KDL_OFFLOAD_CUDA);
  kdl_store_u32(data + at_flags, 0x06005a0c);
  assert_target(KDL_IMAGE_CUBIN, data, size, CUDA, "sm_90a", KDL_OFFLOAD_CUDA);
  free(data);
}

/* Suffixes begin with sm_90; code of libcublas 12.9 for sm_50 has the bit. */
static void the_flag_means_nothing_before_sm_90(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_cubin("sm_90a_cuda12.cubin", &size);
  assert_target(KDL_IMAGE_CUBIN, data, size, CUDA, "sm_90a", KDL_OFFLOAD_CUDA);
  kdl_store_u32(data + at_flags, 0x3c0d32);
  assert_target(KDL_IMAGE_CUBIN, data, size, CUDA, "sm_50", KDL_OFFLOAD_CUDA);
  kdl_store_u32(data + at_flags, 0x3c0d59);
  assert_target(KDL_IMAGE_CUBIN, data, size, CUDA, "sm_89", KDL_OFFLOAD_CUDA);
  free(data);
}

/* The options count for the SM that e_flags name, and for no other. */
static void family_is_read_from_the_options(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_cubin("sm_100f.cubin", &size);
  uint8_t *option = memmem(data, size, "-arch sm_100f", 13);
  assert_non_null(option);
  option[11] = '3';
  assert_target(KDL_IMAGE_CUBIN, data, size, CUDA, "sm_100", KDL_OFFLOAD_CUDA);
  kdl_store_u32(data + at_flags, 0x06006702);
  assert_target(KDL_IMAGE_CUBIN, data, size, CUDA, "sm_103f", KDL_OFFLOAD_CUDA);
  free(data);
}

static void a_sized_attribute_must_fit(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_cubin("sm_90a.cubin", &size);
  static const uint8_t last[] = {4, 11, 8, 0};
  uint8_t *attribute = memmem(data, size, last, sizeof last);
  assert_non_null(attribute);
  attribute[2] = 9;
  char expected[128];
  snprintf(expected, sizeof expected,
           "offset 0x%zx: .nv.compat: found an attribute of 9 bytes, expected at most 8",
           (size_t)(attribute - data) + 2);
  kdl_image_target target;
  assert_fails(kdl_image_read_target(KDL_IMAGE_CUBIN, data, size, &target), KDL_BAD_FILE, expected);
  free(data);
}

static void no_sm_number_is_refused(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_cubin("sm_75_cuda12.cubin", &size);
  kdl_store_u32(data + at_flags, 0x500);
  kdl_image_target target;
  assert_fails(kdl_image_read_target(KDL_IMAGE_CUBIN, data, size, &target), KDL_BAD_FILE,
               "offset 0x30: e_flags: found 0x500, expected an SM number in bits 0 to 7");
  free(data);
}

static void a_section_table_outside_is_refused(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_cubin("sm_75.cubin", &size);
  uint64_t table = kdl_load_u64(data + at_section_table);
  uint16_t count = kdl_load_u16(data + 60);
  kdl_store_u64(data + at_section_table, size - 64);
  char expected[160];
  snprintf(expected, sizeof expected,
           "offset 0x28: section table: found %u entries at 0x%zx, expected them inside the "
           "image's 0x%zx bytes",
           count, size - 64, size);
  name_list list = {.length = 0};
  assert_fails(kdl_image_read_kernels(KDL_IMAGE_CUBIN, data, size, collect_name, &list),
               KDL_BAD_FILE, expected);
  kdl_store_u64(data + at_section_table, UINT64_MAX);
  assert_int_equal(kdl_image_read_kernels(KDL_IMAGE_CUBIN, data, size, collect_name, &list),
                   KDL_BAD_FILE);
  kdl_store_u64(data + at_section_table, table);
  assert_kernels(KDL_IMAGE_CUBIN, data, size, "fill saxpy ");
  free(data);
}

/* NCCL's cubins have sections of NVIDIA's own types (shared memory) that have a size and nothing in
 * the file; a section whose contents are needed must have them. */
static void sections_without_contents_are_no_error(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_cubin("sm_75.cubin", &size);
  uint8_t *last =
      data + kdl_load_u64(data + at_section_table) + 64 * (kdl_load_u16(data + 60) - 1u);
  kdl_store_u32(last + 4, 0x7000000a);
  kdl_store_u64(last + 32, (uint64_t)1 << 40);
  assert_target(KDL_IMAGE_CUBIN, data, size, CUDA, "sm_75", KDL_OFFLOAD_CUDA);
  assert_kernels(KDL_IMAGE_CUBIN, data, size, "fill saxpy ");
  uint8_t *symbols = data + kdl_load_u64(data + at_section_table) + 64 * 3;
  assert_int_equal(kdl_load_u32(symbols + 4), 2);
  kdl_store_u64(symbols + 32, (uint64_t)24 << 40);
  name_list list = {.length = 0};
  char expected[160];
  snprintf(expected, sizeof expected,
           "offset 0x%zx: sh_offset: found 0x180000000000 bytes at 0x%llx, expected them inside "
           "the image's 0x%zx bytes",
           (size_t)(symbols + 24 - data), (unsigned long long)kdl_load_u64(symbols + 24), size);
  assert_fails(kdl_image_read_kernels(KDL_IMAGE_CUBIN, data, size, collect_name, &list),
               KDL_BAD_FILE, expected);
  free(data);
}

/* Counts of 0xff00 and more are kept in section 0. */
static void extended_section_numbering_is_read(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_cubin("sm_90a.cubin", &size);
  uint8_t *first = data + kdl_load_u64(data + at_section_table);
  kdl_store_u64(first + 32, kdl_load_u16(data + 60));
  kdl_store_u32(first + 40, kdl_load_u16(data + 62));
  kdl_store_u16(data + 60, 0);
  kdl_store_u16(data + 62, 0xffff);
  assert_target(KDL_IMAGE_CUBIN, data, size, CUDA, "sm_90a", KDL_OFFLOAD_CUDA);
  assert_kernels(KDL_IMAGE_CUBIN, data, size, "fill saxpy ");
  kdl_store_u64(first + 32, UINT64_MAX / 64);
  kdl_image_target target;
  assert_int_equal(kdl_image_read_target(KDL_IMAGE_CUBIN, data, size, &target), KDL_BAD_FILE);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_images_tell_target_and_kernels),
      cmocka_unit_test(damaged_images_are_survived),
      cmocka_unit_test(the_walk_stops_when_told),
      cmocka_unit_test(an_unknown_abi_leaves_the_arch_open),
      cmocka_unit_test(either_mark_makes_it_arch_specific),
      cmocka_unit_test(the_flag_means_nothing_before_sm_90),
      cmocka_unit_test(family_is_read_from_the_options),
      cmocka_unit_test(a_sized_attribute_must_fit),
      cmocka_unit_test(no_sm_number_is_refused),
      cmocka_unit_test(a_section_table_outside_is_refused),
      cmocka_unit_test(sections_without_contents_are_no_error),
      cmocka_unit_test(extended_section_numbering_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
