/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table of measured times on disk: what damages it, who shares it, and that it alone decides.
 */
#include "adaptive_support.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Any byte may be damaged: lines that are whole count. */
static void damaged_lines_are_passed_over(void **state) {
  (void)state;
  char path[600];
  use_empty_cache();
  learn_and_close(512);
  learn_and_close(5000);
  table_path(path);
  size_t size;
  uint8_t *good = read_file(path, &size);
  for (size_t at = 0; at < size; at += 1 + size / 150) {
    uint8_t was = good[at];
    good[at] ^= (uint8_t)(1 + at % 255);
    FILE *file = fopen(path, "we");
    assert_int_equal(fwrite(good, 1, size, file), size);
    fclose(file);
    test_kernel kernel = {.launches = {0}};
    memcpy(kernel.us, times_us, sizeof times_us);
    open_kernel(&kernel, 8);
    launch(&kernel, 512);
    launch(&kernel, 5000);
    close_kernel(&kernel);
    good[at] = was;
  }
  for (size_t end = 0; end < size; end += 1 + size / 100) { /* and it may be truncated */
    FILE *file = fopen(path, "we");
    assert_int_equal(fwrite(good, 1, end, file), end);
    fclose(file);
    test_kernel kernel = {.launches = {0}};
    memcpy(kernel.us, times_us, sizeof times_us);
    open_kernel(&kernel, 8);
    launch(&kernel, 512);
    close_kernel(&kernel);
  }
  FILE *file = fopen(path, "we");
  assert_int_equal(fwrite(good, 1, size, file), size);
  fclose(file);
  free(good);
  assert_true(knows(512));
  assert_true(knows(5000));
}

/* Variants with other bytes have another identity: nothing is known of them, and a table for
 * another device has another name. */
static void other_images_are_not_known(void **state) {
  (void)state;
  use_empty_cache();
  learn_and_close(512);
  kdl_adaptive_variant variants[8];
  fill_variants(variants, 8);
  for (int i = 0; i < 8; ++i)
    variants[i].id += 0x1000;
  test_kernel kernel = {.launches = {0}};
  kernel.adaptive = open_variants(variants, 8, NULL);
  assert_false(is_decided(&kernel, 512));
  close_kernel(&kernel);
  assert_true(knows(512));
}

static void without_a_folder_choices_are_made(void **state) {
  (void)state;
  use_empty_cache();
  setenv("KDL_CACHE", "off", 1);
  learn_and_close(512);
  assert_false(knows(512));
  unsetenv("KDL_CACHE");
  setenv("KDL_CACHE_DIR", "/proc/nowhere", 1);
  learn_and_close(512);
  assert_false(knows(512));
  setenv("KDL_CACHE_DIR", "/dev/full", 1);
  learn_and_close(512);
}

/* Where not even the file of marks has room, choices are made, and nothing is mapped. */
static void learn_without_room(void) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    const struct rlimit limit = {64, 64};
    char folder[300];
    snprintf(folder, sizeof folder, "%s/full", test_cache);
    setenv("KDL_CACHE_DIR", folder, 1);
    setrlimit(RLIMIT_FSIZE, &limit);
    learn_and_close(512);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* A limit on the size of files acts as a full disk does: a part of a line, or nothing, is written.
 */
static void a_full_disk_loses_lines_only(void **state) {
  (void)state;
  char path[600];
  struct stat info;
  use_empty_cache();
  learn_and_close(512);
  table_path(path);
  assert_int_equal(stat(path, &info), 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    struct rlimit limit = {(rlim_t)info.st_size + 50, (rlim_t)info.st_size + 50};
    setrlimit(RLIMIT_FSIZE, &limit);
    learn_and_close(5000);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(knows(512));
  assert_false(knows(5000));
  learn_without_room();
  FILE *file = fopen(path, "ae");
  assert_true(fputs("\n01234567 c 123 45", file) > 0); /* a line that was cut off */
  fclose(file);
  learn_and_close(5000);
  assert_true(knows(512));
  assert_true(knows(5000));
}

static void a_hundred_processes_write_one_table(void **state) {
  (void)state;
  use_empty_cache();
  setenv("KDL_EXPLORE", "128,50%", 1);
  pid_t children[100];
  int gate[2];
  char byte;
  assert_int_equal(pipe(gate), 0);
  fflush(stdout);
  for (int i = 0; i < 100; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      noise_state = (uint64_t)i * 77 + 1;
      test_kernel kernel = {.launches = {0}};
      memcpy(kernel.us, times_us, sizeof times_us);
      open_kernel(&kernel, 8);
      close(gate[1]);
      (void)!read(gate[0], &byte, 1); /* until all have been started, with an empty table */
      for (uint32_t n = 32; n <= 2048; n *= 2) {
        for (size_t k = 0; k < 900; ++k)
          launch(&kernel, n);
      }
      if (i % 5 == 0)
        kill(getpid(), SIGKILL); /* some never close */
      close_kernel(&kernel);
      _exit(0);
    }
    assert_true(children[i] > 0);
  }
  close(gate[0]);
  close(gate[1]);
  for (int i = 0; i < 100; ++i)
    assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
  unsetenv("KDL_EXPLORE");
  char path[600];
  table_path(path);
  size_t size, damaged = 0, lines = 0;
  uint8_t *text = read_file(path, &size);
  kdl_table_line line;
  for (size_t at = 0; kdl_table_next((kdl_string){(char *)text, size}, &at, &line, &damaged);)
    ++lines;
  free(text);
  print_message("%zu lines, %zu bytes, %zu damaged\n", lines, size, damaged);
  assert_int_equal(damaged, 0);
  test_kernel kernel = {.launches = {0}};
  memcpy(kernel.us, times_us, sizeof times_us);
  open_kernel(&kernel, 8);
  for (uint32_t n = 32; n <= 2048; n *= 2) {
    assert_true(is_decided(&kernel, n));
    assert_true(kernel.us[launch(&kernel, n)] <= 100);
  }
  close_kernel(&kernel);
}

