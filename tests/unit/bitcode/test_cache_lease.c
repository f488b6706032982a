/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Leases: one process creates an entry that many machines need; one that dies is replaced. */
#include "cache_support.h"

#include "ext/jit/cache/claim.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static const kdl_string key = {"device host\n", 12};

static kdl_cache_settings shared_cache(void) {
  kdl_cache_settings cache = new_cache();
  cache.sharing = KDL_CACHE_SHARED;
  return cache;
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool never(void *user) {
  (void)user;
  return false;
}

/* Yes from the `count`-th time on that it is asked. */
static bool after(void *user) {
  int *count = user;
  return --*count <= 0;
}

static void lease_path(const kdl_cache_settings *cache, char path[4200]) {
  char name[KDL_CACHE_NAME];
  kdl_cache_name(key, ".lease", name);
  snprintf(path, 4200, "%s/%s", cache->dir, name);
}

static void write_lease(const kdl_cache_settings *cache, const char *word) {
  char path[4200];
  int folder = kdl_cache_folder_make(cache->dir, cache->sharing);
  assert_true(folder >= 0);
  close(folder);
  lease_path(cache, path);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(word, file);
  assert_int_equal(fclose(file), 0);
}

static void one_holds_it(void **state) {
  (void)state;
  kdl_cache_settings cache = shared_cache();
  kdl_cache_lease first, second;
  assert_false(kdl_cache_lease_acquire(&cache, key, 10000, 10000, never, NULL, &first));
  assert_true(first.is_held);
  assert_int_equal(files_in(cache.dir), 1);
  int64_t begin = now_ms();
  assert_false(kdl_cache_lease_acquire(&cache, key, 10000, 50, never, NULL, &second));
  assert_false(second.is_held);
  assert_true(now_ms() - begin >= 50);
  kdl_cache_lease_release(&first);
  assert_int_equal(files_in(cache.dir), 0);
  assert_false(kdl_cache_lease_acquire(&cache, key, 10000, 10000, never, NULL, &second));
  assert_true(second.is_held);
  kdl_cache_lease_release(&second);
  end_cache(&cache);
}

/* The entry comes while the holder has the lease, or before it could be had. */
static void entry_ends_the_wait(void **state) {
  (void)state;
  kdl_cache_settings cache = shared_cache();
  kdl_cache_lease lease;
  int asked = 3;
  write_lease(&cache, "another-boot 1 1 0000");
  assert_true(kdl_cache_lease_acquire(&cache, key, 10000, 10000, after, &asked, &lease));
  assert_false(lease.is_held);
  char path[4200];
  lease_path(&cache, path);
  assert_int_equal(unlink(path), 0);
  asked = 1;
  assert_true(kdl_cache_lease_acquire(&cache, key, 10000, 10000, after, &asked, &lease));
  assert_false(lease.is_held);
  assert_int_equal(files_in(cache.dir), 0);
  end_cache(&cache);
}

/* A holder on another machine, or one without a token, that does not renew its lease. */
static void lease_expires(void **state) {
  (void)state;
  static const char *const words[] = {"another-boot 1 1 0000", ""};
  for (size_t i = 0; i < 2; ++i) {
    kdl_cache_settings cache = shared_cache();
    kdl_cache_lease lease;
    write_lease(&cache, words[i]);
    int64_t begin = now_ms();
    assert_false(kdl_cache_lease_acquire(&cache, key, 60, 10000, never, NULL, &lease));
    assert_true(lease.is_held);
    assert_true(now_ms() - begin >= 60);
    assert_true(now_ms() - begin < 5000);
    kdl_cache_lease_release(&lease);
    end_cache(&cache);
  }
}

/* A holder of this machine that was killed is not waited for. */
static void dead_holder_is_known(void **state) {
  (void)state;
  kdl_cache_settings cache = shared_cache();
  kdl_cache_lease lease;
  pid_t child = fork();
  if (child == 0) {
    kdl_cache_lease_acquire(&cache, key, 10000, 10000, never, NULL, &lease);
    kill(getpid(), SIGKILL);
  }
  waitpid(child, NULL, 0);
  assert_int_equal(files_in(cache.dir), 1);
  int64_t begin = now_ms();
  assert_false(kdl_cache_lease_acquire(&cache, key, 10000, 10000, never, NULL, &lease));
  assert_true(lease.is_held);
  assert_true(now_ms() - begin < 5000);
  kdl_cache_lease_release(&lease);
  end_cache(&cache);
}

/* One that was taken for dead comes back: the lease is its successor's. */
static void successor_keeps_its_lease(void **state) {
  (void)state;
  kdl_cache_settings cache = shared_cache();
  kdl_cache_lease lease;
  assert_false(kdl_cache_lease_acquire(&cache, key, 10000, 10000, never, NULL, &lease));
  write_lease(&cache, "another-boot 1 1 0000");
  kdl_cache_lease_release(&lease);
  assert_int_equal(files_in(cache.dir), 1);
  end_cache(&cache);
}

/* Where no lease can be had, nothing is waited for. */
static void refused_folder(void **state) {
  (void)state;
  kdl_cache_settings cache = shared_cache(), refused = cache;
  kdl_cache_lease lease;
  strcpy(refused.dir, "/proc/kdl");
  assert_false(kdl_cache_lease_acquire(&refused, key, 10000, 10000, never, NULL, &lease));
  assert_false(lease.is_held);
  end_cache(&cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_holds_it),
      cmocka_unit_test(entry_ends_the_wait),
      cmocka_unit_test(lease_expires),
      cmocka_unit_test(dead_holder_is_known),
      cmocka_unit_test(successor_keeps_its_lease),
      cmocka_unit_test(refused_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
