/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Digests of kernels: what counts as a change of the code, and what does not. */
#include "image_support.h"
#include "lib/inspect/images.h"
#include "support/base/bytes.h"

enum { most_kernels = 8 };

typedef struct {
  kdl_kernel_digest digests[most_kernels];
  size_t count;
} digest_list;

static int add_digest(void *user, kdl_string kernel, const kdl_kernel_digest *digest) {
  digest_list *list = user;
  (void)kernel;
  assert_true(list->count < most_kernels);
  list->digests[list->count++] = *digest;
  return 0;
}

static digest_list digests_of(kdl_image_kind kind, const void *data, size_t size) {
  digest_list list = {.count = 0};
  assert_ok(kdl_image_read_digests(kind, data, size, add_digest, &list));
  return list;
}

static bool has_same_code(const digest_list *a, const digest_list *b, size_t kernel) {
  return memcmp(a->digests[kernel].code, b->digests[kernel].code, sizeof a->digests[kernel].code) ==
         0;
}

static const struct {
  const char *file;
  kdl_image_kind kind;
  bool has_params;
} golden[] = {
    {"images/hollow_sm_80.cubin", KDL_IMAGE_CUBIN, true},
    {"images/hollow_sm_120.cubin", KDL_IMAGE_CUBIN, true},
    {"images/params.cubin", KDL_IMAGE_CUBIN, true},
    {"images/hollow.hsaco", KDL_IMAGE_HSACO, true},
    {"images/params.hsaco", KDL_IMAGE_HSACO, true},
    {"images/params.ptx", KDL_IMAGE_PTX, true},
    {"images/params.zebin", KDL_IMAGE_ZEBIN, false},
    {"images/params.spv", KDL_IMAGE_SPIRV, false},
    {"images/x86_64_v3.so", KDL_IMAGE_OBJECT, false},
};
enum { golden_count = sizeof golden / sizeof *golden };

static void every_kernel_has_a_digest(void **state) {
  (void)state;
  for (size_t i = 0; i < golden_count; ++i) {
    size_t size;
    uint8_t *data = read_golden(golden[i].file, &size);
    digest_list list = digests_of(golden[i].kind, data, size);
    print_message("%s: %zu\n", golden[i].file, list.count);
    assert_true(list.count > 0);
    for (size_t k = 0; k < list.count; ++k) {
      assert_true(list.digests[k].code[0] != 0);
      assert_int_equal(list.digests[k].params != 0, golden[i].has_params);
    }
    free(data);
  }
}

/* Bytes at `at` replaced: whether the code of a kernel counts as changed, or the parameters of
 * one. */
static void check_change(const char *file, kdl_image_kind kind, size_t at, uint64_t word,
                         bool expected) {
  size_t size;
  uint8_t *data = read_golden(file, &size);
  digest_list before = digests_of(kind, data, size);
  kdl_store_u64(data + at, word);
  digest_list after = digests_of(kind, data, size);
  bool is_changed = false;
  for (size_t i = 0; i < before.count; ++i)
    is_changed |= !has_same_code(&before, &after, i);
  if (is_changed != expected)
    fail_msg("%s at %zx: found %d, expected %d", file, at, is_changed, expected);
  free(data);
}

/* The code of the first kernel of sm_80, as words with the operation and bank of a constant. */
static size_t find_operation(const char *file, unsigned operation) {
  size_t size, at = 0;
  uint8_t *data = read_golden(file, &size);
  while (at + 16 <= size && (kdl_load_u16(data + at) & 0xfff) != operation)
    at += 16;
  assert_true(at + 16 <= size);
  free(data);
  return at;
}

static void addresses_in_bank_4_do_not_count(void **state) {
  (void)state;
  static const char file[] = "images/hollow_sm_80.cubin";
  size_t at = find_operation(file, 0xa02), size; /* MOV R, c[][] */
  uint8_t *data = read_golden(file, &size);
  const uint64_t offset = (uint64_t)0xffff << 38, bank = (uint64_t)0x1f << 54;
  uint64_t word = kdl_load_u64(data + at) & ~(offset | bank);
  kdl_store_u64(data + at, word | (uint64_t)4 << 54 | (uint64_t)8 << 38);
  digest_list before = digests_of(KDL_IMAGE_CUBIN, data, size);
  kdl_store_u64(data + at, word | (uint64_t)4 << 54 | (uint64_t)24 << 38);
  digest_list after = digests_of(KDL_IMAGE_CUBIN, data, size);
  assert_memory_equal(&before, &after, sizeof before);
  kdl_store_u64(data + at, word | (uint64_t)3 << 54 | (uint64_t)24 << 38);
  digest_list other = digests_of(KDL_IMAGE_CUBIN, data, size);
  assert_memory_not_equal(&after, &other, sizeof other);
  free(data);
}

static void one_instruction_counts(void **state) {
  (void)state;
  check_change("images/hollow_sm_80.cubin", KDL_IMAGE_CUBIN,
               find_operation("images/hollow_sm_80.cubin", 0xa02), 0x7a02, true);
  check_change("images/hollow_sm_80.cubin", KDL_IMAGE_CUBIN, 24, 0, false); /* e_entry */
}

