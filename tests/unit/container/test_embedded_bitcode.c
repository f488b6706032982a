/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* OffloadBinaries embedded in bitcode host modules. */
#include "bit_writer.h"
#include "lib/image/llvm/bitstream.h"
#include "support.h"

static void check_image(kdl_library *lib, size_t index, kdl_image_kind kind, const char *triple,
                        const char *golden) {
  kdl_image_info info = image_at(lib, index);
  assert_int_equal(info.kind, kind);
  assert_int_equal(info.parent, KDL_NO_PARENT);
  assert_string_equal(info.triple.data, triple);
  assert_string_equal(info.container.data, "offload-binary v1 in @llvm.embedded.object");
  const void *bytes;
  size_t size, expected_size;
  assert_ok(kdl_image_bytes(lib, index, &bytes, &size));
  if (!golden)
    return;
  uint8_t *expected = read_golden(golden, &expected_size);
  assert_int_equal(size, expected_size);
  assert_memory_equal(bytes, expected, size);
  free(expected);
}

static void objects_from_clang_are_found(void **state) {
  (void)state;
  kdl_library *lib = open_golden("images/embedded.bc");
  assert_int_equal(kdl_image_count(lib), 3);
  check_image(lib, 0, KDL_IMAGE_SPIRV, "spirv64-unknown-unknown", "images/spirv64.spv");
  check_image(lib, 1, KDL_IMAGE_PTX, "nvptx64-nvidia-cuda", "images/nvcc.ptx");
  check_image(lib, 2, KDL_IMAGE_UNKNOWN, "x86_64-unknown-linux-gnu", NULL);
  kdl_close(lib);
}

static void a_module_without_any_is_an_image_itself(void **state) {
  (void)state;
  kdl_library *lib = open_golden("images/host.bc");
  assert_int_equal(kdl_image_count(lib), 1);
  kdl_image_info info = image_at(lib, 0);
  assert_int_equal(info.kind, KDL_IMAGE_BITCODE);
  assert_string_equal(info.container.data, "bare image");
  assert_string_equal(info.triple.data, "x86_64-unknown-linux-gnu");
  kdl_close(lib);
}

/* ------------------------------------------------------------------------------------------ */
/* By hand                                                                                      */

enum { outer = 2, width = 3, module_block = 8, constants_block = 11 };
enum { code_aggregate = 7, code_string = 8, code_c_string = 9, code_data = 22 };

/* An OffloadBinary with one pair and an image of four bytes. */
enum { object_size = 112 };
static void build_object(uint8_t out[object_size]) {
  memset(out, 0, object_size);
  memcpy(out, "\x10\xff\x10\xad\1", 5);
  kdl_store_u64(out + 8, object_size);
  kdl_store_u64(out + 16, 32);
  kdl_store_u64(out + 24, 40);
  kdl_store_u64(out + 32 + 8, 72);
  kdl_store_u64(out + 32 + 16, 1);
  kdl_store_u64(out + 32 + 24, 104);
  kdl_store_u64(out + 32 + 32, 4);
  kdl_store_u64(out + 72, 88);
  kdl_store_u64(out + 80, 93);
  memcpy(out + 88, "arch\0test", 10);
  memcpy(out + 104, "\xfe\xdc\xba\x98", 4);
}

/* A module with one constant: unabbreviated, or of 8-bit elements that begin at any bit. */
static bit_writer with_constant(uint64_t code, const uint8_t *bytes, size_t size, int fixed_width,
                                unsigned shift) {
  bit_writer writer = {.at = 0};
  put_magic(&writer);
  size_t module = begin_block(&writer, outer, module_block, width);
  size_t constants = begin_block(&writer, width, constants_block, width);
  put_record_header(&writer, width, code_aggregate, shift);
  for (unsigned i = 0; i < shift; ++i)
    put_vbr(&writer, 0, 6);
  if (fixed_width) {
    put(&writer, 2, width); /* [code, array of fixed] */
    put_vbr(&writer, 3, 5);
    put(&writer, 1, 1);
    put_vbr(&writer, code, 8);
    put(&writer, 0, 1);
    put(&writer, KDL_BITS_ARRAY, 3);
    put(&writer, 0, 1);
    put(&writer, KDL_BITS_FIXED, 3);
    put_vbr(&writer, (uint64_t)fixed_width, 5);
    put(&writer, 4, width);
    put_vbr(&writer, size, 6);
  } else {
    put_record_header(&writer, width, code, size);
  }
  for (size_t i = 0; i < size; ++i) {
    if (fixed_width)
      put(&writer, bytes[i], (unsigned)fixed_width);
    else
      put_vbr(&writer, bytes[i], 6);
  }
  end_block(&writer, width, constants);
  end_block(&writer, width, module);
  return writer;
}