/* A file that has grown is rewritten with one line per class, and the choices stay. */
static void tables_do_not_grow_forever(void **state) {
  (void)state;
  use_empty_cache();
  learn_and_close(512);
  char path[600];
  table_path(path);
  size_t size, once;
  uint8_t *text = read_file(path, &once);
  FILE *file = fopen(path, "ae");
  for (int i = 0; i < 400; ++i)
    assert_int_equal(fwrite(text, 1, once, file), once);
  fclose(file);
  free(text);
  assert_true(knows(512));
  text = read_file(path, &size);
  free(text);
  assert_true(size < 20000);
  assert_true(knows(512));
}

/* A table that another device wrote, under the name of this one's, is not read. */
static void a_table_of_another_device_is_not_used(void **state) {
  (void)state;
  use_empty_cache();
  learn_and_close(512);
  char path[600], line[256];
  table_path(path);
  size_t size, at = 0, damaged = 0;
  uint8_t *text = read_file(path, &size);
  kdl_table_line header;
  assert_true(kdl_table_next((kdl_string){(char *)text, size}, &at, &header, &damaged));
  assert_int_equal(header.kind, KDL_TABLE_HEADER);
  size_t length = kdl_table_seal("h 1 kernel=mark device=cuda:sm_90", line, sizeof line);
  FILE *file = fopen(path, "we");
  assert_int_equal(fwrite(line, 1, length, file), length);
  assert_int_equal(fwrite(text + at, 1, size - at, file), size - at);
  fclose(file);
  free(text);
  assert_false(knows(512));
}

/* Variants that take a millionth of the slowest one's time keep their order in the table. */
static void very_different_times_are_stored(void **state) {
  (void)state;
  use_empty_cache();
  setenv("KDL_EXPLORE", "128,100%", 1);
  alarm(60);
  for (int process = 0; process < 2; ++process) {
    test_kernel kernel = {.us = {1e8, 200, 100, 300}};
    open_kernel(&kernel, 4);
    assert_int_equal(is_decided(&kernel, 512), process);
    learn(&kernel, 512, 3000);
    assert_true(is_decided(&kernel, 512));
    assert_int_equal(launch(&kernel, 512), 2);
    close_kernel(&kernel);
  }
  alarm(0);
  unsetenv("KDL_EXPLORE");
}

/* ------------------------------------------------------------------------------------------ */
/* Whose folders are used                                                                       */

enum { other_user = 12345 };

static size_t files_in(const char *path) {
  size_t count = 0;
  DIR *folder = opendir(path);
  assert_non_null(folder);
  while (readdir(folder))
    ++count;
  closedir(folder);
  return count - 2;
}

static void expect_not_used(const char *why) {
  char said[400];
  learn_and_close(512);
  assert_false(knows(512));
  assert_true(kdl_table_failed(said, sizeof said));
  assert_non_null(strstr(said, why));
}

/* Neither a folder that others may write to, nor a link in the place of one, nor what lies in the
 * folder of another user. */