/* s_getpc_b64; s_add_u32 and s_addc_u32 with literals, in gfx90a's encoding. */
static void literals_after_getpc_do_not_count(void **state) {
  (void)state;
  static const uint32_t code[] = {0xbe841c00, 0x8004ff04, 0, 0x8205ff05, 0, 0xbf810000};
  size_t size, at = 0;
  uint8_t *data = read_golden("images/resources.hsaco", &size);
  while (at + sizeof code <= size && kdl_load_u32(data + at) != 0xbf810000)
    at += 4; /* s_endpgm of the first kernel */
  at -= sizeof code - 4;
  for (size_t i = 0; i < sizeof code / sizeof *code; ++i)
    kdl_store_u32(data + at + 4 * i, code[i]);
  digest_list before = digests_of(KDL_IMAGE_HSACO, data, size);
  kdl_store_u32(data + at + 8, 0x1234);
  kdl_store_u32(data + at + 16, 0xffffffff);
  digest_list after = digests_of(KDL_IMAGE_HSACO, data, size);
  assert_memory_equal(&before, &after, sizeof before);
  kdl_store_u32(data + at, 0xbe840100); /* s_mov_b64: the literals are numbers */
  digest_list numbers = digests_of(KDL_IMAGE_HSACO, data, size);
  kdl_store_u32(data + at + 8, 0x1235);
  digest_list others = digests_of(KDL_IMAGE_HSACO, data, size);
  assert_memory_not_equal(&numbers, &others, sizeof others);
  free(data);
}

static void ptx_is_compared_without_lines_labels_and_blanks(void **state) {
  (void)state;
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
  static const struct {
    const char *text;
    bool is_equal;
  } rows[] = {
      {HEAD ".entry k(.param .u32 k_param_0) { ld.param.u32 %r1, [k_param_0]; $L__BB0_2: ret; }",
       true},
      {HEAD ".entry k(.param .u32 k_param_0)\n{\n// a\n\t.loc 1 2 3\nld.param.u32 %r1, "
            "[k_param_0];\n$L__BB7_2:\nret;\n}",
       true},
      {HEAD ".entry longer(.param .u32 longer_param_0) { ld.param.u32 %r1, [longer_param_0]; "
            "$L__BB0_2: ret; }",
       true},
      {HEAD ".entry k(.param .u32 k_param_0) { ld.param.u32 %r2, [k_param_0]; $L__BB0_2: ret; }",
       false},
      {HEAD ".entry k(.param .u32 k_param_0) { ld.param.u32 %r1, [k_param_0]; $L__BB0_3: ret; }",
       false},
  };
#undef HEAD
  digest_list first = digests_of(KDL_IMAGE_PTX, rows[0].text, strlen(rows[0].text));
  assert_int_equal(first.count, 1);
  for (size_t i = 1; i < sizeof rows / sizeof *rows; ++i) {
    digest_list next = digests_of(KDL_IMAGE_PTX, rows[i].text, strlen(rows[i].text));
    if (has_same_code(&first, &next, 0) != rows[i].is_equal)
      fail_msg("row %zu", i);
    assert_true(first.digests[0].params == next.digests[0].params);
  }
}

static int ignore_digest(void *user, kdl_string kernel, const kdl_kernel_digest *digest) {
  volatile unsigned char *sum = user;
  *sum = (unsigned char)(*sum + digest->code[0]);
  for (size_t i = 0; i < kernel.length; ++i)
    *sum = (unsigned char)(*sum + (unsigned char)kernel.data[i]);
  return 0;
}

static void read_any_digests(kdl_image_kind kind, const uint8_t *data, size_t size) {
  unsigned char sum = 0;
  if (kdl_image_read_digests(kind, data, size, ignore_digest, &sum) != KDL_OK)
    assert_string_not_equal(kdl_error_message(), "");
}

static void damaged_images_are_survived(void **state) {
  (void)state;
  static const struct {
    const char *file;
    kdl_image_kind kind;
  } rows[] = {{"hollow_sm_80.cubin", KDL_IMAGE_CUBIN}, {"hollow.hsaco", KDL_IMAGE_HSACO},
              {"params.ptx", KDL_IMAGE_PTX},           {"params.zebin", KDL_IMAGE_ZEBIN},
              {"x86_64_v3.so", KDL_IMAGE_OBJECT},      {"params.spv", KDL_IMAGE_SPIRV}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
    check_damaged_file(rows[r].kind, rows[r].file, read_any_digests, 64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kernel_has_a_digest),
      cmocka_unit_test(addresses_in_bank_4_do_not_count),
      cmocka_unit_test(one_instruction_counts),
      cmocka_unit_test(literals_after_getpc_do_not_count),
      cmocka_unit_test(ptx_is_compared_without_lines_labels_and_blanks),
      cmocka_unit_test(damaged_images_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
