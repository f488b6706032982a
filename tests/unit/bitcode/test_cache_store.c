/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The cache's folder: what it stores, for how long, and what it never trusts. */
#include "cache_support.h"

static void stored_is_found(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  assert_int_equal(find_number(&cache, 1, 1000), KDL_NO_MATCH);
  assert_ok(store_number(&cache, 1, 1000));
  assert_ok(store_number(&cache, 2, 0));
  assert_ok(find_number(&cache, 1, 1000));
  assert_ok(find_number(&cache, 2, 0));
  assert_int_equal(find_number(&cache, 3, 0), KDL_NO_MATCH);
  assert_ok(store_number(&cache, 1, 50)); /* replaces */
  assert_ok(find_number(&cache, 1, 50));
  made_entry *made = make_entry(1, 0);
  kdl_cache_remove(&cache, made->entry.link_key);
  kdl_cache_remove(&cache, made->entry.link_key);
  free_entry(made);
  assert_int_equal(find_number(&cache, 1, 50), KDL_NO_MATCH);
  assert_int_equal(files_in(cache.dir), 1);
  end_cache(&cache);
}

static void modes_of_files(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  struct stat info;
  char path[4200];
  mode_t before = umask(0);
  assert_ok(store_number(&cache, 1, 10));
  umask(before);
  path_of(&cache, 1, path);
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 07777, 0600);
  assert_int_equal(stat(cache.dir, &info), 0);
  assert_int_equal(info.st_mode & 07777, 0700);
  end_cache(&cache);
}

/* ------------------------------------------------------------------------------------------ */
/* What is not believed                                                                         */

static void damaged_is_removed(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  char path[4200];
  path_of(&cache, 1, path);
  assert_ok(store_number(&cache, 1, 100));
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  for (off_t at = 0; at < info.st_size; ++at) {
    assert_ok(store_number(&cache, 1, 100));
    int fd = open(path, O_RDWR);
    char byte;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte = (char)~byte;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
    assert_int_equal(find_number(&cache, 1, 100), KDL_BAD_FILE);
    assert_int_equal(access(path, F_OK), -1);
  }
  end_cache(&cache);
}

/* A good entry under the name of another. */
static void renamed_is_noticed(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  char from[4200], to[4200], message[5000];
  assert_ok(store_number(&cache, 1, 100));
  path_of(&cache, 1, from);
  path_of(&cache, 2, to);
  assert_int_equal(rename(from, to), 0);
  snprintf(message, sizeof message, "%s: found the entry of another link key", to);
  assert_fails(find_number(&cache, 2, 100), KDL_BAD_FILE, message);
  assert_int_equal(access(to, F_OK), -1);
  end_cache(&cache);
}

static void lax_files_are_refused(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  char path[4200], message[5000];
  assert_ok(store_number(&cache, 1, 100));
  path_of(&cache, 1, path);
  chmod(path, 0644);
  snprintf(message, sizeof message, "%s: found mode 0644, expected 0600", path);
  assert_fails(find_number(&cache, 1, 100), KDL_IO, message);
  assert_ok(store_number(&cache, 1, 100)); /* replaced by one of ours */
  assert_ok(find_number(&cache, 1, 100));
  end_cache(&cache);
}

static void others_files_are_refused(void **state) {
  (void)state;
  if (geteuid() != 0)
    skip();
  kdl_cache_settings cache = new_cache();
  char path[4200], message[5000];
  assert_ok(store_number(&cache, 1, 100));
  path_of(&cache, 1, path);
  assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
  snprintf(message, sizeof message, "%s: found a file of user 12345, expected one of user 0", path);
  assert_fails(find_number(&cache, 1, 100), KDL_IO, message);
  assert_int_equal(chown(cache.dir, 12345, (gid_t)-1), 0);
  snprintf(message, sizeof message, "%s: found a folder of user 12345, expected one of user 0",
           cache.dir);
  assert_fails(find_number(&cache, 1, 100), KDL_IO, message);
  assert_fails(store_number(&cache, 2, 100), KDL_IO, message);
  end_cache(&cache);
}

static void open_folders_are_refused(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  char message[5000];
  assert_ok(store_number(&cache, 1, 100));
  chmod(cache.dir, 0777);
  snprintf(message, sizeof message,
           "%s: found mode 0777, expected a folder that no other user may write to; fix: chmod 700",
           cache.dir);
  assert_fails(find_number(&cache, 1, 100), KDL_IO, message);
  assert_fails(store_number(&cache, 2, 100), KDL_IO, message);
  chmod(cache.dir, 0700);
  assert_ok(find_number(&cache, 1, 100));
  end_cache(&cache);
}

/* Links, pipes and folders in an entry's place. */
static void only_files_are_read(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  char path[4200], other[4300], message[5000];
  assert_ok(store_number(&cache, 1, 100));
  path_of(&cache, 1, path);
  snprintf(other, sizeof other, "%s.elsewhere", path);
  assert_int_equal(rename(path, other), 0);
  assert_int_equal(symlink(other, path), 0);
  snprintf(message, sizeof message, "%s: cannot open: Too many levels of symbolic links", path);
  assert_fails(find_number(&cache, 1, 100), KDL_IO, message);
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  snprintf(message, sizeof message, "%s: found no regular file", path);
  assert_fails(find_number(&cache, 1, 100), KDL_BAD_FILE, message);
  unlink(path);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_fails(find_number(&cache, 1, 100), KDL_BAD_FILE, message);
  assert_int_equal(store_number(&cache, 1, 100), KDL_IO);
  end_cache(&cache);
}

