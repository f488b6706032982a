/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launch limits in AMD code objects, and whether these are complete. */
#include "support.h"

#include "lib/image/amd/amdgpu_metadata.h"
#include "support/base/elf_file.h"
#include "support/base/text.h"

static kdl_status read_limits(const char *file, const char *kernel, kdl_image_limits *out_limits) {
  size_t size;
  uint8_t *data = read_golden(file, &size);
  kdl_status status = kdl_amdgpu_read_limits(data, size, kdl_text_of(kernel), out_limits);
  free(data);
  return status;
}

static void limits_are_read(void **state) {
  (void)state;
  static const struct {
    const char *file, *kernel;
    kdl_image_limits limits;
  } rows[] = {
      {"launch/gfx90a.hsaco", "saxpy", {{0, 0, 0}, 1024, 0}},
      {"launch/gfx90a.hsaco", "small", {{0, 0, 0}, 128, 0}},
      {"launch/fixed.hsaco", "fixed", {{32, 2, 1}, 64, 0}},
      {"images/gfx1030_no_note.o", "saxpy", {{0, 0, 0}, 0, 0}}, /* has no metadata */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_image_limits limits;
    assert_ok(read_limits(rows[i].file, rows[i].kernel, &limits));
    assert_memory_equal(&limits, &rows[i].limits, sizeof limits);
  }
  kdl_image_limits limits;
  assert_fails(read_limits("launch/gfx90a.hsaco", "sgemm", &limits), KDL_NO_MATCH,
               "found no kernel \"sgemm\" in the image, expected one");
}

/* .reqd_workgroup_size of 32, 2 and 1, of which one is 0 in turn. */
static void a_block_that_is_partly_0_is_refused(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_golden("launch/fixed.hsaco", &size);
  static const char key[] = ".reqd_workgroup_size";
  uint8_t *numbers = memmem(data, size, key, sizeof key - 1);
  assert_non_null(numbers);
  numbers += sizeof key; /* behind the head of the array */
  for (int i = 0; i < 3; ++i) {
    kdl_image_limits limits;
    uint8_t was = numbers[i];
    numbers[i] = 0;
    assert_int_equal(kdl_amdgpu_read_limits(data, size, KDL_TEXT("fixed"), &limits), KDL_BAD_FILE);
    assert_non_null(strstr(kdl_error_message(), ".reqd_workgroup_size"));
    numbers[i] = was;
  }
  free(data);
}

/* Bytes of the note that are wrong in turn, and the code object cut off anywhere. */
static void damage_is_survived(void **state) {
  (void)state;
  size_t size;
  uint8_t *whole = read_golden("launch/fixed.hsaco", &size);
  for (size_t i = 0; i < size; ++i) {
    kdl_image_limits limits;
    kdl_elf elf;
    uint8_t was = whole[i];
    whole[i] ^= 0xff;
    (void)kdl_amdgpu_read_limits(whole, size, KDL_TEXT("fixed"), &limits);
    whole[i] = was;
    uint8_t *cut = malloc(i ? i : 1);
    memcpy(cut, whole, i);
    assert_true(kdl_elf_open(cut, i, &elf) != KDL_OK || kdl_elf_check_extents(&elf) != KDL_OK);
    free(cut);
  }
  free(whole);
}

static void extents(void **state) {
  (void)state;
  size_t size;
  kdl_elf elf;
  uint8_t *data = read_golden("launch/gfx90a.hsaco", &size);
  assert_ok(kdl_elf_open(data, size, &elf));
  assert_ok(kdl_elf_check_extents(&elf));
  data[elf.section_table + 64 + 32 + 4] = 1; /* a sh_size of 4 GiB more */
  assert_int_equal(kdl_elf_check_extents(&elf), KDL_BAD_FILE);
  assert_non_null(strstr(kdl_error_message(), "sh_offset: found 0x1"));
  data[elf.section_table + 64 + 32 + 4] = 0;
  data[elf.segment_table + 32 + 4] = 1; /* and a p_filesz */
  assert_int_equal(kdl_elf_check_extents(&elf), KDL_BAD_FILE);
  assert_non_null(strstr(kdl_error_message(), "p_offset: found 0x1"));
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(limits_are_read),
      cmocka_unit_test(a_block_that_is_partly_0_is_refused),
      cmocka_unit_test(damage_is_survived),
      cmocka_unit_test(extents),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
