/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Conditions of variants: what they mean, what is refused, and that every text ends somewhere. */
#include "lib/target/condition.h"

#include "target_case.h"

#include <stdlib.h>

#define PREFIX "sig=ptr<f32> u32 i32 u64 i8 u16 f32 u128; names=p n k big c h f wide; when="

static bool compile(const char *when, kdl_condition *out_condition, kdl_parse_error *out_error) {
  static char text[4096];
  kdl_kernel_key key;
  snprintf(text, sizeof text, PREFIX "%s", when);
  return kdl_kernel_parse(kdl_text_of(text), &key, out_error) &&
         kdl_condition_compile(&key, out_condition, out_error);
}

/* n = 24, k = -5, big = 2^64 - 1, c = -1, h = 65535, 100 x 2 x 1 items */
static bool holds(const char *when) {
  kdl_condition condition;
  kdl_parse_error error = {0, ""};
  if (!compile(when, &condition, &error))
    fail_msg("%s: position %zu: expected %s", when, error.position, error.expected);
  const uint32_t n = 24;
  const int32_t k = -5;
  const uint64_t big = UINT64_MAX;
  const int8_t c = -1;
  const uint16_t h = 65535;
  const void *pointers[] = {NULL, &n, &k, &big, &c, &h, NULL, NULL};
  const kdl_extent items = {100, 2, 1};
  return kdl_condition_holds(&condition, &items, &(kdl_args){8, pointers, NULL});
}

static void comparisons(void **state) {
  (void)state;
  assert_true(holds("n<=24"));
  assert_true(holds("n<25"));
  assert_false(holds("n<24"));
  assert_true(holds("n>=24"));
  assert_false(holds("n>24"));
  assert_true(holds("n==24"));
  assert_false(holds("n!=24"));
  assert_true(holds("k == -5"));
  assert_true(holds("k<0"));
  assert_true(holds("c==-1"));
  assert_true(holds("h==65535"));
  assert_true(holds("items.x==100 & items.y==2 & items.z==1"));
}

static void values_saturate(void **state) {
  (void)state;
  assert_true(holds("big==9223372036854775807"));
  assert_true(holds("big*big>1000"));
  assert_true(holds("k*big<-1000"));
  assert_true(holds("k*k*big>1000"));
}

static void remainders_are_not_negative(void **state) {
  (void)state;
  assert_true(holds("n%8==0"));
  assert_true(holds("n % 7 == 3"));
  assert_true(holds("k%4==3"));
  assert_true(holds("n*items.x%64==32"));
}

static void and_binds_closer_than_or(void **state) {
  (void)state;
  assert_true(holds("n<10 | n>20"));
  assert_true(holds("n>20|n<10&n<5"));
  assert_false(holds("n<10 | n>20 & k>0"));
  assert_true(holds("n>20 & k<0 | n<10"));
  assert_true(holds("n<10&k<0|k<0&n>20"));
}

static void what_is_not_known_is_false(void **state) {
  (void)state;
  kdl_condition condition;
  kdl_parse_error error;
  const uint32_t n = 1;
  const void *pointers[] = {NULL, &n, NULL};
  assert_true(compile("k!=7", &condition, &error));
  assert_false(kdl_condition_holds(&condition, NULL, &(kdl_args){3, pointers, NULL}));
  assert_false(kdl_condition_holds(&condition, NULL, &(kdl_args){1, pointers, NULL}));
  assert_true(compile("n*k!=7 | n==1", &condition, &error));
  assert_true(kdl_condition_holds(&condition, NULL, &(kdl_args){3, pointers, NULL}));
  assert_true(compile("items.x>=0", &condition, &error));
  assert_false(kdl_condition_holds(&condition, NULL, &(kdl_args){3, pointers, NULL}));
}