/* ------------------------------------------------------------------------------------------ */
/* How much, how long                                                                           */

static void set_age(const kdl_cache_settings *cache, unsigned number, time_t seconds) {
  char path[4200];
  struct timespec times[2];
  path_of(cache, number, path);
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void oldest_go_first(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  for (unsigned i = 0; i < 10; ++i) {
    assert_ok(store_number(&cache, i, 1000));
    set_age(&cache, i, 1000 - i);
  }
  assert_ok(find_number(&cache, 0, 1000)); /* now the most recent */
  cache.limit = 5500;                      /* 5 entries of 1110 bytes are more */
  assert_ok(store_number(&cache, 10, 1000));
  static const unsigned kept[] = {0, 8, 9, 10};
  for (unsigned i = 0, k = 0; i <= 10; ++i) {
    bool stays = k < 4 && kept[k] == i;
    assert_int_equal(find_number(&cache, i, 1000), stays ? KDL_OK : KDL_NO_MATCH);
    k += stays;
  }
  kdl_cache_totals totals;
  assert_ok(kdl_cache_count(&cache, &totals));
  assert_int_equal(totals.entries, 4);
  assert_true(totals.bytes <= cache.limit);
  end_cache(&cache);
}

static void too_large_is_refused(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  assert_ok(store_number(&cache, 1, 100));
  cache.limit = 1000;
  assert_fails(store_number(&cache, 2, 1000), KDL_NO_MEMORY,
               "an entry of 1110 bytes is more than KDL_CACHE_SIZE, which is 1000");
  assert_ok(find_number(&cache, 1, 100));
  end_cache(&cache);
}

static void make_file(const kdl_cache_settings *cache, const char *name, time_t age) {
  char path[4300];
  struct timespec times[2];
  snprintf(path, sizeof path, "%s/%s", cache->dir, name);
  int fd = open(path, O_WRONLY | O_CREAT, 0600);
  assert_int_equal(write(fd, "1234567890", 10), 10);
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= age;
  times[1] = times[0];
  futimens(fd, times);
  close(fd);
}

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static bool is_there(const kdl_cache_settings *cache, const char *name) {
  char path[4300];
  snprintf(path, sizeof path, "%s/%s", cache->dir, name);
  return access(path, F_OK) == 0;
}

/* Stale temporaries are removed after an hour; files that are not the cache's are never touched. */
static void litter_goes(void **state) {
  (void)state;
  static const char *const foreign[] = {"notes.txt", "0123.kdl", KEY, KEY ".kdl~", KEY ".0123.tmp"};
  kdl_cache_settings cache = new_cache();
  assert_ok(store_number(&cache, 1, 100));
  make_file(&cache, KEY ".0123456789abcdef.tmp", 3700);
  make_file(&cache, KEY ".fedcba9876543210.tmp", 10);
  make_file(&cache, KEY ".lock", 3700);
  for (size_t i = 0; i < 5; ++i)
    make_file(&cache, foreign[i], 100000);
  kdl_cache_totals totals;
  assert_ok(kdl_cache_count(&cache, &totals));
  assert_int_equal(totals.entries, 1);
  assert_int_equal(totals.other, 3);
  assert_int_equal(totals.other_bytes, 30);
  assert_ok(store_number(&cache, 2, 100));
  assert_false(is_there(&cache, KEY ".0123456789abcdef.tmp"));
  assert_true(is_there(&cache, KEY ".fedcba9876543210.tmp"));
  assert_false(is_there(&cache, KEY ".lock"));
  assert_ok(kdl_cache_clear(&cache, &totals));
  assert_int_equal(totals.entries, 2);
  assert_int_equal(totals.other, 1);
  for (size_t i = 0; i < 5; ++i)
    assert_true(is_there(&cache, foreign[i]));
  assert_int_equal(files_in(cache.dir), 5);
  end_cache(&cache);
}

/* ------------------------------------------------------------------------------------------ */
/* Read-only                                                                                    */

static void read_only_changes_nothing(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  char path[4200];
  struct stat before, after;
  assert_ok(store_number(&cache, 1, 100));
  set_age(&cache, 1, 5000);
  path_of(&cache, 1, path);
  assert_int_equal(stat(path, &before), 0);
  cache.mode = KDL_CACHE_READ_ONLY;
  assert_ok(find_number(&cache, 1, 100));
  assert_int_equal(stat(path, &after), 0);
  assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
  assert_int_equal(truncate(path, 100), 0);
  assert_int_equal(find_number(&cache, 1, 100), KDL_BAD_FILE);
  assert_int_equal(access(path, F_OK), 0);
  cache.mode = KDL_CACHE_ON;
  assert_int_equal(find_number(&cache, 1, 100), KDL_BAD_FILE);
  assert_int_equal(access(path, F_OK), -1);
  end_cache(&cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stored_is_found),
      cmocka_unit_test(modes_of_files),
      cmocka_unit_test(damaged_is_removed),
      cmocka_unit_test(renamed_is_noticed),
      cmocka_unit_test(lax_files_are_refused),
      cmocka_unit_test(others_files_are_refused),
      cmocka_unit_test(open_folders_are_refused),
      cmocka_unit_test(only_files_are_read),
      cmocka_unit_test(oldest_go_first),
      cmocka_unit_test(too_large_is_refused),
      cmocka_unit_test(litter_goes),
      cmocka_unit_test(read_only_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
