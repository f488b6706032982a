/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The JSON reader: what it accepts, what it refuses and where, and that it stays within bounds. */
#include "support.h"

#include "support/json/reader.h"

static kdl_json start(const char *text) {
  kdl_json json;
  kdl_json_start(&json, "t", text, strlen(text));
  return json;
}

static kdl_status skip_all(const char *text) {
  kdl_json json = start(text);
  kdl_status status = kdl_json_skip(&json);
  return status == KDL_OK ? kdl_json_finish(&json) : status;
}

static void numbers_and_arrays(void **state) {
  (void)state;
  kdl_json json = start(" [ 1 , 18446744073709551615 , [ ] ] ");
  bool more;
  uint64_t number;
  assert_ok(kdl_json_begin(&json, KDL_JSON_ARRAY));
  assert_ok(kdl_json_next_item(&json, &more));
  assert_ok(kdl_json_number(&json, &number));
  assert_true(more && number == 1);
  assert_ok(kdl_json_next_item(&json, &more));
  assert_ok(kdl_json_number(&json, &number));
  assert_true(more && number == UINT64_MAX);
  assert_ok(kdl_json_next_item(&json, &more));
  assert_ok(kdl_json_begin(&json, KDL_JSON_ARRAY));
  assert_ok(kdl_json_next_item(&json, &more));
  assert_false(more);
  assert_ok(kdl_json_next_item(&json, &more));
  assert_false(more);
  assert_ok(kdl_json_finish(&json));
}

static void reals(void **state) {
  (void)state;
  kdl_json json = start("[ -1.5e3 , 0.25, 7 ]");
  const double expected[] = {-1500, 0.25, 7};
  bool more;
  double real;
  assert_ok(kdl_json_begin(&json, KDL_JSON_ARRAY));
  for (size_t i = 0; i < 3; ++i) {
    assert_ok(kdl_json_next_item(&json, &more));
    assert_ok(kdl_json_real(&json, &real));
    assert_true(more && real == expected[i]);
  }
  json = start("1e999");
  assert_int_equal(kdl_json_real(&json, &real), KDL_BAD_FILE);
  assert_string_equal(kdl_error_message(), "t: line 1, column 1: found the number 1e999, expected "
                                           "one that a double holds");
  json = start("\"1\"");
  assert_int_equal(kdl_json_real(&json, &real), KDL_BAD_FILE);
}

static void strings_and_objects(void **state) {
  (void)state;
  kdl_json json = start(" { \"a\" : \"x\\n\\u00e9\\ud83d\\ude00\" , \"b\" : { } } ");
  char key[8];
  char text[16];
  bool more;
  assert_ok(kdl_json_begin(&json, KDL_JSON_OBJECT));
  assert_ok(kdl_json_next_key(&json, key, sizeof key, &more));
  assert_string_equal(key, "a");
  assert_ok(kdl_json_string(&json, text, sizeof text));
  assert_string_equal(text, "x\n\xc3\xa9\xf0\x9f\x98\x80");
  assert_ok(kdl_json_next_key(&json, key, sizeof key, &more));
  assert_string_equal(key, "b");
  assert_ok(kdl_json_begin(&json, KDL_JSON_OBJECT));
  assert_ok(kdl_json_next_key(&json, key, sizeof key, &more));
  assert_false(more);
  assert_ok(kdl_json_next_key(&json, key, sizeof key, &more));
  assert_false(more);
  assert_ok(kdl_json_finish(&json));
}

static void words(void **state) {
  (void)state;
  kdl_json json = start("[true,false,null]");
  bool more;
  bool boolean;
  kdl_json_kind kind;
  assert_ok(kdl_json_begin(&json, KDL_JSON_ARRAY));
  assert_ok(kdl_json_next_item(&json, &more));
  assert_ok(kdl_json_boolean(&json, &boolean));
  assert_true(boolean);
  assert_ok(kdl_json_next_item(&json, &more));
  assert_ok(kdl_json_boolean(&json, &boolean));
  assert_false(boolean);
  assert_ok(kdl_json_next_item(&json, &more));
  assert_ok(kdl_json_peek(&json, &kind));
  assert_int_equal(kind, KDL_JSON_NULL);
  assert_ok(kdl_json_skip(&json));
  assert_ok(kdl_json_next_item(&json, &more));
  assert_false(more);
}

