/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The system's and the user's settings for signatures, and who else may write them. Each case is a
 * separate process: settings are read once. */
#include "trust_support.h"

#include <sys/wait.h>

static const kdl_pair keys[] = {
    {KDL_TEXT_ROW("triple"), KDL_TEXT_ROW(HOST_TRIPLE)},
    {KDL_TEXT_ROW("arch"), KDL_TEXT_ROW(HOST_ARCH)},
    {KDL_TEXT_ROW("kdl.kernel.mark"), KDL_TEXT_ROW("sig=ptr<u32> u32; block=256x1x1")}};
enum { key_count = sizeof keys / sizeof *keys };

static uint8_t *file;
static size_t file_size;

static int make_file(void **state) {
  (void)state;
  size_t size;
  trust_begin("require");
  uint8_t *bytes = read_file(KDL_TEST_IMAGES "/mark1.so", &size);
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = 1,
                            .pairs = keys,
                            .pair_count = key_count,
                            .data = bytes,
                            .data_size = size};
  kdl_writer *writer;
  void *data;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  trust_add(writer, &image, TRUST_SIGNED);
  assert_ok(kdl_writer_finish(writer, &data, &file_size));
  kdl_writer_destroy(writer);
  file = data;
  free(bytes);
  return 0;
}

static int remove_file(void **state) {
  (void)state;
  trust_end();
  free(file);
  return 0;
}

/* A path below the folder, until the next call. */
static const char *place(const char *name) {
  static char path[256];
  trust_path(name, path);
  return path;
}

static void trust_write(const char *name, const char *text) {
  write_bytes(place(name), text, strlen(text));
  assert_int_equal(chmod(place(name), 0644), 0);
}

static size_t find(const char *text) {
  const uint8_t *at = memmem(file, file_size, text, strlen(text));
  assert_non_null(at);
  return (size_t)(at - file);
}

/* Runs a case as a process; what it found is its exit status. */
static kdl_status alone(kdl_status (*run)(void)) {
  int status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0)
    _exit((int)run());
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status));
  return (kdl_status)WEXITSTATUS(status);
}

static kdl_status select_plain(void) {
  kdl_library *lib;
  kdl_selection choice;
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  freopen("/dev/null", "w", stderr);
  kdl_status status = kdl_open_memory(file, file_size, &opts, &lib);
  if (status != KDL_OK)
    return status;
  choice = (kdl_selection){.size = sizeof choice};
  return kdl_select(lib, the_host(), "mark", NULL, &choice);
}

static void check_settings(const char *what, kdl_status expected) {
  kdl_status found = alone(select_plain);
  if (found != expected)
    fail_msg("%s: found status %d, expected %d", what, found, expected);
}

static void what_others_may_write_to_is_no_key(void **state) {
  (void)state;
  static const struct {
    const char *name;
    mode_t wrong, right;
    kdl_status status;
  } rows[] = {
      {"keys.d/test.pub", 0666, 0644, KDL_BAD_FILE}, {"keys.d/test.pub", 0620, 0644, KDL_BAD_FILE},
      {"keys.d", 0777, 0755, KDL_BAD_CALL},          {"keys.d", 01777, 0755, KDL_BAD_CALL},
      {"keys.d", 0775, 0700, KDL_BAD_CALL},          {"", 0777, 0755, KDL_BAD_CALL}};
  check_settings("as they are", KDL_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_int_equal(chmod(place(rows[i].name), rows[i].wrong), 0);
    check_settings(rows[i].name, rows[i].status);
    assert_int_equal(chmod(place(rows[i].name), rows[i].right), 0);
    check_settings(rows[i].name, KDL_OK);
  }
}

/* A link is as good as what it leads to. */
static void links_to_other_users_folders_do_not_count(void **state) {
  (void)state;
  char elsewhere[256];
  snprintf(elsewhere, sizeof elsewhere, "%s", place("elsewhere"));
  assert_int_equal(rename(place("keys.d"), elsewhere), 0);
  check_settings("no keys.d", KDL_BAD_FILE);
  assert_int_equal(symlink(elsewhere, place("keys.d")), 0);
  check_settings("a link", KDL_OK);
  if (geteuid() == 0) {
    assert_int_equal(chown(elsewhere, 65534, 65534), 0);
    check_settings("a link to another user's", KDL_BAD_CALL);
    assert_int_equal(chown(elsewhere, 0, 0), 0);
    assert_int_equal(chown(place("keys.d/test.pub"), 65534, 65534), 0);
    check_settings("another user's key", KDL_BAD_FILE);
    assert_int_equal(chown(place("keys.d/test.pub"), 0, 0), 0);
  }
  unlink(place("keys.d"));
  assert_int_equal(rename(elsewhere, place("keys.d")), 0);
}

static void misspelt_words_refuse(void **state) {
  (void)state;
  static const char *const words[] = {"Require", "required", "OFF",  "no",   "0",
                                      "false",   " off",     "off,", "none", "warn,off"};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    setenv("KDL_TRUST", words[i], 1);
    check_settings(words[i], KDL_BAD_CALL);
    unsetenv("KDL_TRUST");
    trust_write("trust", words[i]);
    check_settings(words[i], KDL_BAD_CALL);
    setenv("KDL_TRUST", "off", 1);
    check_settings("the user's word", KDL_OK);
  }
  unlink(place("trust"));
  setenv("KDL_TRUST", "require", 1);
}

static void the_systems_word_must_be_readable(void **state) {
  (void)state;
  char large[5000];
  memset(large, ' ', sizeof large);
  memcpy(large, "off", 3);
  large[sizeof large - 1] = '\0';
  unsetenv("KDL_TRUST");
  file[find("a comment")] ^= 1; /* no longer as signed */
  check_settings("no word", KDL_OK);
  trust_write("trust", "require\n");
  check_settings("require", KDL_BAD_FILE);
  setenv("KDL_TRUST", "", 1);
  check_settings("an empty variable says nothing", KDL_BAD_FILE);
  unsetenv("KDL_TRUST");
  trust_write("trust", large);
  check_settings("too large", KDL_BAD_CALL);
  trust_write("trust", "");
  check_settings("empty", KDL_BAD_CALL);
  trust_write("trust", "off");
  check_settings("off", KDL_OK);
  assert_int_equal(chmod(place("trust"), 0666), 0);
  check_settings("written by anyone", KDL_BAD_CALL);
  unlink(place("trust"));
  assert_int_equal(mkdir(place("trust"), 0700), 0);
  check_settings("a folder", KDL_BAD_CALL);
  rmdir(place("trust"));
  assert_int_equal(symlink("nowhere", place("trust")), 0);
  check_settings("a link to nowhere", KDL_OK);
  unlink(place("trust"));
  file[find("` comment")] ^= 1;
  setenv("KDL_TRUST", "require", 1);
  check_settings("as it was", KDL_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_others_may_write_to_is_no_key),
      cmocka_unit_test(links_to_other_users_folders_do_not_count),
      cmocka_unit_test(misspelt_words_refuse),
      cmocka_unit_test(the_systems_word_must_be_readable),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
