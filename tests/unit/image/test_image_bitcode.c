/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bit_writer.h"
#include "image_support.h"
#include "lib/image/llvm/bitstream.h"

#define HOST "x86_64-unknown-linux-gnu"

static const golden_image goldens[] = {
    {"amdgcn.bc", KDL_IMAGE_BITCODE, "amdgcn-amd-amdhsa", "gfx90a:xnack+", KDL_OFFLOAD_HIP,
     "saxpy fill "},
    {"amdgpu_subarch.bc", KDL_IMAGE_BITCODE, "amdgpu9.42-amd-amdhsa", "gfx942", KDL_OFFLOAD_HIP,
     "saxpy fill "},
    {"nvptx64.bc", KDL_IMAGE_BITCODE, "nvptx64-nvidia-cuda", "sm_90", KDL_OFFLOAD_CUDA,
     "saxpy fill "},
    {"annotated.bc", KDL_IMAGE_BITCODE, "nvptx64-nvidia-cuda", "", KDL_OFFLOAD_CUDA, "saxpy fill "},
    {"host.bc", KDL_IMAGE_BITCODE, HOST, "x86-64", KDL_OFFLOAD_NONE, "saxpy fill "},
    {"two_modules.bc", KDL_IMAGE_BITCODE, HOST, "x86-64", KDL_OFFLOAD_NONE, "saxpy fill other "},
};
GOLDEN_TESTS(goldens)

static kdl_status read_target(const void *data, size_t size) {
  kdl_image_target target;
  return kdl_image_read_target(KDL_IMAGE_BITCODE, data, size, &target);
}

static kdl_status read_kernels(const void *data, size_t size) {
  name_list list = {.length = 0};
  return kdl_image_read_kernels(KDL_IMAGE_BITCODE, data, size, collect_name, &list);
}

/* ------------------------------------------------------------------------------------------ */
/* Modules                                                                                      */

static void a_wrapper_is_looked_through(void **state) {
  (void)state;
  size_t size;
  uint8_t *module = read_golden("images/host.bc", &size);
  uint8_t *data = calloc(1, size + 40);
  kdl_store_u32(data, 0x0b17c0de);
  kdl_store_u32(data + 8, 24);
  kdl_store_u32(data + 12, (uint32_t)size);
  memcpy(data + 24, module, size);
  assert_int_equal(kdl_image_sniff(data, 64), KDL_IMAGE_BITCODE);
  assert_target(KDL_IMAGE_BITCODE, data, size + 40, HOST, "x86-64", 0);
  assert_kernels(KDL_IMAGE_BITCODE, data, size + 40, "saxpy fill ");
  kdl_store_u32(data + 12, (uint32_t)size + 17);
  char expected[128];
  snprintf(expected, sizeof expected,
           "offset 0x8: bitcode wrapper: found %zu bytes at 0x18, expected them inside the image's "
           "0x%zx bytes",
           size + 17, size + 40);
  assert_fails(read_target(data, size + 40), KDL_BAD_FILE, expected);
  free(data);
  free(module);
}

enum { outer = 2, inner = 3, module_block = 8, strtab_block = 23 };

typedef struct function_row {
  uint64_t name_at, name_size, convention, is_declaration, linkage, visibility;
} function_row;

/* A module with one function, whose name is in a string table of "saxpy". */
static bit_writer one_function(uint64_t version, const char *triple, function_row row) {
  bit_writer writer = {.at = 0};
  put_magic(&writer);
  size_t module = begin_block(&writer, outer, module_block, inner);
  put_record(&writer, inner, 1, &version, 1);
  put_record_header(&writer, inner, 2, strlen(triple));
  for (const char *c = triple; *c; ++c)
    put_vbr(&writer, (uint8_t)*c, 6);
  const uint64_t function[] = {
      row.name_at, row.name_size, 0, row.convention, row.is_declaration, row.linkage, 0, 0,
      0,           row.visibility};
  put_record(&writer, inner, 8, function, 10);
  end_block(&writer, inner, module);
  size_t strtab = begin_block(&writer, outer, strtab_block, inner);
  put(&writer, 2, inner); /* [1, blob] */
  put_vbr(&writer, 2, 5);
  put(&writer, 1, 1);
  put_vbr(&writer, 1, 8);
  put(&writer, 0, 1);
  put(&writer, KDL_BITS_BLOB, 3);
  put(&writer, 4, inner);
  put_vbr(&writer, 5, 6);
  put_alignment(&writer);
  for (const char *c = "saxpy"; *c; ++c)
    put(&writer, (uint8_t)*c, 8);
  put_alignment(&writer);
  end_block(&writer, inner, strtab);
  return writer;
}