static void what_is_json_is_skipped(void **state) {
  (void)state;
  static const char *const texts[] = {
      "0",
      "-0",
      "-1.5e+10",
      "1E5",
      "0.25",
      "\"\"",
      "\"\\u0000\"",
      "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
      "true",
      "false",
      "null",
      "[]",
      "{}",
      "[[],[[]],{}]",
      "{\"a\":{\"b\":[1,2,{\"c\":null}]}}",
      " \t\r\n[ 1 ]\n",
      "\"\xed\x9f\xbf\"",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
    assert_ok(skip_all(texts[i]));
}

static void what_is_not_json_is_refused_at_its_place(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"", "t: line 1, column 1: found the end, expected a JSON value"},
      {"  \n x", "t: line 2, column 2: found 'x', expected a JSON value"},
      {"\xef\xbb\xbf{}", "t: line 1, column 1: found byte 0xef, expected a JSON value"},
      {"tru", "t: line 1, column 4: found the end, expected true, false or null"},
      {"nulL", "t: line 1, column 4: found 'L', expected true, false or null"},
      {"01", "t: line 1, column 2: found '1', expected nothing after the value"},
      {"-", "t: line 1, column 2: found the end, expected a digit"},
      {"1.", "t: line 1, column 3: found the end, expected a digit"},
      {"1e+", "t: line 1, column 4: found the end, expected a digit"},
      {"+1", "t: line 1, column 1: found '+', expected a JSON value"},
      {".5", "t: line 1, column 1: found '.', expected a JSON value"},
      {"[1 2]", "t: line 1, column 4: found '2', expected ',' or ']'"},
      {"[1,]", "t: line 1, column 4: found ']', expected a JSON value"},
      {"[,1]", "t: line 1, column 2: found ',', expected a JSON value"},
      {"[1", "t: line 1, column 3: found the end, expected ',' or ']'"},
      {"{\"a\":1,}", "t: line 1, column 8: found '}', expected a key in quotes"},
      {"{\"a\" 1}", "t: line 1, column 6: found '1', expected ':' after the key"},
      {"{\"a\":}", "t: line 1, column 6: found '}', expected a JSON value"},
      {"{a:1}", "t: line 1, column 2: found 'a', expected a key in quotes"},
      {"{\"a\":1 \"b\":2}", "t: line 1, column 8: found '\"', expected ',' or '}'"},
      {"{}\n{}", "t: line 2, column 1: found '{', expected nothing after the value"},
      {"\"abc", "t: line 1, column 1: found a string without an end, expected '\"' to end it"},
      {"\"a\\", "t: line 1, column 4: found the end, expected one of \" \\ / b f n r t u after a "
                "backslash"},
      {"\"\\x41\"", "t: line 1, column 3: found 'x', expected one of \" \\ / b f n r t u after a "
                    "backslash"},
      {"\"\\u12g4\"", "t: line 1, column 6: found 'g', expected four hexadecimal digits after \\u"},
      {"\"\\ud800\"", "t: line 1, column 4: found half of a surrogate pair, expected both halves"},
      {"\"\\ud800\\u0041\"",
       "t: line 1, column 4: found half of a surrogate pair, expected both halves"},
      {"\"\\udc00\"", "t: line 1, column 4: found half of a surrogate pair, expected both halves"},
      {"\"a\nb\"",
       "t: line 1, column 3: found byte 0x0a, expected control characters of a string as "
       "\\u00XX"},
      {"\"\xff\"", "t: line 1, column 2: found byte 0xff, expected UTF-8"},
      {"\"\xc0\x80\"", "t: line 1, column 2: found byte 0xc0, expected UTF-8"},
      {"\"\xed\xa0\x80\"", "t: line 1, column 2: found byte 0xed, expected UTF-8"},
      {"\"\xf4\x90\x80\x80\"", "t: line 1, column 2: found byte 0xf4, expected UTF-8"},
      {"\"\xe2\x82\"", "t: line 1, column 2: found byte 0xe2, expected UTF-8"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    assert_fails(skip_all(rows[i].text), KDL_BAD_FILE, rows[i].message);
}

static void the_wrong_kind_is_refused(void **state) {
  (void)state;
  char text[4];
  bool boolean;
  uint64_t number;
  kdl_json json = start("[");
  assert_fails(kdl_json_begin(&json, KDL_JSON_OBJECT), KDL_BAD_FILE,
               "t: line 1, column 1: found an array, expected an object");
  json = start("null");
  assert_fails(kdl_json_string(&json, text, sizeof text), KDL_BAD_FILE,
               "t: line 1, column 1: found null, expected a string");
  json = start("\"1\"");
  assert_fails(kdl_json_number(&json, &number), KDL_BAD_FILE,
               "t: line 1, column 1: found a string, expected a number");
  json = start("{}");
  assert_fails(kdl_json_boolean(&json, &boolean), KDL_BAD_FILE,
               "t: line 1, column 1: found an object, expected true or false");
  static const char *const numbers[] = {"-1", "1.5", "1e3", "18446744073709551616"};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    char message[128];
    snprintf(message, sizeof message,
             "t: line 1, column 1: found the number %s, expected a whole number from 0 to 2^64 - 1",
             numbers[i]);
    json = start(numbers[i]);
    assert_fails(kdl_json_number(&json, &number), KDL_BAD_FILE, message);
  }
}

