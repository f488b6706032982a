/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fatbins and cubins in sections of any name: found by a search and verified; what only looks like
 * one is skipped without an error. */
#include "support.h"

#include "elf_builder.h"

#include <time.h>

enum { em_x86_64 = 62, progbits = 1, alloc = 2, exec = 4, fatbin_header = 16 };

static uint8_t *fatbin, *cubin;
static size_t fatbin_size, cubin_size;

static int load(void **state) {
  (void)state;
  fatbin = read_golden("fatbin/archs.fatbin", &fatbin_size);
  cubin = read_golden("images/sm_90a.cubin", &cubin_size);
  return 0;
}

static int unload(void **state) {
  (void)state;
  free(fatbin);
  free(cubin);
  return 0;
}

static kdl_library *open_section(const char *name, uint64_t flags, uint64_t address,
                                 const uint8_t *data, size_t size) {
  elf_section sections[] = {{name, progbits, flags, data, size}};
  elf_image elf = build_elf(em_x86_64, sections, 1);
  place_section(&elf, 0, address);
  kdl_library *lib;
  static uint8_t *kept;
  free(kept);
  kept = elf.data;
  assert_ok(try_open(elf.data, elf.size, &lib));
  return lib;
}

static size_t images_of(const uint8_t *data, size_t size) {
  kdl_library *lib;
  assert_ok(try_open(data, size, &lib));
  size_t count = kdl_image_count(lib);
  kdl_close(lib);
  return count;
}

/* Text, a fatbin, text, a cubin, a fatbin. */
static void finds_what_is_there(void **state) {
  (void)state;
  size_t second = 64 + (size_t)kdl_align8(fatbin_size) + 40;
  size_t third = second + (size_t)kdl_align8(cubin_size);
  size_t size = third + fatbin_size + 8;
  uint8_t *data = calloc(1, size);
  memset(data, 'P', size);
  memcpy(data + 64, fatbin, fatbin_size);
  memcpy(data + second, cubin, cubin_size);
  memcpy(data + third, fatbin, fatbin_size);
  kdl_library *lib = open_section(".rodata", alloc, 0, data, size);
  size_t each = images_of(fatbin, fatbin_size);
  assert_int_equal(kdl_image_count(lib), 2 * each + 1);
  assert_string_equal(image_at(lib, 0).container.data, "cuda-fatbin in .rodata");
  assert_int_equal(image_at(lib, each - 1).module, 0);
  kdl_image_info info = image_at(lib, each);
  assert_int_equal(info.kind, KDL_IMAGE_CUBIN);
  assert_int_equal(info.byte_count, cubin_size);
  assert_string_equal(info.arch.data, "sm_90a");
  assert_int_equal(info.module, 1);
  assert_int_equal(image_at(lib, 2 * each).module, 2);
  const void *bytes;
  size_t count;
  assert_ok(kdl_image_bytes(lib, each, &bytes, &count));
  assert_memory_equal(bytes, cubin, cubin_size);
  kdl_close(lib);
  free(data);
}

/* Loaders want an address that is a multiple of 8, wherever the section starts. */
static void goes_by_addresses(void **state) {
  (void)state;
  uint8_t *data = calloc(1, fatbin_size + 4);
  memcpy(data + 4, fatbin, fatbin_size);
  kdl_library *lib = open_section(".ldata", alloc, 0x1004, data, fatbin_size + 4);
  assert_int_equal(kdl_image_count(lib), images_of(fatbin, fatbin_size));
  kdl_close(lib);
  free(data);
}

static void expect_plain(uint64_t flags, const uint8_t *data, size_t size) {
  kdl_library *lib = open_section(".rodata", flags, 0, data, size);
  assert_int_equal(kdl_image_count(lib), 1);
  assert_int_equal(image_at(lib, 0).kind, KDL_IMAGE_OBJECT);
  assert_string_equal(image_at(lib, 0).problem.data, "");
  kdl_close(lib);
}

static void passes_over_what_is_none(void **state) {
  (void)state;
  expect_plain(alloc | exec, fatbin, fatbin_size);
  expect_plain(0, fatbin, fatbin_size);
  expect_plain(alloc, fatbin, fatbin_size - 8); /* ends beyond the section */
  static const struct {
    size_t offset;
    uint8_t value;
  } changes[] = {{fatbin_header, 77},      /* a kind that no tool writes */
                 {fatbin_header + 4, 8},   /* an entry shorter than an entry */
                 {fatbin_header + 8, 1},   /* sizes that do not add up */
                 {fatbin_header + 30, 77}, /* an architecture of millions */
                 {8, 1}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    uint8_t *data = malloc(fatbin_size);
    memcpy(data, fatbin, fatbin_size);
    data[changes[i].offset] = changes[i].value;
    expect_plain(alloc, data, fatbin_size);
    free(data);
  }
  uint8_t *data = malloc(cubin_size);
  memcpy(data, cubin, cubin_size);
  data[18] = 62; /* for x86-64 */
  expect_plain(alloc, data, cubin_size);
  expect_plain(alloc, cubin, cubin_size - 8);
  free(data);
}

/* Every eighth byte begins a fatbin whose entries run on for long: linear time all the same. */
static void hostile_sections_take_linear_time(void **state) {
  (void)state;
  enum { size = 8 << 20 };
  uint8_t *data = calloc(1, size);
  for (size_t at = 0; at + 80 <= size; at += 80) {
    kdl_store_u64(data + at, 0x00100001ba55ed50);
    kdl_store_u64(data + at + 8, size - at - 16);
    uint8_t *entry = data + at + 16;
    kdl_store_u16(entry, 2);
    kdl_store_u32(entry + 4, 64);
    kdl_store_u64(entry + 8, 16);
    kdl_store_u32(entry + 28, 90);
  }
  clock_t before = clock();
  kdl_library *lib = open_section(".rodata", alloc, 0, data, size);
  assert_true(clock() - before < 2 * CLOCKS_PER_SEC);
  kdl_close(lib);
  free(data);
}

/* This program carries a library, and a fatbin in its data. */
KDL_EMBED(carried_library, KDL_TEST_DATA "/offload/v1_three.offload");
__asm__(".pushsection .rodata\n"
        ".p2align 4\n"
        "carried_fatbin:\n"
        ".incbin \"" KDL_TEST_DATA "/fatbin/archs.fatbin\"\n"
        ".popsection\n");

static void a_program_does_not_search_itself(void **state) {
  (void)state;
  kdl_library *lib;
  assert_ok(kdl_open(NULL, NULL, &lib));
  assert_int_equal(kdl_image_count(lib), 3);
  assert_string_equal(image_at(lib, 0).container.data, "offload-binary v1 in .kdl.offloading");
  kdl_close(lib);
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE};
  assert_ok(kdl_open("/proc/self/exe", &opts, &lib));
  assert_int_equal(kdl_image_count(lib), 3 + images_of(fatbin, fatbin_size));
  kdl_close(lib);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_what_is_there),
      cmocka_unit_test(goes_by_addresses),
      cmocka_unit_test(passes_over_what_is_none),
      cmocka_unit_test(hostile_sections_take_linear_time),
      cmocka_unit_test(a_program_does_not_search_itself),
  };
  return cmocka_run_group_tests(tests, load, unload);
}
