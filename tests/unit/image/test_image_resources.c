/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kernels use: of each format, and of damaged images. */
#include "elf_builder.h"
#include "image_support.h"
#include "lib/image/readers.h"
#include "lib/inspect/images.h"

#define NONE KDL_NO_RESOURCE

typedef struct {
  const char *kernel;
  kdl_kernel_resources uses;
} expected_kernel;

typedef struct {
  const expected_kernel *items;
  size_t count, seen;
} expected_list;

static int compare_kernel(void *user, kdl_string kernel, const kdl_kernel_resources *uses) {
  expected_list *list = user;
  assert_true(list->seen < list->count);
  const expected_kernel *want = &list->items[list->seen++];
  assert_int_equal(kernel.length, strlen(want->kernel));
  assert_memory_equal(kernel.data, want->kernel, kernel.length);
  const uint32_t *a = &uses->vector_registers, *b = &want->uses.vector_registers;
  assert_int_equal(uses->size, sizeof *uses);
  for (size_t i = 0; i < (sizeof *uses - sizeof uses->size) / sizeof *a; ++i) {
    if (a[i] != b[i])
      fail_msg("%s: number %zu: found %u, expected %u", want->kernel, i, a[i], b[i]);
  }
  return 0;
}

static void check_golden_resources(const char *file, kdl_image_kind kind,
                                   const expected_kernel *items, size_t count) {
  char path[128];
  snprintf(path, sizeof path, "images/%s", file);
  size_t size;
  uint8_t *data = read_golden(path, &size);
  expected_list list = {items, count, 0};
  assert_ok(kdl_image_read_resources(kind, data, size, compare_kernel, &list));
  assert_int_equal(list.seen, count);
  free(data);
}

#define CHECK(file, kind, list)                                                                    \
  check_golden_resources(file, kind, list, sizeof(list) / sizeof *(list))

/* In the order of the struct. */
#define USES(...) {.vector_registers = __VA_ARGS__}

/* Compared with cuobjdump -res-usage and nvdisasm 13.4. */
static void of_cubins(void **state) {
  (void)state;
  static const expected_kernel list[] = {
      {"fixed",
       USES(8, NONE, NONE, NONE, NONE, NONE, 0, 0, 0, 536, 256, {64, 4, 1}, 32, 1, 8, 256, 0)},
      {"plain",
       USES(10, NONE, NONE, NONE, NONE, NONE, 0, 0, 5120, 540, 256, {0}, 32, 2, 12, 512, 2)},
  };
  CHECK("resources.cubin", KDL_IMAGE_CUBIN, list);
  /* CUDA 12: registers in an attribute, barriers in the header of the code. */
  static const expected_kernel old[] = {
      {"fill", USES(6, NONE, NONE, NONE, NONE, NONE, 0, 0, 0, 360, NONE, {0}, 32, 1, 8, 128, 0)},
      {"saxpy", USES(4, NONE, NONE, NONE, NONE, NONE, 0, 0, 0, 360, NONE, {0}, 32, 1, 8, 128, 0)},
  };
  CHECK("sm_75_cuda12.cubin", KDL_IMAGE_CUBIN, old);
}

/* Compared with llvm-readobj --notes and --symbols. */
static void of_code_objects(void **state) {
  (void)state;
  static const expected_kernel list[] = {
      {"spills",
       USES(20, 62, 0, 0, 0, NONE, 164, NONE, 2048, NONE, 256, {0}, 64, 3, 13, 1888, NONE)},
      {"fixed", USES(2, 10, 0, 0, 0, NONE, 0, NONE, 0, NONE, 1024, {0}, 64, 1, 8, 32, NONE)},
  };
  CHECK("resources.hsaco", KDL_IMAGE_HSACO, list);
}