static void strings_must_fit_and_keys_are_cut(void **state) {
  (void)state;
  char text[4] = "";
  kdl_json json = start("\"abc\"");
  assert_ok(kdl_json_string(&json, text, sizeof text));
  assert_string_equal(text, "abc");
  json = start("\"abcd\"");
  assert_fails(kdl_json_string(&json, text, sizeof text), KDL_BAD_FILE,
               "t: line 1, column 1: found a string too long, expected at most 3 bytes");
  json = start("\"a\\u0000\"");
  assert_fails(kdl_json_string(&json, text, sizeof text), KDL_BAD_FILE,
               "t: line 1, column 1: found a string with a NUL in it, expected none");
  /* A character is never cut in two. */
  json = start("{\"ab\xc3\xa9z\":1}");
  bool more;
  assert_ok(kdl_json_begin(&json, KDL_JSON_OBJECT));
  assert_ok(kdl_json_next_key(&json, text, sizeof text, &more));
  assert_string_equal(text, "ab");
}

static void depth_is_limited(void **state) {
  (void)state;
  char text[2 * KDL_JSON_DEPTH + 8] = "";
  memset(text, '[', KDL_JSON_DEPTH);
  memset(text + KDL_JSON_DEPTH, ']', KDL_JSON_DEPTH);
  assert_ok(skip_all(text));
  memset(text, '[', KDL_JSON_DEPTH + 1);
  memset(text + KDL_JSON_DEPTH + 1, ']', KDL_JSON_DEPTH + 1);
  assert_fails(skip_all(text), KDL_BAD_FILE,
               "t: line 1, column 33: found values nested deeper than 32, expected no more");
}

/* Every start of a document, each in memory that ends with it. */
static void cut_documents_are_refused(void **state) {
  (void)state;
  static const char whole[] =
      "{\"a\":[1,-2.5e3,\"x\\u00e9\xc3\xa9\"],\"b\":{\"c\":true,\"d\":null}}";
  for (size_t size = 0; size < sizeof whole - 1; ++size) {
    char *cut = malloc(size ? size : 1);
    memcpy(cut, whole, size);
    kdl_json json;
    kdl_json_start(&json, "t", cut, size);
    assert_int_equal(kdl_json_skip(&json), KDL_BAD_FILE);
    free(cut);
  }
  assert_ok(skip_all(whole));
}

