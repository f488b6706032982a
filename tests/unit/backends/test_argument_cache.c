/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which arguments a driver gets again, on a driver that counts them. */
#include "support.h"

#include "lib/backends/common/arguments/argument_cache.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* The driver                                                                                   */

static struct {
  unsigned values, memories;
  uint64_t last[100]; /* by the driver's index, as far as eight bytes go */
  int refuses;        /* the index that is refused; -1: none */
  char words[160];
} driver;

static int give_value(void *handle, uint32_t index, size_t size, const void *value) {
  (void)handle;
  ++driver.values;
  driver.last[index] = 0;
  if (value)
    memcpy(&driver.last[index], value, size < 8 ? size : 8);
  else
    driver.last[index] = size;
  return (int)index == driver.refuses ? 7 : 0;
}

static int give_memory(const void *device, void *handle, uint32_t index, uint64_t word) {
  (void)device, (void)handle;
  ++driver.memories;
  driver.last[index] = word;
  return (int)index == driver.refuses ? 7 : 0;
}

static kdl_status refused(const void *device, int error, bool is_memory, size_t index,
                          const char *kernel) {
  (void)device;
  snprintf(driver.words, sizeof driver.words, "%s: error %d for %s %zu", kernel, error,
           is_memory ? "memory" : "value", index);
  return KDL_DEVICE;
}

static kdl_status note_failure(kdl_status status, int64_t code, const char *format, ...) {
  va_list args;
  (void)code;
  va_start(args, format);
  vsnprintf(driver.words, sizeof driver.words, format, args);
  va_end(args);
  return status;
}

static const kdl_backend_services services = {.size = sizeof services, .fail = note_failure};
static const kdl_argument_setter setter = {"counting", &services, give_value, give_memory, refused};

static void assert_given(unsigned values, unsigned memories) {
  assert_int_equal(driver.values, values);
  assert_int_equal(driver.memories, memories);
  driver.values = driver.memories = 0;
}

/* ------------------------------------------------------------------------------------------ */
/* A kernel                                                                                     */

typedef struct {
  kdl_ranges ranges;
  kdl_argument_list list;
  kdl_argument_cache given;
  uint64_t values[256];
} kernel;

/* Of arguments that are written 'm' (memory), '8', '4', '2' (bytes of a value), '?' (of no known
 * size), and 'g' for group memory, which is none. */
static void begin(kernel *k, const char *parameters) {
  kdl_arguments learnt = {.count = (uint32_t)strlen(parameters)};
  char fault[160];
  for (uint32_t i = 0; i < learnt.count; ++i) {
    char kind = parameters[i];
    learnt.list[i] =
        (kdl_argument){.kind = kind == 'm'   ? KDL_ARGUMENT_MEMORY
                               : kind == 'g' ? KDL_ARGUMENT_GROUP
                                             : KDL_ARGUMENT_VALUE,
                       .size = kind >= '2' && kind <= '8' ? (uint32_t)(kind - '0') : 0};
  }
  assert_true(kdl_arguments_resolve(&learnt, fault, sizeof fault));
  *k = (kernel){.list = {.setter = &setter, .ordinal = 3, .ranges = &k->ranges, .name = "k"}};
  kdl_ranges_init(&k->ranges);
  assert_true(kdl_argument_list_init(&k->list, &learnt));
  assert_true(kdl_argument_cache_value_count(&k->list) <= 256);
  kdl_argument_cache_init(&k->given, &k->list, k->values);
  memset(&driver, 0, sizeof driver);
  driver.refuses = -1;
}

static void end(kernel *k) {
  kdl_argument_list_free(&k->list);
  kdl_ranges_destroy(&k->ranges);
}

/* As an entry does it: whether all stands is compared first. */
static kdl_status give(kernel *k, kdl_args args, uint32_t group_memory) {
  if (k->given.repeatable == k->ranges.generation && group_memory == k->given.group_memory &&
      kdl_argument_cache_matches(&k->given, args.pointers))
    return KDL_OK;
  return kdl_argument_cache_set(&k->given, &k->list, NULL, &args, group_memory);
}

#define GIVE(k, ...)                                                                               \
  give(k, (kdl_args){KDL_COUNT(__VA_ARGS__), (const void *const[]){__VA_ARGS__}, NULL}, 0)

/* ------------------------------------------------------------------------------------------ */
/* Tests                                                                                        */

static void values_that_differ_are_given(void **state) {
  (void)state;
  kernel k;
  uint64_t wide = 1;
  uint32_t word = 2;
  uint16_t half = 3;
  begin(&k, "482");
  assert_int_equal(GIVE(&k, &word, &wide, &half), KDL_OK);
  assert_given(3, 0);
  assert_int_equal(GIVE(&k, &word, &wide, &half), KDL_OK);
  assert_given(0, 0);
  wide = UINT64_MAX;
  assert_int_equal(GIVE(&k, &word, &wide, &half), KDL_OK);
  assert_given(1, 0);
  assert_true(driver.last[1] == UINT64_MAX);
  half = 4;
  word = UINT32_MAX;
  assert_int_equal(GIVE(&k, &word, &wide, &half), KDL_OK);
  assert_given(2, 0);
  assert_true(driver.last[0] == UINT32_MAX && driver.last[2] == 4);
  end(&k);
}