static void conventions_and_linkage_make_kernels(void **state) {
  (void)state;
  enum { c = 0, spir_func = 75, external = 0, internal = 3, weak_odr = 17, available = 12 };
  static const struct {
    const char *triple;
    function_row row;
    const char *kernels;
  } rows[] = {
      {"nvptx64-nvidia-cuda", {0, 5, 71, 0, external, 0}, "saxpy "},
      {"nvptx64-nvidia-cuda", {0, 5, c, 0, external, 0}, ""},
      {"nvptx64-nvidia-cuda", {0, 5, 71, 1, external, 0}, ""},
      {"nvptx64-nvidia-cuda", {0, 5, 71, 0, internal, 0}, ""},
      {"amdgcn-amd-amdhsa", {0, 5, 91, 0, weak_odr, 2}, "saxpy "},
      {"amdgcn-amd-amdhsa", {0, 5, 91, 0, external, 1}, "saxpy "},
      {"spirv64-unknown-unknown", {0, 5, 76, 0, external, 0}, "saxpy "},
      {"spir64-unknown-unknown", {0, 5, spir_func, 0, external, 0}, ""},
      {HOST, {0, 5, c, 0, external, 0}, "saxpy "},
      {HOST, {2, 3, c, 0, external, 2}, "xpy "},
      {HOST, {0, 5, c, 0, external, 1}, ""}, /* hidden */
      {HOST, {0, 5, c, 0, available, 0}, ""},
      {HOST, {0, 5, c, 0, 40, 0}, ""},
      {HOST, {0, 5, c, 1, external, 0}, ""},
      {"", {0, 5, c, 0, external, 0}, "saxpy "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    bit_writer writer = one_function(2, rows[i].triple, rows[i].row);
    assert_kernels(KDL_IMAGE_BITCODE, writer.data, byte_count(&writer), rows[i].kernels);
  }
}

static void names_must_be_where_they_are_looked_for(void **state) {
  (void)state;
  bit_writer writer = one_function(2, HOST, (function_row){1, 5, 0, 0, 0, 0});
  assert_fails(read_kernels(writer.data, byte_count(&writer)), KDL_BAD_FILE,
               "offset 0x36: function name: found 5 bytes at 1 of the string table, expected less "
               "than its 5");
  writer = one_function(1, HOST, (function_row){0, 5, 0, 0, 0, 0});
  assert_fails(read_kernels(writer.data, byte_count(&writer)), KDL_UNSUPPORTED,
               "offset 0x36: bitcode of LLVM 4 or older keeps names where only LLVM finds them, "
               "expected a string table: rewrite it with a later opt, or list its kernels in "
               "kdl.kernel keys");
}

static void triples_must_be_text_that_fits(void **state) {
  (void)state;
  bit_writer writer = one_function(2, "x86_64\x1b[2J", (function_row){0, 5, 0, 0, 0, 0});
  assert_fails(read_target(writer.data, byte_count(&writer)), KDL_BAD_FILE,
               "offset 0x10: triple: found byte 0x1b in it, expected printable text");
  char text[70] = {0};
  memset(text, 'x', 69);
  writer = one_function(2, text, (function_row){0, 5, 0, 0, 0, 0});
  assert_fails(read_target(writer.data, byte_count(&writer)), KDL_BAD_FILE,
               "offset 0x11: triple: found more than 63 bytes, expected fewer");
}

static void a_file_without_a_module_is_refused(void **state) {
  (void)state;
  bit_writer writer = {.at = 0};
  put_magic(&writer);
  assert_fails(read_target(writer.data, 4), KDL_BAD_FILE,
               "offset 0x0: bitcode: found no module, expected one");
  assert_fails(read_target("BCBC", 4), KDL_BAD_FILE,
               "offset 0x0: bitcode magic: found other bytes, expected 42 43 c0 de");
  assert_fails(read_target(writer.data, 3), KDL_BAD_FILE,
               "offset 0x0: bitcode magic: found other bytes, expected 42 43 c0 de");
}

/* ------------------------------------------------------------------------------------------ */
/* The bitstream itself                                                                         */

static void operand(bit_writer *writer, kdl_bitencoding encoding, uint64_t width) {
  put(writer, 0, 1);
  put(writer, encoding, 3);
  if (encoding == KDL_BITS_FIXED || encoding == KDL_BITS_VBR)
    put_vbr(writer, width, 5);
}

static void literal(bit_writer *writer, uint64_t value) {
  put(writer, 1, 1);
  put_vbr(writer, value, 8);
}

static bit_writer open_block(void) {
  bit_writer writer = {.at = 0};
  put_magic(&writer);
  begin_block(&writer, outer, module_block, inner);
  return writer;
}

/* Ends the one block that open_block began, and walks into it. */
static kdl_status enter(bit_writer *writer, kdl_bitstream *stream, kdl_bitblock *block) {
  end_block(writer, inner, 8);
  kdl_bitblock top;
  kdl_bitentry entry;
  assert_ok(kdl_bitstream_open(writer->data, byte_count(writer), stream, &top));
  kdl_status status = kdl_bitstream_next(stream, &top, &entry);
  assert_int_equal(entry.kind, KDL_BITS_BLOCK);
  assert_int_equal(entry.id, module_block);
  return status == KDL_OK ? kdl_bitstream_enter(stream, &entry, block) : status;
}

static void every_encoding_is_read(void **state) {
  (void)state;
  bit_writer writer = open_block();
  put(&writer, 2, inner);
  put_vbr(&writer, 8, 5);
  literal(&writer, 300);
  operand(&writer, KDL_BITS_FIXED, 3);
  operand(&writer, KDL_BITS_FIXED, 64);
  operand(&writer, KDL_BITS_FIXED, 0);
  operand(&writer, KDL_BITS_VBR, 6);
  operand(&writer, KDL_BITS_CHAR6, 0);
  operand(&writer, KDL_BITS_ARRAY, 0);
  operand(&writer, KDL_BITS_CHAR6, 0);
  for (int i = 0; i < 2; ++i) {
    put(&writer, 4, inner);
    put(&writer, 5, 3);
    put(&writer, 0xfedcba9876543210, 64);
    put_vbr(&writer, UINT64_MAX, 6);
    put(&writer, 63, 6);
    put_vbr(&writer, 3, 6);
    put(&writer, 0, 6);
    put(&writer, 26, 6);
    put(&writer, 52, 6);
  }
  kdl_bitstream stream;
  kdl_bitblock block;
  kdl_bitentry entry;
  assert_ok(enter(&writer, &stream, &block));
  assert_ok(kdl_bitstream_next(&stream, &block, &entry)); /* skipped without being read */
  assert_ok(kdl_bitstream_next(&stream, &block, &entry));
  assert_int_equal(entry.kind, KDL_BITS_RECORD);
  assert_int_equal(entry.id, 300);
  const uint64_t expected[] = {5, 0xfedcba9876543210, 0, UINT64_MAX, '_', 'a', 'A', '0'};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
    uint64_t value;
    assert_true(kdl_bitstream_value(&stream, &value));
    assert_true(value == expected[i]);
  }
  uint64_t none;
  assert_false(kdl_bitstream_value(&stream, &none));
  assert_ok(kdl_bitstream_next(&stream, &block, &entry));
  assert_int_equal(entry.kind, KDL_BITS_END);
}