typedef struct {
  char seen[KDL_JSON_KEY + 64];
  size_t longest;
} visits;

static kdl_status see_item(kdl_json *json, void *user) {
  visits *all = user;
  uint64_t number;
  assert_true(json->text[kdl_json_at(json)] >= '0' && json->text[kdl_json_at(json)] <= '9');
  kdl_status status = kdl_json_number(json, &number);
  if (status == KDL_OK)
    snprintf(all->seen + strlen(all->seen), 16, "%u,", (unsigned)number);
  return status;
}

static kdl_status see_member(kdl_json *json, const char *key, void *user) {
  visits *all = user;
  all->longest = strlen(key) > all->longest ? strlen(key) : all->longest;
  if (strlen(key) < 8)
    snprintf(all->seen + strlen(all->seen), 16, "%s:", key);
  if (strcmp(key, "list") == 0)
    return kdl_json_items(json, see_item, all);
  if (strcmp(key, "inner") == 0)
    return kdl_json_members(json, see_member, all);
  if (strcmp(key, "bad") == 0)
    return kdl_json_fail(json, kdl_json_at(json), "found bad");
  return kdl_json_skip(json);
}

static kdl_status see_all(const char *text, visits *out) {
  *out = (visits){.seen = ""};
  kdl_json json = start(text);
  kdl_status status = kdl_json_members(&json, see_member, out);
  return status == KDL_OK ? kdl_json_finish(&json) : status;
}

static void members_and_items_are_visited_in_order(void **state) {
  (void)state;
  visits all;
  assert_ok(see_all("{}", &all));
  assert_string_equal(all.seen, "");
  assert_ok(see_all(" { \"a\" : [ { } ] , \"list\" : [ 1 ,\t2,3 ] , \"inner\": "
                    "{\"list\":[],\"b\":null}, \"c\":1 } ",
                    &all));
  assert_string_equal(all.seen, "a:list:1,2,3,inner:list:b:c:");
}

static void visits_end_where_one_fails(void **state) {
  (void)state;
  visits all;
  assert_fails(see_all("{\"a\":1,\"inner\":{\"bad\": 2,\"b\":3},\"c\":4}", &all), KDL_BAD_FILE,
               "t: line 1, column 24: found bad");
  assert_string_equal(all.seen, "a:inner:bad:");
  assert_int_equal(see_all("{\"list\":[1,2 3]}", &all), KDL_BAD_FILE);
  assert_string_equal(all.seen, "list:1,2,");
  assert_int_equal(see_all("{\"a\":1", &all), KDL_BAD_FILE);
  assert_int_equal(see_all("[]", &all), KDL_BAD_FILE);
  assert_int_equal(see_all("{\"list\":{}}", &all), KDL_BAD_FILE);
}

static void visited_keys_are_cut(void **state) {
  (void)state;
  visits all;
  char text[3 * KDL_JSON_KEY];
  snprintf(text, sizeof text, "{\"%0*d\":1}", 2 * KDL_JSON_KEY, 0);
  assert_ok(see_all(text, &all));
  assert_int_equal(all.longest, KDL_JSON_KEY - 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_and_arrays),
      cmocka_unit_test(reals),
      cmocka_unit_test(strings_and_objects),
      cmocka_unit_test(words),
      cmocka_unit_test(what_is_json_is_skipped),
      cmocka_unit_test(what_is_not_json_is_refused_at_its_place),
      cmocka_unit_test(the_wrong_kind_is_refused),
      cmocka_unit_test(strings_must_fit_and_keys_are_cut),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(cut_documents_are_refused),
      cmocka_unit_test(members_and_items_are_visited_in_order),
      cmocka_unit_test(visits_end_where_one_fails),
      cmocka_unit_test(visited_keys_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
