/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The cache with processes that write, read, die and clear at once, and on failing disks. */
#include "cache_support.h"

#include "ext/jit/cache/claim.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { numbers = 8 };

/* Sizes depend on the number alone, so that a reader knows what to expect. */
static size_t size_of(unsigned number) {
  return number * number * 3000 + 1;
}

static unsigned next_random(unsigned *state) {
  *state = *state * 1103515245 + 12345;
  return *state >> 16;
}

/* Also for children, where cmocka's asserts would run the rest of the parent's tests. */
#define expect(holds)                                                                              \
  do {                                                                                             \
    if (!(holds)) {                                                                                \
      fprintf(stderr, "line %d: expected %s; %s\n", __LINE__, #holds, kdl_error_message());        \
      _exit(1);                                                                                    \
    }                                                                                              \
  } while (0)

/* Right, or not there. */
static void check_number(const kdl_cache_settings *cache, unsigned number) {
  made_entry *made = make_entry(number, size_of(number));
  kdl_cache_hit found;
  kdl_status status = kdl_cache_find(cache, made->entry.link_key, &found);
  if (status == KDL_OK) {
    expect(found.entry.image_size == made->entry.image_size);
    expect(memcmp(found.entry.image, made->image, found.entry.image_size) == 0);
    kdl_cache_hit_free(&found);
  } else {
    expect(status == KDL_NO_MATCH);
  }
  free_entry(made);
}

static void check_all(const kdl_cache_settings *cache) {
  for (unsigned i = 0; i < numbers; ++i)
    check_number(cache, i);
}

static void wait_for(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* ------------------------------------------------------------------------------------------ */

static void killed_at_any_moment(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  cache.limit = 2000000; /* so that some go while others come */
  unsigned seed = 1;
  size_t left = 0;
  for (unsigned round = 0; round < rounds_of(150, 4); ++round) {
    pid_t child = fork();
    if (child == 0) {
      for (unsigned i = round;; ++i)
        expect(store_number(&cache, i % numbers, size_of(i % numbers)) == KDL_OK);
    }
    usleep(next_random(&seed) % 4000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    check_all(&cache);
    left = files_in(cache.dir);
  }
  kdl_cache_totals totals;
  assert_ok(kdl_cache_count(&cache, &totals));
  assert_true(totals.entries > 0);
  assert_int_equal(totals.entries + totals.other, left);
  print_message("%zu entries, %zu files left half written\n", totals.entries, totals.other);
  end_cache(&cache);
}

static void many_at_once(void **state) {
  (void)state;
  enum { processes = 20, rounds = 60 };
  kdl_cache_settings cache = new_cache();
  cache.limit = 300000;
  pid_t children[processes];
  for (unsigned p = 0; p < processes; ++p) {
    children[p] = fork();
    if (children[p] == 0) {
      unsigned seed = p;
      for (unsigned i = 0; i < rounds_of(rounds, 4); ++i) {
        unsigned number = next_random(&seed) % numbers;
        if (next_random(&seed) % 3)
          check_number(&cache, number);
        else
          expect(store_number(&cache, number, size_of(number)) == KDL_OK);
      }
      _exit(0);
    }
  }
  for (unsigned p = 0; p < processes; ++p)
    wait_for(children[p]);
  kdl_cache_totals totals;
  assert_ok(kdl_cache_count(&cache, &totals));
  assert_int_equal(totals.other, 0);
  assert_true(totals.bytes <= cache.limit);
  end_cache(&cache);
}

/* Another process clears the cache, and removes its folder, all the time. */
static void folder_vanishes(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  pid_t child = fork();
  if (child == 0) {
    for (;;) {
      remove_folder(cache.dir);
      usleep(200);
    }
  }
  size_t stored = 0, refused = 0;
  for (unsigned i = 0; i < rounds_of(2000, 40); ++i) {
    if (store_number(&cache, i % 4, size_of(i % 4)) == KDL_OK)
      ++stored;
    else
      ++refused;
    check_number(&cache, i % 4);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  assert_true(stored > 0);
  print_message("%zu stored, %zu refused\n", stored, refused);
  assert_ok(store_number(&cache, 1, size_of(1)));
  assert_ok(find_number(&cache, 1, size_of(1)));
  end_cache(&cache);
}

/* ------------------------------------------------------------------------------------------ */
/* Disks that refuse                                                                            */

/* Runs in a child with mounts of its own; skips where the system forbids that. */
static void in_own_mounts(void (*body)(const char *folder)) {
  enum { cannot = 99 };
  char folder[] = "/tmp/kdl-mount-XXXXXX";
  assert_non_null(mkdtemp(folder));
  pid_t child = fork();
  if (child == 0) {
    int flags = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (unshare(flags) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=64k,mode=0700") != 0)
      _exit(cannot);
    body(folder);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  rmdir(folder);
  if (WIFEXITED(status) && WEXITSTATUS(status) == cannot) {
    print_message("skipped: this process may not mount a tmpfs\n");
    skip();
  }
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static kdl_cache_settings cache_at(const char *folder) {
  kdl_cache_settings cache = {.mode = KDL_CACHE_ON, .limit = KDL_CACHE_DEFAULT_LIMIT};
  snprintf(cache.dir, sizeof cache.dir, "%s/cache", folder);
  return cache;
}

static void fill_disk(const char *folder) {
  kdl_cache_settings cache = cache_at(folder);
  kdl_cache_totals totals;
  expect(store_number(&cache, 1, 1000) == KDL_OK);
  expect(store_number(&cache, 2, 100000) == KDL_IO);
  expect(strstr(kdl_error_message(), "cache: cannot write: No space left on device"));
  expect(kdl_cache_count(&cache, &totals) == KDL_OK);
  expect(totals.entries == 1 && totals.other == 0);
  made_entry *made = make_entry(1, 1000);
  kdl_cache_hit found;
  expect(kdl_cache_find(&cache, made->entry.link_key, &found) == KDL_OK);
}

static void disk_is_full(void **state) {
  (void)state;
  in_own_mounts(fill_disk);
}

static void make_read_only(const char *folder) {
  kdl_cache_settings cache = cache_at(folder);
  expect(store_number(&cache, 1, 1000) == KDL_OK);
  char path[4200];
  path_of(&cache, 1, path);
  expect(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, "size=64k") == 0);
  expect(store_number(&cache, 2, 1000) == KDL_IO);
  expect(strstr(kdl_error_message(), "cache: cannot create a file: Read-only file system"));
  made_entry *made = make_entry(1, 1000);
  kdl_cache_hit found;
  expect(kdl_cache_find(&cache, made->entry.link_key, &found) == KDL_OK);
  kdl_cache_settings absent = cache;
  strcat(absent.dir, "/below");
  expect(store_number(&absent, 2, 1000) == KDL_IO);
  expect(strstr(kdl_error_message(), "below: cannot make the folder: Read-only file system"));
}

static void disk_is_read_only(void **state) {
  (void)state;
  in_own_mounts(make_read_only);
}

/* A limit on the size of files: an error like any other, and not the signal. */
static void files_are_limited(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  pid_t child = fork();
  if (child == 0) {
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){5000, 5000});
    expect(store_number(&cache, 1, 1000) == KDL_OK);
    expect(store_number(&cache, 2, 10000) == KDL_IO);
    expect(strstr(kdl_error_message(), "cannot write: File too large"));
    expect(files_in(cache.dir) == 1);
    _exit(0);
  }
  wait_for(child);
  end_cache(&cache);
}

/* ------------------------------------------------------------------------------------------ */
/* Claims                                                                                       */

static void claims_are_exclusive(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  kdl_string link_key = {"q", 1}, other = {"r", 1};
  bool waited;
  kdl_cache_claim first = kdl_cache_claim_acquire(&cache, link_key, 10000, &waited);
  if (first.folder < 0) {
    print_message("skipped: the folder of temporary files is on a network\n");
    skip();
  }
  assert_false(waited);
  kdl_cache_claim none = kdl_cache_claim_acquire(&cache, link_key, 20, &waited);
  assert_int_equal(none.folder, -1);
  assert_true(waited);
  kdl_cache_claim beside = kdl_cache_claim_acquire(&cache, other, 20, &waited);
  assert_int_not_equal(beside.folder, -1);
  assert_false(waited);
  kdl_cache_claim_release(&none);
  kdl_cache_claim_release(&beside);
  kdl_cache_claim_release(&first);
  assert_int_equal(files_in(cache.dir), 0);
  first = kdl_cache_claim_acquire(&cache, link_key, 20, &waited);
  assert_int_not_equal(first.folder, -1);
  kdl_cache_claim_release(&first);
  end_cache(&cache);
}

/* The dead hold nothing. */
static void claims_end_with_their_process(void **state) {
  (void)state;
  kdl_cache_settings cache = new_cache();
  kdl_string link_key = {"q", 1};
  bool waited;
  int pipe_ends[2];
  char byte;
  assert_int_equal(pipe(pipe_ends), 0);
  pid_t child = fork();
  if (child == 0) {
    kdl_cache_claim_acquire(&cache, link_key, 0, &waited);
    expect(write(pipe_ends[1], "x", 1) == 1);
    pause();
  }
  assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  kdl_cache_claim claim = kdl_cache_claim_acquire(&cache, link_key, 0, &waited);
  assert_false(waited);
  kdl_cache_claim_release(&claim);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  end_cache(&cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(killed_at_any_moment), cmocka_unit_test(many_at_once),
      cmocka_unit_test(folder_vanishes),      cmocka_unit_test(disk_is_full),
      cmocka_unit_test(disk_is_read_only),    cmocka_unit_test(files_are_limited),
      cmocka_unit_test(claims_are_exclusive), cmocka_unit_test(claims_end_with_their_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
