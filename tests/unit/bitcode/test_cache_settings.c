/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Settings of the cache in the environment. */
#include "support.h"

#include "support/system/cache_settings.h"

static void set(const char *name, const char *value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

static void set_all(const char *dir, const char *xdg, const char *home, const char *mode,
                    const char *size) {
  set("KDL_CACHE_DIR", dir);
  set("XDG_CACHE_HOME", xdg);
  set("HOME", home);
  set("KDL_CACHE", mode);
  set("KDL_CACHE_SIZE", size);
}

static void good(void **state) {
  (void)state;
  static const struct {
    const char *dir, *xdg, *home, *mode, *size;
    kdl_cache_settings expected;
  } rows[] = {
      {"/a",
       "/x",
       "/h",
       NULL,
       NULL,
       {KDL_CACHE_ON, KDL_CACHE_DEFAULT_LIMIT, "/a", KDL_CACHE_PRIVATE}},
      {NULL, "/x", "/h", "on", "10", {KDL_CACHE_ON, 10, "/x/kdl", KDL_CACHE_PRIVATE}},
      {NULL,
       NULL,
       "/h",
       "ro",
       "3K",
       {KDL_CACHE_READ_ONLY, 3072, "/h/.cache/kdl", KDL_CACHE_PRIVATE}},
      {NULL,
       "relative",
       "/h",
       "off",
       "2G",
       {KDL_CACHE_OFF, (uint64_t)2 << 30, "/h/.cache/kdl", KDL_CACHE_PRIVATE}},
      {"",
       "",
       "/h",
       "",
       "",
       {KDL_CACHE_ON, KDL_CACHE_DEFAULT_LIMIT, "/h/.cache/kdl", KDL_CACHE_PRIVATE}},
      {"/a", NULL, NULL, NULL, "1T", {KDL_CACHE_ON, (uint64_t)1 << 40, "/a", KDL_CACHE_PRIVATE}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_cache_settings settings;
    set_all(rows[i].dir, rows[i].xdg, rows[i].home, rows[i].mode, rows[i].size);
    assert_ok(kdl_cache_settings_read(&settings));
    assert_int_equal(settings.mode, rows[i].expected.mode);
    assert_int_equal(settings.limit, rows[i].expected.limit);
    assert_string_equal(settings.dir, rows[i].expected.dir);
  }
}

static void bad(void **state) {
  (void)state;
  static const struct {
    const char *dir, *home, *mode, *size;
    kdl_status status;
    const char *message;
  } rows[] = {
      {"a/b", "/h", NULL, NULL, KDL_BAD_CALL,
       "KDL_CACHE_DIR: found \"a/b\", expected an absolute path"},
      {"/a", "/h", "yes", NULL, KDL_BAD_CALL,
       "KDL_CACHE: found \"yes\", expected on, ro, off, /FOLDER,shared or /FOLDER,ro"},
      {"/a", "/h", NULL, "10X", KDL_BAD_CALL,
       "KDL_CACHE_SIZE: found \"10X\", expected a number of bytes, as 536870912, 512M or 2G"},
      {"/a", "/h", NULL, "-1", KDL_BAD_CALL,
       "KDL_CACHE_SIZE: found \"-1\", expected a number of bytes, as 536870912, 512M or 2G"},
      {"/a", "/h", NULL, "M", KDL_BAD_CALL,
       "KDL_CACHE_SIZE: found \"M\", expected a number of bytes, as 536870912, 512M or 2G"},
      {"/a", "/h", NULL, "18446744073709551616", KDL_BAD_CALL,
       "KDL_CACHE_SIZE: found \"18446744073709551616\", expected a number of bytes, as 536870912, "
       "512M or 2G"},
      {"/a", "/h", NULL, "18014398509481984K", KDL_BAD_CALL,
       "KDL_CACHE_SIZE: found \"18014398509481984K\", expected a number of bytes, as 536870912, "
       "512M or 2G"},
      {NULL, NULL, NULL, NULL, KDL_NO_MATCH,
       "found none of KDL_CACHE_DIR, XDG_CACHE_HOME and HOME, expected one to say where the cache "
       "lies"},
      {NULL, "h", NULL, NULL, KDL_NO_MATCH,
       "found none of KDL_CACHE_DIR, XDG_CACHE_HOME and HOME, expected one to say where the cache "
       "lies"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_cache_settings settings;
    set_all(rows[i].dir, NULL, rows[i].home, rows[i].mode, rows[i].size);
    assert_fails(kdl_cache_settings_read(&settings), rows[i].status, rows[i].message);
  }
}

static void layers_are_listed(void **state) {
  (void)state;
  kdl_cache_settings own;
  kdl_cache_tiers tiers;
  set_all("/a", NULL, NULL, "/nfs/kdl,shared:/opt/app,ro", "3K");
  assert_ok(kdl_cache_settings_read(&own));
  assert_ok(kdl_cache_tiers_read(&tiers));
  assert_int_equal(own.mode, KDL_CACHE_ON);
  assert_string_equal(own.dir, "/a");
  assert_int_equal(tiers.count, 2);
  assert_string_equal(tiers.items[0].dir, "/nfs/kdl");
  assert_int_equal(tiers.items[0].mode, KDL_CACHE_ON);
  assert_int_equal(tiers.items[0].sharing, KDL_CACHE_SHARED);
  assert_int_equal(tiers.items[0].limit, 3072);
  assert_string_equal(tiers.items[1].dir, "/opt/app");
  assert_int_equal(tiers.items[1].mode, KDL_CACHE_READ_ONLY);
  assert_int_equal(tiers.items[1].sharing, KDL_CACHE_LOWER);
  set_all("/a", NULL, NULL, "off:/comma,in/name,ro", NULL);
  assert_ok(kdl_cache_settings_read(&own));
  assert_ok(kdl_cache_tiers_read(&tiers));
  assert_int_equal(own.mode, KDL_CACHE_OFF);
  assert_string_equal(tiers.items[0].dir, "/comma,in/name");
  set_all("/a", NULL, NULL, NULL, NULL);
  assert_ok(kdl_cache_tiers_read(&tiers));
  assert_int_equal(tiers.count, 0);
}

static void bad_layers(void **state) {
  (void)state;
  static const char *const lists[] = {"nfs,shared", "/nfs", "/nfs,rw",
                                      "on:",        ":on",  "/a,ro:/b,ro:/c,ro:/d,ro:/e,ro"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
    kdl_cache_settings own;
    kdl_cache_tiers tiers;
    set_all("/a", NULL, NULL, lists[i], NULL);
    assert_int_equal(kdl_cache_settings_read(&own), KDL_BAD_CALL);
    assert_int_equal(kdl_cache_tiers_read(&tiers), KDL_BAD_CALL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(good),
      cmocka_unit_test(bad),
      cmocka_unit_test(layers_are_listed),
      cmocka_unit_test(bad_layers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