static void folders_of_others_are_not_used(void **state) {
  (void)state;
  char choices[300], target[300];
  use_empty_cache();
  snprintf(choices, sizeof choices, "%s/choices", test_cache);
  snprintf(target, sizeof target, "%s-target", test_cache);
  assert_int_equal(mkdir(test_cache, 0700), 0);
  assert_int_equal(mkdir(target, 0700), 0);
  assert_int_equal(symlink(target, choices), 0);
  expect_not_used("Not a directory");
  assert_int_equal(files_in(target), 0);
  assert_int_equal(unlink(choices), 0);
  assert_int_equal(chmod(test_cache, 0777), 0);
  expect_not_used("found mode 0777, expected a folder that no other user may write to");
  assert_int_equal(files_in(test_cache), 0);
  assert_int_equal(mkdir(choices, 0700), 0);
  expect_not_used("found mode 0777");
  assert_int_equal(files_in(choices), 0);
  assert_int_equal(chmod(test_cache, 0700), 0);
  if (geteuid() == 0) {
    assert_int_equal(chown(test_cache, other_user, other_user), 0);
    expect_not_used("found a folder of user 12345, expected one of user 0");
    assert_int_equal(files_in(choices), 0);
    assert_int_equal(chown(test_cache, 0, 0), 0);
  }
  learn_and_close(512);
  assert_true(knows(512));
  assert_int_equal(rmdir(target), 0);
}

/* ------------------------------------------------------------------------------------------ */
/* Tiers                                                                                        */

static void use_tier(const char *mode) {
  char list[400], command[600];
  snprintf(list, sizeof list, "%s-tier,%s", test_cache, mode);
  setenv("KDL_CACHE", list, 1);
  snprintf(command, sizeof command, "rm -rf %s", test_cache); /* the next machine */
  assert_int_equal(system(command), 0);
}

static size_t tables_in_tier(char first[600]) {
  char path[600];
  size_t count = 0;
  snprintf(path, sizeof path, "%s-tier/choices", test_cache);
  DIR *folder = opendir(path);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    if (!strstr(entry->d_name, ".kdlc."))
      continue;
    snprintf(first, 600, "%s-tier/choices/%.200s", test_cache, entry->d_name);
    ++count;
  }
  if (folder)
    closedir(folder);
  return count;
}

/* Each machine adds to a file of its own, and reads those of all. */
static void tiers_carry_tables(void **state) {
  (void)state;
  char path[600], other[620], command[600];
  use_empty_cache();
  snprintf(command, sizeof command, "rm -rf %s-tier && mkdir -m 700 %s-tier", test_cache,
           test_cache);
  assert_int_equal(system(command), 0);
  use_tier("shared");
  learn_and_close(512);
  assert_int_equal(tables_in_tier(path), 1);
  use_tier("shared");
  assert_true(knows(512));
  snprintf(other, sizeof other, "%.*s.00000000", (int)(strrchr(path, '.') - path), path);
  assert_int_equal(rename(path, other), 0); /* as if another machine had written it */
  use_tier("shared");
  learn_and_close(5000);
  assert_int_equal(tables_in_tier(path), 2);
  use_tier("ro");
  assert_true(knows(512));
  assert_true(knows(5000));
  use_tier("ro");
  learn_and_close(70000);
  use_tier("ro");
  assert_false(knows(70000)); /* a read-only tier stays as it is */
  unsetenv("KDL_CACHE");
  assert_false(knows(512));
  snprintf(command, sizeof command, "rm -rf %s-tier", test_cache);
  assert_int_equal(system(command), 0);
}

/* With KDL_EXPLORE=0 the table alone decides, whatever launches take. */
static void a_pinned_table_gives_the_same_choices(void **state) {
  (void)state;
  enum { sizes = 40, processes = 20 };
  uint32_t expected[sizes];
  use_empty_cache();
  learn_and_close(512);
  learn_and_close(5000);
  setenv("KDL_EXPLORE", "0", 1);
  for (int process = 0; process < processes; ++process) {
    test_kernel kernel = {.launches = {0}};
    for (int i = 0; i < test_variants; ++i)
      kernel.us[i] = 10 + 500 * noise();
    open_kernel(&kernel, 8);
    for (int k = 0; k < 3 * sizes; ++k) {
      int at = process % 2 ? k % sizes : sizes - 1 - k % sizes; /* in another order */
      uint32_t variant = launch(&kernel, 100 + 331 * (uint32_t)at);
      if (process == 0 && k < sizes)
        expected[at] = variant;
      assert_int_equal(variant, expected[at]);
    }
    assert_true(kernel.explored_us == 0);
    close_kernel(&kernel);
  }
  unsetenv("KDL_EXPLORE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_lines_are_passed_over),
      cmocka_unit_test(other_images_are_not_known),
      cmocka_unit_test(without_a_folder_choices_are_made),
      cmocka_unit_test(a_full_disk_loses_lines_only),
      cmocka_unit_test(a_hundred_processes_write_one_table),
      cmocka_unit_test(tables_do_not_grow_forever),
      cmocka_unit_test(a_table_of_another_device_is_not_used),
      cmocka_unit_test(very_different_times_are_stored),
      cmocka_unit_test(folders_of_others_are_not_used),
      cmocka_unit_test(tiers_carry_tables),
      cmocka_unit_test(a_pinned_table_gives_the_same_choices),
  };
  return cmocka_run_group_tests(tests, NULL, clean_up);
}
