/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which kernels do nothing, by their code. */
#include "image_support.h"
#include "lib/image/readers.h"
#include "lib/inspect/images.h"
#include "support/base/bytes.h"

typedef struct {
  char text[512];
  size_t length;
} effect_text;

static int add_effect(void *user, kdl_string kernel, kdl_kernel_effect effect) {
  static const char *const names[] = {"unknown", "some", "nothing", "stops"};
  effect_text *list = user;
  list->length += (size_t)snprintf(list->text + list->length, sizeof list->text - list->length,
                                   "%.*s=%s ", (int)kernel.length, kernel.data, names[effect]);
  assert_true(list->length < sizeof list->text);
  return 0;
}

static void check_effects(kdl_image_kind kind, const uint8_t *data, size_t size,
                          const char *expected) {
  effect_text list = {.length = 0};
  assert_ok(kdl_image_read_effects(kind, data, size, add_effect, &list));
  assert_string_equal(list.text, expected);
}

static const char of_hollow_ptx[] =
    "calls=some prints_and_stores=some asserts=stops prints=stops traps=stops empty=nothing ";

static void golden_images(void **state) {
  (void)state;
  static const struct {
    const char *file;
    kdl_image_kind kind;
    const char *expected;
  } rows[] = {
      {"images/hollow_sm_80.cubin", KDL_IMAGE_CUBIN, of_hollow_ptx},
      {"images/hollow_sm_120.cubin", KDL_IMAGE_CUBIN, of_hollow_ptx},
      {"images/hollow.hsaco", KDL_IMAGE_HSACO, "empty=nothing traps=stops stores=some spins=some "},
      {"images/resources.cubin", KDL_IMAGE_CUBIN, "fixed=some plain=some "},
      {"images/resources.hsaco", KDL_IMAGE_HSACO, "spills=some fixed=some "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    size_t size;
    uint8_t *data = read_golden(rows[i].file, &size);
    print_message("%s\n", rows[i].file);
    check_effects(rows[i].kind, data, size, rows[i].expected);
    free(data);
  }
}

/* The offset of the code of `traps`, which begins with a load of the stack pointer and BPT.TRAP. */
static size_t find_trap(const uint8_t *data, size_t size) {
  for (size_t at = 0; at + 32 <= size; at += 16) {
    if ((kdl_load_u16(data + at + 16) & 0xfff) == 0x95c)
      return at + 16;
  }
  fail_msg("no trap");
  return 0;
}

/* In place of the trap of `asserts`, the first in the file. */
static void one_instruction_decides(void **state) {
  (void)state;
  static const struct {
    uint64_t word;
    const char *effect;
  } rows[] = {
      {0x0000000801007387, "asserts=stops"}, /* STL */
      {0x0000000b02007986, "asserts=some"},  /* STG */
      {0x0000000b0200f986, "asserts=stops"}, /* @!PT STG: never */
      {0x0000000b02000986, "asserts=some"},  /* @P0 STG */
      {0x0000000000007988, "asserts=some"},  /* STS */
      {0x000000000000798e, "asserts=some"},  /* RED */
      {0xfffffff000007947, "asserts=stops"}, /* BRA to itself */
      {0xffffffe000007947, "asserts=some"},  /* BRA to the instruction before */
      {0x0000001000007947, "asserts=stops"}, /* BRA forward */
      {0x0000000002007344, "asserts=some"},  /* CALL.REL */
      {0x0000000000000fff, "asserts=some"},  /* nothing that is known */
  };
  size_t size;
  uint8_t *data = read_golden("images/hollow_sm_80.cubin", &size);
  size_t at = find_trap(data, size);
  uint64_t kept = kdl_load_u64(data + at);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    effect_text list = {.length = 0};
    kdl_store_u64(data + at, rows[i].word);
    assert_ok(kdl_image_read_effects(KDL_IMAGE_CUBIN, data, size, add_effect, &list));
    if (!strstr(list.text, rows[i].effect))
      fail_msg("row %zu: found %s, expected %s", i, list.text, rows[i].effect);
  }
  kdl_store_u64(data + at, kept);
  free(data);
}

static void other_kinds_are_not_read(void **state) {
  (void)state;
  assert_fails(kdl_image_read_effects(KDL_IMAGE_ZEBIN, "", 0, add_effect, NULL), KDL_UNSUPPORTED,
               "zebin image: the code of its kernels is not read");
}

static int ignore_effect(void *user, kdl_string kernel, kdl_kernel_effect effect) {
  volatile unsigned char *sum = user;
  (void)effect;
  for (size_t i = 0; i < kernel.length; ++i)
    *sum = (unsigned char)(*sum + (unsigned char)kernel.data[i]);
  return 0;
}

static void read_any_effects(kdl_image_kind kind, const uint8_t *data, size_t size) {
  unsigned char sum = 0;
  if (kdl_image_read_effects(kind, data, size, ignore_effect, &sum) != KDL_OK)
    assert_string_not_equal(kdl_error_message(), "");
}

static void damaged_images_are_survived(void **state) {
  (void)state;
  static const struct {
    const char *file;
    kdl_image_kind kind;
  } rows[] = {{"hollow_sm_80.cubin", KDL_IMAGE_CUBIN}, {"hollow.hsaco", KDL_IMAGE_HSACO}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
    check_damaged_file(rows[r].kind, rows[r].file, read_any_effects, 64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_images),
      cmocka_unit_test(one_instruction_decides),
      cmocka_unit_test(other_kinds_are_not_read),
      cmocka_unit_test(damaged_images_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