/* Each of a kernel's arguments is compared with its own last value, wherever it lies. */
static void each_is_compared_with_its_own(void **state) {
  (void)state;
  kernel k;
  uint64_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  begin(&k, "84m48m48");
  for (size_t i = 0; i < 8; ++i) {
    for (int again = 0; again < 2; ++again)
      assert_int_equal(GIVE(&k, &values[0], &values[1], &values[2], &values[3], &values[4],
                            &values[5], &values[6], &values[7]),
                       KDL_OK);
    values[i] += 100;
  }
  for (size_t i = 0; i < 7; ++i)
    assert_true(driver.last[i] == i + 101);
  assert_true(driver.last[7] == 8);
  end(&k);
}

static void memory_of_libkdl_stands(void **state) {
  (void)state;
  kernel k;
  uint64_t a = 0x1000, b = 0x2000, inside = 0x1040;
  begin(&k, "mm");
  assert_true(kdl_ranges_add(&k.ranges, a, 64) && kdl_ranges_add(&k.ranges, b, 64));
  assert_int_equal(GIVE(&k, &a, &b), KDL_OK);
  assert_given(0, 2);
  for (int i = 0; i < 3; ++i)
    assert_int_equal(GIVE(&k, &a, &b), KDL_OK);
  assert_given(0, 0);
  assert_true(k.given.repeatable == 1);
  /* They take turns. */
  assert_int_equal(GIVE(&k, &b, &b), KDL_OK);
  assert_int_equal(GIVE(&k, &a, &b), KDL_OK);
  assert_given(0, 2);
  /* Memory of the caller, beyond the end of ours. */
  assert_int_equal(GIVE(&k, &inside, &b), KDL_OK);
  assert_int_equal(GIVE(&k, &inside, &b), KDL_OK);
  assert_int_equal(GIVE(&k, &inside, &b), KDL_OK);
  assert_given(0, 3);
  assert_true(kdl_ranges_remove(&k.ranges, a) && kdl_ranges_remove(&k.ranges, b));
  end(&k);
}

static void memory_is_given_again_after_a_free(void **state) {
  (void)state;
  kernel k;
  uint64_t a = 0x1000, b = 0x2000;
  uint32_t n = 5;
  begin(&k, "m4");
  assert_true(kdl_ranges_add(&k.ranges, a, 64) && kdl_ranges_add(&k.ranges, b, 64));
  assert_int_equal(GIVE(&k, &a, &n), KDL_OK);
  assert_int_equal(GIVE(&k, &a, &n), KDL_OK);
  assert_given(1, 1);
  assert_true(kdl_ranges_remove(&k.ranges, b));
  assert_int_equal(GIVE(&k, &a, &n), KDL_OK);
  assert_given(0, 1);
  assert_int_equal(GIVE(&k, &a, &n), KDL_OK);
  assert_given(0, 0);
  assert_true(kdl_ranges_remove(&k.ranges, a));
  end(&k);
}

/* Passed as memory of the caller, which freed it; then libkdl got the same address. */
static void memory_that_became_libkdls_is_given_again(void **state) {
  (void)state;
  kernel k;
  uint64_t a = 0x1000;
  begin(&k, "m");
  assert_int_equal(GIVE(&k, &a), KDL_OK);
  assert_given(0, 1);
  assert_true(kdl_ranges_add(&k.ranges, a, 64));
  assert_int_equal(GIVE(&k, &a), KDL_OK);
  assert_given(0, 1);
  assert_int_equal(GIVE(&k, &a), KDL_OK);
  assert_given(0, 0);
  assert_true(kdl_ranges_remove(&k.ranges, a));
  end(&k);
}

static void null_stands(void **state) {
  (void)state;
  kernel k;
  uint64_t none = 0;
  begin(&k, "m");
  assert_int_equal(GIVE(&k, &none), KDL_OK);
  assert_int_equal(GIVE(&k, &none), KDL_OK);
  assert_given(0, 1);
  end(&k);
}