/* BLOCKINFO gives abbreviations to blocks of other kinds, before their own. */
static void blockinfo_defines_for_other_blocks(void **state) {
  (void)state;
  bit_writer writer = open_block();
  size_t info = begin_block(&writer, inner, 0, inner);
  const uint64_t constants = 11;
  put_record(&writer, inner, 1, &constants, 1);
  put(&writer, 2, inner);
  put_vbr(&writer, 2, 5);
  literal(&writer, 7);
  operand(&writer, KDL_BITS_FIXED, 9);
  begin_block(&writer, inner, 0, inner); /* BLOCKINFO in BLOCKINFO is passed over */
  kdl_store_u32(writer.data + writer.at / 8 - 4, 0);
  end_block(&writer, inner, info);
  size_t child = begin_block(&writer, inner, constants, inner);
  put(&writer, 4, inner);
  put(&writer, 321, 9);
  end_block(&writer, inner, child);
  kdl_bitstream stream;
  kdl_bitblock block, inside;
  kdl_bitentry entry;
  assert_ok(enter(&writer, &stream, &block));
  assert_ok(kdl_bitstream_next(&stream, &block, &entry));
  assert_int_equal(entry.kind, KDL_BITS_BLOCK);
  assert_int_equal(entry.id, constants);
  assert_ok(kdl_bitstream_enter(&stream, &entry, &inside));
  assert_ok(kdl_bitstream_next(&stream, &inside, &entry));
  assert_int_equal(entry.id, 7);
  uint64_t value;
  assert_true(kdl_bitstream_value(&stream, &value));
  assert_int_equal(value, 321);
}

