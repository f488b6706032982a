/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A registry's challenge, and the credentials file of `docker login`. */
#include "pack/registry/login.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void challenges_name_a_service(void **state) {
  static const struct {
    const char *text, *realm, *service, *scope;
  } good[] = {
      {"Bearer realm=\"https://a/t\",service=\"s\",scope=\"repository:x:pull,push\"", "https://a/t",
       "s", "repository:x:pull,push"},
      {"bearer  Realm = \"https://a/t\" , other=\"1, 2\", service=s", "https://a/t", "s", ""},
      {"Bearer realm=\"a\\\"b\"", "a\"b", "", ""},
      {"Bearer realm=https://a, Basic realm=\"x\"", "https://a", "", ""},
  };
  challenge found;
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
    assert_true(challenge_parse(good[i].text, &found));
    assert_true(found.is_bearer);
    assert_string_equal(found.realm, good[i].realm);
    assert_string_equal(found.service, good[i].service);
    assert_string_equal(found.scope, good[i].scope);
  }
  assert_true(challenge_parse("Basic realm=\"x\"", &found));
  assert_false(found.is_bearer);
  assert_true(challenge_parse("basic", &found));
}

static void other_challenges_are_refused(void **state) {
  static const char *const bad[] = {
      "",       "Negotiate",        "Basics",       "Bearer",
      "Digest", "Bearer service=x", "Bearer realm", "Bearer realm=\"x"};
  char long_realm[2048] = "Bearer realm=";
  challenge found;
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
    assert_false(challenge_parse(bad[i], &found));
  memset(long_realm + strlen(long_realm), 'r', 1500);
  assert_false(challenge_parse(long_realm, &found));
}

/* ------------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/kdl-login-XXXXXX";

static void write_config(const char *text) {
  char path[64];
  snprintf(path, sizeof path, "%s/config.json", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void hosts_have_credentials_of_their_own(void **state) {
  credentials found;
  (void)state;
  assert_int_equal(credentials_read("a.org", &found), KDL_OK); /* no file */
  assert_string_equal(found.basic, "");
  write_config("{\"auths\": {\"a.org\": {\"auth\": \"YTpi\", \"email\": null}, \"b.org:5000\": "
               "{\"auth\": \"Yjpj\"}, \"https://c.org/v1/\": {\"auth\": \"Yzpk\"}, "
               "\"https://d.org/else\": {\"auth\": \"ZDpl\"}, \"e.org\": {}}, \"x\": [1]}");
  static const struct {
    const char *host, *basic;
  } rows[] = {{"a.org", "YTpi"}, {"b.org:5000", "Yjpj"}, {"b.org", ""}, {"c.org", "Yzpk"},
              {"d.org", ""},     {"e.org", ""},          {"org", ""},   {"a.org.evil.org", ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_int_equal(credentials_read(rows[i].host, &found), KDL_OK);
    assert_string_equal(found.basic, rows[i].basic);
    assert_false(found.has_helper);
  }
  write_config("{\"auths\": {\"a.org\": null, \"b.org\": {\"auth\": null}, \"f.org\": "
               "{\"identitytoken\":  \"\", \"auth\": \"Zjpn\"}, \"https://c.org/v2\": "
               "{\"auth\": \"Yzpk\"}, \"d.org/v1\": {\"auth\": \"ZDpl\"}, \"e.org\": {\"auth\": "
               "\"PHRva2VuPjo=\", \"identitytoken\": \"x\"}}, \"credsStore\": null}");
  static const struct {
    const char *host, *basic;
  } others[] = {{"a.org", ""},     {"b.org", ""}, {"c.org", "Yzpk"},
                {"d.org", "ZDpl"}, {"e.org", ""}, {"f.org", "Zjpn"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    assert_int_equal(credentials_read(others[i].host, &found), KDL_OK);
    assert_string_equal(found.basic, others[i].basic);
    assert_int_equal(found.has_identity, strcmp(others[i].host, "e.org") == 0);
    assert_false(found.has_helper);
  }
  write_config("{\"auths\": null}");
  assert_int_equal(credentials_read("a.org", &found), KDL_OK);
  assert_string_equal(found.basic, "");
  write_config("{\"credsStore\": \"desktop\"}");
  assert_int_equal(credentials_read("a.org", &found), KDL_OK);
  assert_true(found.has_helper);
}

static void what_would_break_a_header_is_refused_and_not_told(void **state) {
  static const char *const bad[] = {
      "{\"auths\": {\"a.org\": {\"auth\": \"c2VjcmV0\\r\\nX: y\"}}}",
      "{\"auths\": {\"a.org\": {\"auth\": \"c2VjcmV0 \"}}}",
      "{\"auths\": {\"a.org\": {\"auth\": 1}}}",
      "{\"auths\": {\"a.org\": \"c2VjcmV0\"}}",
      "{\"auths\": ",
  };
  credentials found;
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    write_config(bad[i]);
    assert_int_equal(credentials_read("a.org", &found), KDL_BAD_FILE);
    assert_null(strstr(kdl_error_message(), "c2VjcmV0"));
    assert_non_null(strstr(kdl_error_message(), "config.json"));
  }
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) && setenv("DOCKER_CONFIG", folder, 1) == 0 ? 0 : 1;
}

static int remove_folder(void **state) {
  char path[64];
  (void)state;
  snprintf(path, sizeof path, "%s/config.json", folder);
  unlink(path);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(challenges_name_a_service),
      cmocka_unit_test(other_challenges_are_refused),
      cmocka_unit_test(hosts_have_credentials_of_their_own),
      cmocka_unit_test(what_would_break_a_header_is_refused_and_not_told),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