/* Compared with ocloc disasm. */
static void of_zebins(void **state) {
  (void)state;
  static const expected_kernel list[] = {
      {"many",
       USES(128, NONE, NONE, NONE, NONE, 0, 0, NONE, 0, NONE, NONE, {0}, 32, 11, NONE, 640, 0)},
      {"none",
       USES(128, NONE, NONE, NONE, NONE, 0, 0, NONE, 0, NONE, NONE, {0}, 32, 0, NONE, 256, 0)},
  };
  CHECK("params.zebin", KDL_IMAGE_ZEBIN, list);
}

static void of_host_code(void **state) {
  (void)state;
#define HOST(bytes)                                                                                \
  USES(NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, {0}, NONE, NONE, NONE,    \
       bytes, NONE)
  static const expected_kernel list[] = {{"saxpy", HOST(7)}, {"fill", HOST(7)}};
  CHECK("x86_64_v3.so", KDL_IMAGE_OBJECT, list);
}

static void other_kinds_declare_nothing(void **state) {
  (void)state;
  assert_fails(kdl_image_read_resources(KDL_IMAGE_PTX, "", 0, compare_kernel, NULL),
               KDL_UNSUPPORTED, "ptx image: it does not declare what its kernels use");
}

static int ignore_resources(void *user, kdl_string kernel, const kdl_kernel_resources *uses) {
  volatile unsigned char *sum = user;
  (void)uses;
  for (size_t i = 0; i < kernel.length; ++i)
    *sum = (unsigned char)(*sum + (unsigned char)kernel.data[i]);
  return 0;
}

/* Many functions of one long name. */
static void names_that_overlap_are_refused(void **state) {
  (void)state;
  enum { count = 200, symbol_size = 24 };
  static char names[20000];
  static uint8_t symbols[(1 + count) * symbol_size];
  memset(names + 1, 'k', sizeof names - 2);
  for (size_t i = 1; i <= count; ++i) {
    kdl_store_u32(symbols + i * symbol_size, 1);
    symbols[i * symbol_size + 4] = 0x12; /* global function */
    kdl_store_u16(symbols + i * symbol_size + 6, 1);
  }
  const elf_section sections[] = {{".strtab", 3, 0, names, sizeof names},
                                  {".symtab", 2, 0, symbols, sizeof symbols}};
  elf_image elf = build_elf(62, sections, 2);
  kdl_store_u32(elf.data + elf.table + 2 * 64 + 40, 1);           /* sh_link */
  kdl_store_u64(elf.data + elf.table + 2 * 64 + 56, symbol_size); /* sh_entsize */
  unsigned char sum = 0;
  assert_fails(
      kdl_image_read_resources(KDL_IMAGE_OBJECT, elf.data, elf.size, ignore_resources, &sum),
      KDL_BAD_FILE,
      "found kernel names that overlap so much that together they are more than 8 times as long as "
      "the image, expected names that lie apart");
  free(elf.data);
}

static void read_any_resources(kdl_image_kind kind, const uint8_t *data, size_t size) {
  unsigned char sum = 0;
  if (kdl_image_read_resources(kind, data, size, ignore_resources, &sum) != KDL_OK)
    assert_string_not_equal(kdl_error_message(), "");
}

static void damaged_images_are_survived(void **state) {
  (void)state;
  static const struct {
    const char *file;
    kdl_image_kind kind;
  } rows[] = {
      {"resources.cubin", KDL_IMAGE_CUBIN}, {"sm_75_cuda12.cubin", KDL_IMAGE_CUBIN},
      {"resources.hsaco", KDL_IMAGE_HSACO}, {"gfx1030_no_note.o", KDL_IMAGE_HSACO},
      {"params.zebin", KDL_IMAGE_ZEBIN},    {"x86_64_v3.so", KDL_IMAGE_OBJECT},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
    check_damaged_file(rows[r].kind, rows[r].file, read_any_resources, 64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_cubins),
      cmocka_unit_test(of_code_objects),
      cmocka_unit_test(of_zebins),
      cmocka_unit_test(of_host_code),
      cmocka_unit_test(other_kinds_declare_nothing),
      cmocka_unit_test(names_that_overlap_are_refused),
      cmocka_unit_test(damaged_images_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