static void check_refused(bit_writer *writer, const char *message) {
  kdl_bitstream stream;
  kdl_bitblock block;
  kdl_bitentry entry = {.kind = KDL_BITS_RECORD};
  kdl_status status = enter(writer, &stream, &block);
  while (status == KDL_OK && entry.kind != KDL_BITS_END)
    status = kdl_bitstream_next(&stream, &block, &entry);
  assert_int_equal(status, KDL_BAD_FILE);
  assert_string_equal(kdl_error_message(), message);
}

static void wrong_abbreviations_are_refused(void **state) {
  (void)state;
  static const struct {
    uint64_t count;
    kdl_bitoperand operands[3];
  } rows[] = {
      {0, {{0}}},
      {1, {{KDL_BITS_ARRAY, 0}}},
      {1, {{KDL_BITS_BLOB, 0}}},
      {2, {{KDL_BITS_FIXED, 1}, {KDL_BITS_ARRAY, 0}}},
      {2, {{KDL_BITS_FIXED, 65}, {KDL_BITS_FIXED, 1}}},
      {2, {{KDL_BITS_FIXED, 1}, {KDL_BITS_VBR, 65}}},
      {2, {{KDL_BITS_FIXED, 1}, {(kdl_bitencoding)6, 0}}},
      {3, {{KDL_BITS_FIXED, 1}, {KDL_BITS_BLOB, 0}, {KDL_BITS_FIXED, 1}}},
      {3, {{KDL_BITS_FIXED, 1}, {KDL_BITS_ARRAY, 0}, {KDL_BITS_FIXED, 0}}},
      {3, {{KDL_BITS_FIXED, 1}, {KDL_BITS_ARRAY, 0}, {KDL_BITS_ARRAY, 0}}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    bit_writer writer = open_block();
    put(&writer, 2, inner);
    put_vbr(&writer, rows[i].count, 5);
    for (uint64_t k = 0; k < rows[i].count; ++k)
      operand(&writer, rows[i].operands[k].encoding, rows[i].operands[k].value);
    char message[128];
    snprintf(message, sizeof message,
             "offset 0xc: bitstream: found an abbreviation of %u operands, not defined as the "
             "format allows",
             (unsigned)rows[i].count);
    check_refused(&writer, message);
  }
}

static void wrong_lengths_are_refused(void **state) {
  (void)state;
  bit_writer writer = open_block();
  put(&writer, 5, inner);
  check_refused(&writer, "offset 0xc: bitstream: found abbreviation 5 in block 8, expected less "
                         "than 4");
  writer = open_block();
  put_record_header(&writer, inner, 1, (uint64_t)1 << 60);
  check_refused(&writer, "offset 0x16: bitstream: found no end of block 8 where its length says it "
                         "ends");
  writer = open_block();
  begin_block(&writer, inner, 9, inner);
  kdl_store_u32(writer.data + writer.at / 8 - 4, UINT32_MAX);
  check_refused(&writer, "offset 0x14: bitstream: found block 9 of 4294967295 words, expected at "
                         "most the 1 that are left");
  writer = open_block();
  begin_block(&writer, inner, 9, 1);
  check_refused(&writer, "offset 0x14: bitstream: found abbreviation numbers of 1 bits in block 9, "
                         "expected from 2 to 32");
  writer = open_block();
  put(&writer, 3, inner);
  put(&writer, 0x3f, 6); /* a VBR that never ends */
  for (int i = 0; i < 100; ++i)
    put(&writer, 0x3f, 6);
  check_refused(&writer, "offset 0x16: bitstream: found no end of block 8 where its length says it "
                         "ends");
}

static void too_many_abbreviations_are_refused(void **state) {
  (void)state;
  bit_writer writer = open_block();
  for (int i = 0; i <= KDL_BITS_LIMIT_ABBREVS; ++i) {
    put(&writer, 2, inner);
    put_vbr(&writer, 1, 5);
    literal(&writer, 1);
  }
  check_refused(&writer, "offset 0x96: bitstream: found more than 64 abbreviations in block 8, "
                         "expected fewer");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_images_tell_target_and_kernels),
      cmocka_unit_test(damaged_images_are_survived),
      cmocka_unit_test(a_wrapper_is_looked_through),
      cmocka_unit_test(conventions_and_linkage_make_kernels),
      cmocka_unit_test(names_must_be_where_they_are_looked_for),
      cmocka_unit_test(triples_must_be_text_that_fits),
      cmocka_unit_test(a_file_without_a_module_is_refused),
      cmocka_unit_test(every_encoding_is_read),
      cmocka_unit_test(blockinfo_defines_for_other_blocks),
      cmocka_unit_test(wrong_abbreviations_are_refused),
      cmocka_unit_test(wrong_lengths_are_refused),
      cmocka_unit_test(too_many_abbreviations_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
