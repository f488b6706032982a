/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which images are variants of one module: those of one fatbin, one bundle, one section. */
#include "support.h"

#include "elf_builder.h"

enum { progbits = 1, llvm_offloading = 0x6fff4c0b, alloc = 2, most_bytes = 1 << 20 };
static const uint64_t exclude = 0x80000000;

typedef struct {
  uint8_t data[most_bytes];
  size_t size;
} joined;

static void append(joined *out, const char *golden) {
  size_t size;
  uint8_t *data = read_golden(golden, &size);
  out->size = (size_t)kdl_align8(out->size);
  assert_true(out->size + size <= sizeof out->data);
  memcpy(out->data + out->size, data, size);
  out->size += size;
  free(data);
}

static joined *join(const char *const *goldens, size_t count) {
  joined *out = calloc(1, sizeof *out);
  assert_non_null(out);
  for (size_t i = 0; i < count; ++i)
    append(out, goldens[i]);
  return out;
}

/* "0 0 1": the modules of the images, in the order of the file. */
static void assert_modules_of(const kdl_library *lib, const char *expected) {
  char found[512] = "";
  for (size_t i = 0, used = 0; i < kdl_image_count(lib); ++i)
    used += (size_t)snprintf(found + used, sizeof found - used, "%s%zu", i ? " " : "",
                             image_at(lib, i).module);
  assert_string_equal(found, expected);
}

static void assert_modules(const uint8_t *data, size_t size, const char *expected) {
  kdl_library *lib;
  assert_ok(try_open(data, size, &lib));
  assert_modules_of(lib, expected);
  kdl_close(lib);
}

static void fatbins_that_follow_one_another_are_modules(void **state) {
  (void)state;
  static const char *const two[] = {"fatbin/stored.fatbin", "fatbin/lz4.fatbin"};
  joined *file = join(two, 2);
  kdl_library *lib;
  assert_ok(try_open(file->data, file->size, &lib));
  size_t count = kdl_image_count(lib);
  assert_true(count > 2);
  assert_int_equal(image_at(lib, 0).module, 0);
  assert_int_equal(image_at(lib, count - 1).module, 1);
  for (size_t i = 1; i < count; ++i) {
    size_t step = image_at(lib, i).module - image_at(lib, i - 1).module;
    bool next = image_at(lib, i).header_offset > image_at(lib, i - 1).header_offset && step <= 1;
    assert_true(next);
  }
  kdl_close(lib);
  free(file);
}

/* The number of a fatbin without images goes to the next. */
static void an_empty_fatbin_is_no_module(void **state) {
  (void)state;
  static const uint8_t empty[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16};
  static const char *const one[] = {"fatbin/lz4.fatbin"};
  joined *file = join(one, 1);
  memmove(file->data + 16, file->data, file->size);
  memcpy(file->data, empty, sizeof empty);
  kdl_library *lib;
  assert_ok(try_open(file->data, file->size + 16, &lib));
  for (size_t i = 0; i < kdl_image_count(lib); ++i)
    assert_int_equal(image_at(lib, i).module, 0);
  kdl_close(lib);
  free(file);
}

static void bundles_that_follow_one_another_are_modules(void **state) {
  (void)state;
  static const char *const two[] = {"bundle/plain.hipfb", "bundle/v3.ccob"};
  joined *file = join(two, 2);
  assert_modules(file->data, file->size, "0 0 1 1");
  free(file);
}

static void offload_binaries_that_follow_one_another_are_one_module(void **state) {
  (void)state;
  static const char *const two[] = {"offload/v1_three.offload", "offload/v2_three.offload"};
  joined *file = join(two, 2);
  assert_modules(file->data, file->size, "0 0 0 0 0 0");
  free(file);
}

static void a_nested_container_is_of_its_images_module(void **state) {
  (void)state;
  kdl_library *lib = open_golden("offload/v1_nested.offload");
  for (size_t i = 0; i < kdl_image_count(lib); ++i)
    assert_int_equal(image_at(lib, i).module, 0);
  kdl_close(lib);
}

/* The fatbins of one image are several modules: the first is the image's own. */
static void two_fatbins_in_one_image_are_two_modules(void **state) {
  (void)state;
  static const char *const two[] = {"fatbin/lz4.fatbin", "fatbin/lz4.fatbin"};
  joined *fatbins = join(two, 2);
  kdl_writer *writer;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  kdl_writer_image image = {.size = sizeof image, .data = fatbins->data};
  image.data_size = fatbins->size;
  assert_ok(kdl_writer_add(writer, &image));
  assert_ok(kdl_writer_add(writer, &image));
  void *data;
  size_t size;
  assert_ok(kdl_writer_finish(writer, &data, &size));
  kdl_writer_destroy(writer);
  kdl_library *lib;
  assert_ok(try_open(data, size, &lib));
  size_t half = kdl_image_count(lib) / 2;
  size_t each = (half - 1) / 2;
  for (size_t i = 0; i < half; ++i) {
    assert_int_equal(image_at(lib, i).module, i <= each ? 0 : 1);
    assert_int_equal(image_at(lib, half + i).module, i <= each ? 0 : 2);
  }
  kdl_close(lib);
  free(data);
  free(fatbins);
}

/* One object's bundle is one module, wherever its sections lie; others' sections are their own. */
static void sections_of_an_object(void **state) {
  (void)state;
  size_t size;
  uint8_t *v1 = read_golden("offload/v1_three.offload", &size);
  size_t cubin_size;
  uint8_t *cubin = read_golden("images/sm_75.cubin", &cubin_size);
  const elf_section sections[] = {
      {"__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu-", progbits, exclude, "", 1},
      {"a", llvm_offloading, exclude, v1, size},
      {"__CLANG_OFFLOAD_BUNDLE__cuda-nvptx64-nvidia-cuda--sm_75", progbits, exclude, cubin,
       cubin_size},
      {"b", llvm_offloading, exclude, v1, size},
      {"__CLANG_OFFLOAD_BUNDLE__cuda-nvptx64-nvidia-cuda--sm_80", progbits, exclude, cubin,
       cubin_size},
  };
  elf_image elf = build_elf(62, sections, sizeof sections / sizeof *sections);
  assert_modules(elf.data, elf.size, "0 0 0 1 2 2 2 1");
  free(elf.data);
  free(cubin);
  free(v1);
}

/* Programs that were compiled before `module` pass the size that they know. */
static void older_callers_get_what_they_know(void **state) {
  (void)state;
  kdl_library *lib = open_golden("offload/v1_three.offload");
  kdl_image_info info = {.size = offsetof(kdl_image_info, module), .module = 77};
  assert_ok(kdl_image_get(lib, 1, &info));
  assert_int_equal(info.size, offsetof(kdl_image_info, module));
  assert_int_equal(info.index, 1);
  assert_int_equal(info.module, 77);
  info.size -= 8;
  assert_int_equal(kdl_image_get(lib, 1, &info), KDL_BAD_CALL);
  kdl_close(lib);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fatbins_that_follow_one_another_are_modules),
      cmocka_unit_test(an_empty_fatbin_is_no_module),
      cmocka_unit_test(bundles_that_follow_one_another_are_modules),
      cmocka_unit_test(offload_binaries_that_follow_one_another_are_one_module),
      cmocka_unit_test(a_nested_container_is_of_its_images_module),
      cmocka_unit_test(two_fatbins_in_one_image_are_two_modules),
      cmocka_unit_test(sections_of_an_object),
      cmocka_unit_test(older_callers_get_what_they_know),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