static void what_was_refused_is_given_again(void **state) {
  (void)state;
  kernel k;
  uint64_t a = 0;
  uint32_t n = 1, m = 2;
  begin(&k, "m44");
  driver.refuses = 2;
  assert_int_equal(GIVE(&k, &a, &n, &m), KDL_DEVICE);
  assert_string_equal(driver.words, "k: error 7 for value 2");
  assert_int_equal(GIVE(&k, &a, &n, &m), KDL_DEVICE);
  driver.refuses = -1;
  driver.values = driver.memories = 0;
  assert_int_equal(GIVE(&k, &a, &n, &m), KDL_OK);
  assert_given(1, 1); /* memory too: since when it stands is known when all is given */
  driver.refuses = 0;
  a = 64;
  assert_int_equal(GIVE(&k, &a, &n, &m), KDL_DEVICE);
  assert_string_equal(driver.words, "k: error 7 for memory 0");
  driver.refuses = -1;
  driver.values = driver.memories = 0;
  a = 0; /* which the driver has no longer */
  assert_int_equal(GIVE(&k, &a, &n, &m), KDL_OK);
  assert_given(0, 1);
  assert_true(driver.last[0] == 0);
  end(&k);
}

static void group_memory_is_an_argument(void **state) {
  (void)state;
  kernel k;
  uint32_t n = 1;
  const void *pointers[] = {&n};
  kdl_args args = {1, pointers, NULL};
  begin(&k, "g4");
  assert_int_equal(give(&k, args, 0), KDL_OK);
  assert_given(2, 0);
  assert_true(driver.last[0] == 1); /* no driver takes none */
  assert_int_equal(give(&k, args, 256), KDL_OK);
  assert_int_equal(give(&k, args, 256), KDL_OK);
  assert_given(1, 0);
  assert_true(driver.last[0] == 256);
  end(&k);
  begin(&k, "4");
  assert_int_equal(give(&k, args, 256), KDL_UNSUPPORTED);
  assert_string_equal(driver.words, "counting:3: found 256 bytes of dynamic group memory, and "
                                    "\"k\" has no parameter for it");
  end(&k);
}

static void sizes_and_numbers(void **state) {
  (void)state;
  kernel k;
  uint32_t n = 1;
  const void *pointers[] = {&n, &n};
  size_t sizes[] = {4, 4};
  begin(&k, "?");
  assert_int_equal(give(&k, (kdl_args){1, pointers, NULL}, 0), KDL_BAD_CALL);
  assert_string_equal(driver.words, "counting:3: argument 0 of \"k\": its size is not known; give "
                                    "the sizes, or a signature");
  assert_int_equal(give(&k, (kdl_args){1, pointers, sizes}, 0), KDL_OK);
  assert_int_equal(give(&k, (kdl_args){1, pointers, sizes}, 0), KDL_OK);
  assert_given(2, 0);
  assert_int_equal(give(&k, (kdl_args){2, pointers, sizes}, 0), KDL_BAD_CALL);
  assert_string_equal(driver.words, "k: found 2 arguments, expected 1");
  end(&k);
}

/* What is written out for a number of arguments compares what the loop does. */
static void written_out(void **state) {
  (void)state;
  kernel k;
  uint64_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const void *pointers[8];
  for (size_t i = 0; i < 8; ++i)
    pointers[i] = &values[i];
  begin(&k, "48484848");
  assert_int_equal(give(&k, (kdl_args){8, pointers, NULL}, 0), KDL_OK);
  assert_true(kdl_argument_list_is_unrolled(&k.list));
  for (size_t i = 0; i <= 8; ++i) {
    bool stands = i == 8;
    if (!stands)
      ++values[i];
    assert_int_equal(kdl_words_match(k.given.words, 4, 4, pointers), stands);
    assert_int_equal(kdl_argument_cache_matches(&k.given, pointers), stands);
    if (!stands)
      --values[i];
  }
  end(&k);
  begin(&k, "88888");
  assert_false(kdl_argument_list_is_unrolled(&k.list));
  end(&k);
  begin(&k, "82");
  assert_false(kdl_argument_list_is_unrolled(&k.list));
  end(&k);
}

static void bytes_that_differ(void **state) {
  (void)state;
  _Alignas(16) unsigned char remembered[32];
  unsigned char bytes[33];
  for (int i = 0; i < 32; ++i)
    remembered[i] = bytes[i + 1] = (unsigned char)(i * 7);
  assert_true(kdl_differ_16(bytes + 1, remembered) == 0);
  assert_true(kdl_differ_32(bytes + 1, remembered) == 0);
  for (int i = 0; i < 32; ++i) {
    bytes[i + 1] ^= 0x80;
    assert_int_equal(kdl_differ_16(bytes + 1, remembered) != 0, i < 16);
    assert_true(kdl_differ_32(bytes + 1, remembered) != 0);
    bytes[i + 1] ^= 0x80;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_that_differ_are_given),
      cmocka_unit_test(each_is_compared_with_its_own),
      cmocka_unit_test(memory_of_libkdl_stands),
      cmocka_unit_test(memory_is_given_again_after_a_free),
      cmocka_unit_test(memory_that_became_libkdls_is_given_again),
      cmocka_unit_test(null_stands),
      cmocka_unit_test(what_was_refused_is_given_again),
      cmocka_unit_test(group_memory_is_an_argument),
      cmocka_unit_test(sizes_and_numbers),
      cmocka_unit_test(written_out),
      cmocka_unit_test(bytes_that_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