static void check_object(const bit_writer *writer) {
  kdl_library *lib;
  assert_ok(try_open(writer->data, byte_count(writer), &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  assert_string_equal(image_at(lib, 0).arch.data, "test");
  const void *bytes;
  size_t size;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &size));
  assert_int_equal(size, 4);
  assert_memory_equal(bytes, "\xfe\xdc\xba\x98", 4);
  kdl_close(lib);
}

static void objects_are_found_however_they_are_written(void **state) {
  (void)state;
  uint8_t object[object_size];
  build_object(object);
  for (unsigned shift = 0; shift < 8; ++shift) {
    bit_writer writer = with_constant(code_string, object, object_size, 8, shift);
    check_object(&writer);
    writer = with_constant(code_data, object, object_size, 8, shift);
    check_object(&writer);
  }
  bit_writer writer = with_constant(code_string, object, object_size, 0, 0);
  check_object(&writer);
  writer = with_constant(code_data, object, object_size, 33, 1);
  check_object(&writer);
  /* The NUL that a C string leaves out is the object's last byte. */
  writer = with_constant(code_c_string, object, object_size - 1, 8, 3);
  check_object(&writer);
}

static void check_none(const bit_writer *writer) {
  kdl_library *lib;
  assert_ok(try_open(writer->data, byte_count(writer), &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  assert_int_equal(image_at(lib, 0).kind, KDL_IMAGE_BITCODE);
  kdl_close(lib);
}

static void other_constants_are_left_alone(void **state) {
  (void)state;
  uint8_t object[object_size];
  build_object(object);
  bit_writer writer = with_constant(code_string, object, 71, 8, 0); /* too short for a header */
  check_none(&writer);
  writer = with_constant(code_aggregate, object, object_size, 8, 0);
  check_none(&writer);
  writer = with_constant(code_string, object, object_size, 4, 0); /* elements without the magic */
  check_none(&writer);
  object[0] = 0x11;
  writer = with_constant(code_string, object, object_size, 8, 0);
  check_none(&writer);
}

static void a_wrong_object_is_refused_by_name(void **state) {
  (void)state;
  uint8_t object[object_size];
  build_object(object);
  object[4] = 9;
  bit_writer writer = with_constant(code_string, object, object_size, 8, 0);
  kdl_library *lib;
  assert_fails(try_open(writer.data, byte_count(&writer), &lib), KDL_BAD_FILE,
               "t (embedded object 0): offset 0x4: Version: found 9, expected 1 to 3");
}

static void a_cut_off_module_is_refused_with_its_place(void **state) {
  (void)state;
  uint8_t object[object_size];
  build_object(object);
  bit_writer writer = with_constant(code_string, object, object_size, 8, 0);
  kdl_library *lib;
  assert_fails(try_open(writer.data, byte_count(&writer) - 4, &lib), KDL_BAD_FILE,
               "t: bitcode at 0x0: offset 0xc: bitstream: found block 8 of 33 words, expected at "
               "most the 32 that are left");
}

static void damaged_modules_are_survived(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_golden("images/embedded.bc", &size);
  for (size_t length = 0; length < size; ++length)
    open_and_read_all(data, length);
  for (size_t i = 0; i < size; ++i) {
    const uint8_t kept = data[i];
    const uint8_t lies[] = {0x00, 0xff, (uint8_t)(kept ^ 0x01), (uint8_t)(kept ^ 0x80)};
    for (size_t k = 0; k < sizeof lies; ++k) {
      data[i] = lies[k];
      open_and_read_all(data, size);
    }
    data[i] = kept;
  }
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(objects_from_clang_are_found),
      cmocka_unit_test(a_module_without_any_is_an_image_itself),
      cmocka_unit_test(objects_are_found_however_they_are_written),
      cmocka_unit_test(other_constants_are_left_alone),
      cmocka_unit_test(a_wrong_object_is_refused_by_name),
      cmocka_unit_test(a_cut_off_module_is_refused_with_its_place),
      cmocka_unit_test(damaged_modules_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
