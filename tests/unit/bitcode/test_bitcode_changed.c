/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that change between computing the link key and linking: the cache stores nothing that does
 * not match its key. */
#include "bitcode_support.h"

#include <sys/file.h>
#include <time.h>

static char library[128], folder[128], ukernels[160], shared[128];

/* Larger than what is read whole when it is opened, and bitcode at its beginning. */
static void write_library(char text) {
  enum { large = 100 * 1024 };
  static uint8_t zeros[large];
  static const kdl_pair other[] = {{{"triple", 6}, {"nvptx64-nvidia-cuda", 19}},
                                   {{"arch", 4}, {"sm_90", 5}},
                                   {{"kdl.kernel.other", 16}, {"rev=1", 5}}};
  kdl_writer_image rest = {.size = sizeof rest,
                           .declared_kind = 3,
                           .pairs = other,
                           .pair_count = 3,
                           .data = zeros,
                           .data_size = large};
  const mixed_row row = {NULL, NULL, MARK, (char[]){text, text, text, text, '\0'}};
  kdl_writer *writer;
  uint8_t *image;
  void *data;
  size_t size;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  add_mixed(writer, &row, &image);
  assert_ok(kdl_writer_add(writer, &rest));
  assert_ok(kdl_writer_finish(writer, &data, &size));
  kdl_writer_destroy(writer);
  free(image);
  int fd = open(library, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* in place */
  assert_int_equal(write(fd, data, size), size);
  close(fd);
  free(data);
}

static uint32_t run_library(void) {
  kdl_library *lib;
  assert_ok(kdl_open(library, NULL, &lib));
  uint32_t variant = run_mark(kernel_named(lib, "mark"), 10);
  kdl_close(lib);
  return variant;
}

/* The name of the one entry of a folder without its end; "" where there is none. */
static void find_entry(const char *path, char out_name[128]) {
  DIR *stream = opendir(path);
  out_name[0] = '\0';
  for (const struct dirent *item; stream && (item = readdir(stream));) {
    const char *end = strstr(item->d_name, ".kdl");
    if (end)
      snprintf(out_name, 128, "%.*s", (int)(end - item->d_name), item->d_name);
  }
  if (stream)
    closedir(stream);
}

static bool has_entry(const char *path) {
  char name[128];
  find_entry(path, name);
  return name[0] != '\0';
}

/* Holds the lock of the entry while the library becomes another. */
static void *change_and_unlock(void *user) {
  const int *lock = user;
  nanosleep(&(struct timespec){.tv_nsec = 300 * 1000000}, NULL);
  write_library('b');
  close(*lock);
  return NULL;
}

static void a_library_that_changes_while_it_waits_is_not_kept(void **state) {
  (void)state;
  char name[128], path[400];
  pthread_t thread;
  write_library('a');
  assert_int_equal(run_library(), 3);
  find_entry(cache_path, name);
  assert_true(name[0]);
  snprintf(path, sizeof path, "%s/%s.kdl", cache_path, name);
  unlink(path);
  snprintf(path, sizeof path, "%s/%s.lock", cache_path, name);
  int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(flock(lock, LOCK_EX), 0);
  pthread_create(&thread, NULL, change_and_unlock, &lock);
  start_listening("link");
  assert_int_equal(run_library(), 3);
  pthread_join(thread, NULL);
  assert_said("not kept: what it was linked of was changed meanwhile");
  stop_listening();
  assert_false(has_entry(cache_path));
}

/* A linker that finds the microkernels to be others than when it was started. */
static void make_linker(const char *act) {
  char path[128];
  snprintf(path, sizeof path, "%s/kdl-ld", work);
  FILE *file = fopen(path, "we");
  fprintf(file, "#!/bin/sh\n%s\nexec " KDL_TEST_FAKES "/linker/kdl-ld \"$@\"\n", act);
  fclose(file);
  assert_int_equal(chmod(path, 0700), 0);
  setenv("KDL_LD", path, 1);
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "we");
  fputs(text, file);
  fclose(file);
}

static void microkernels_that_change_while_they_are_linked_are_not_kept(void **state) {
  (void)state;
  static const char *const acts[] = {
      "echo two > $D/dot.offload",
      "echo two > $D/new && mv $D/new $D/dot.offload",
      "echo two > $D/dot.offload; echo one > $D/dot.offload",
      "echo two > $D/more.offload",
      "cp -p $D/dot.offload $D/old; echo two > $D/dot.offload; mv $D/old $D/dot.offload",
  };
  char list[256];
  snprintf(list, sizeof list, "%s,shared", shared);
  setenv("KDL_CACHE", list, 1);
  setenv("KDL_UKERNEL_PATH", folder, 1);
  setenv("D", folder, 1);
  for (size_t i = 0; i < sizeof acts / sizeof *acts; ++i) {
    begin_test(state);
    remove_folder(folder);
    remove_folder(shared);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(shared, 0700), 0);
    write_text(ukernels, "one\n");
    make_linker(acts[i]);
    start_listening("link");
    assert_int_equal(run_rows(alone, 1), 3);
    assert_said("not kept: what it was linked of was changed meanwhile");
    stop_listening();
    if (has_entry(cache_path) || has_entry(shared))
      fail_msg("%s: what was linked is kept", acts[i]);
  }
  make_linker("");
  remove_folder(folder);
  assert_int_equal(mkdir(folder, 0700), 0);
  write_text(ukernels, "one\n");
  assert_int_equal(run_rows(alone, 1), 3);
  assert_true(has_entry(cache_path) && has_entry(shared));
  unsetenv("KDL_CACHE");
  unsetenv("KDL_UKERNEL_PATH");
}

/* LLVM may be upgraded while it links: what was linked is of the one before, and the files that the
 * report names are those after. */
static void what_it_depends_on_may_not_change_either(void **state) {
  (void)state;
  char path[128];
  snprintf(path, sizeof path, "%s/llvm.so", work);
  write_text(path, "before");
  setenv("KDL_FAKE_LD_DEPENDS", path, 1);
  setenv("D", path, 1);
  make_linker("echo after > $D; sleep 3.1");
  start_listening("link");
  assert_int_equal(run_rows(alone, 1), 3);
  assert_said("not kept: what it depends on was just changed");
  stop_listening();
  assert_false(has_entry(cache_path));
}

static int make_places(void **state) {
  make_work(state);
  snprintf(library, sizeof library, "%s/library.offload", work);
  snprintf(folder, sizeof folder, "%s/uk", work);
  snprintf(ukernels, sizeof ukernels, "%s/dot.offload", folder);
  snprintf(shared, sizeof shared, "%s/shared", work);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_library_that_changes_while_it_waits_is_not_kept, begin_test),
      cmocka_unit_test_setup(microkernels_that_change_while_they_are_linked_are_not_kept,
                             begin_test),
      cmocka_unit_test_setup(what_it_depends_on_may_not_change_either, begin_test),
  };
  return cmocka_run_group_tests(tests, make_places, end_work);
}