/* The position is where the text stops making sense. */
static void errors_have_positions(void **state) {
  (void)state;
  static const struct {
    const char *when;
    size_t at;
  } rows[] = {
      {"n", 1},           {"n<", 2},         {"n<=x", 3},
      {"q<1", 0},         {"n<1 &", 5},      {"n<1 | | n<2", 6},
      {"p<1", 0},         {"f<1", 0},        {"wide<1", 0},
      {"items.w<1", 6},   {"items<1", 0},    {"n%0==0", 2},
      {"n%==0", 2},       {"n=1", 1},        {"n<1 n<2", 4},
      {"(n<1)", 0},       {"1<n", 0},        {"n<9223372036854775808", 2},
      {"n*n*n*n*n<1", 8}, {"n<1 &\tn<2", 5},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_condition condition;
    kdl_parse_error error = {9999, ""};
    if (compile(rows[i].when, &condition, &error))
      fail_msg("%s: accepted", rows[i].when);
    assert_int_equal(error.position - strlen(PREFIX), rows[i].at);
  }
}

static void counts_are_limited(void **state) {
  (void)state;
  char text[1024] = "n<1";
  kdl_condition condition;
  kdl_parse_error error;
  for (int i = 1; i < KDL_CONDITION_COMPARISONS; ++i)
    strcat(text, i % 2 ? "&n<1" : "|n<1");
  assert_true(compile(text, &condition, &error));
  assert_int_equal(condition.count, KDL_CONDITION_COMPARISONS);
  strcat(text, "&n<1");
  assert_false(compile(text, &condition, &error));
}

/* A condition needs names and a signature, in any order, and the last field wins nothing. */
static void fields_depend_on_each_other(void **state) {
  (void)state;
  kdl_kernel_key key;
  assert_true(kdl_kernel_parse(KDL_TEXT("when=n<1; names=n; sig=u32"), &key, NULL));
  assert_true(kdl_text_is(kdl_kernel_field_text(&key, KDL_KERNEL_WHEN), "n<1"));
  assert_int_equal(kdl_kernel_find_param(&key, KDL_TEXT("n")), 0);
  assert_false(kdl_kernel_parse(KDL_TEXT("when=n<1; names=n"), &key, NULL));
  assert_false(kdl_kernel_parse(KDL_TEXT("when=n<1; sig=u32"), &key, NULL));
  assert_false(kdl_kernel_parse(KDL_TEXT("when=n<1; names=m n; sig=u32"), &key, NULL));
  assert_false(kdl_kernel_parse(KDL_TEXT("sig=u32; names=; when=n<1"), &key, NULL));
  assert_false(kdl_kernel_parse(KDL_TEXT("sig=u32; names=n-1"), &key, NULL));
  assert_false(kdl_kernel_parse(KDL_TEXT("sig=u32; names=n; when="), &key, NULL));
  assert_true(kdl_kernel_parse(KDL_TEXT("when=items.x<1"), &key, NULL));
  assert_int_equal(kdl_kernel_find_param(&key, KDL_TEXT("n")), -1);
}

/* Random texts of the grammar's letters: accepted or refused, within the text, and evaluated. */
static void any_text_ends(void **state) {
  (void)state;
  static const char *const words[] = {"n", "k", "items.x", "<",  "<=", "==",  "!=", "%", "*", "&",
                                      "|", " ", "1",       "64", "-",  "big", "q",  ">", ".", ";"};
  unsigned seed = 20261117, accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    char text[256] = "";
    for (int i = 0, count = rand_r(&seed) % 12; i < count; ++i)
      strcat(text, words[(size_t)rand_r(&seed) % (sizeof words / sizeof *words)]);
    if (strchr(text, ';'))
      continue;
    kdl_condition condition;
    kdl_parse_error error = {0, ""};
    if (compile(text, &condition, &error)) {
      ++accepted;
      (void)holds(text);
    } else {
      assert_in_range(error.position, 0, strlen(PREFIX) + strlen(text));
    }
  }
  assert_true(accepted > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(comparisons),
      cmocka_unit_test(values_saturate),
      cmocka_unit_test(remainders_are_not_negative),
      cmocka_unit_test(and_binds_closer_than_or),
      cmocka_unit_test(what_is_not_known_is_false),
      cmocka_unit_test(errors_have_positions),
      cmocka_unit_test(counts_are_limited),
      cmocka_unit_test(fields_depend_on_each_other),
      cmocka_unit_test(any_text_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
