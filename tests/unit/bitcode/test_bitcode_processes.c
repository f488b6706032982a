/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Many processes that link the same image, that are killed while linking, or that have more rights
 * than their user. */
#include "bitcode_support.h"

#include "ext/jit/cache/claim.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <time.h>

extern char **environ;

static char self[PATH_MAX];

/* The work of a process that is started with "work": its exit status is the variant that ran. */
static int do_work(void) {
  assert_int_equal(run_rows(with_fallback, 2), 3);
  return 33;
}

/* As it would be in a program with more rights than its user. */
static int do_secure_work(const char *library) {
  kdl_cache_settings settings;
  kdl_library *lib;
  assert_ok(kdl_open(library, NULL, &lib));
  kdl_kernel_info info = info_of(kernel_named(lib, "mark"));
  assert_int_equal(info.image, 1); /* bitcode is not even asked for */
  assert_int_equal(info.image_count, 1);
  assert_ok(kdl_cache_settings_read(&settings));
  assert_int_equal(settings.mode, KDL_CACHE_OFF);
  return 34;
}

static pid_t start_with(const char *program, const char *word, const char *library) {
  char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)word,
                       (char *)(uintptr_t)library, NULL};
  pid_t child;
  assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
  return child;
}

static pid_t start(const char *program, const char *word) {
  return start_with(program, word, NULL);
}

static int wait_for(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ------------------------------------------------------------------------------------------ */

static void a_hundred_at_once(void **state) {
  (void)state;
  enum { most = 100 };
  const unsigned processes = rounds_of(most, 4);
  pid_t children[most];
  setenv("KDL_FAKE_LD", "slow", 1);
  for (size_t i = 0; i < processes; ++i)
    children[i] = start(self, "work");
  for (size_t i = 0; i < processes; ++i)
    assert_int_equal(wait_for(children[i]), 33);
  print_message("%u processes, %zu linked\n", processes, runs());
  assert_int_equal(files_in(cache_path), 1);
  kdl_cache_settings settings;
  assert_ok(kdl_cache_settings_read(&settings));
  bool waited;
  kdl_cache_claim claim = kdl_cache_claim_acquire(&settings, (kdl_string){"", 0}, 0, &waited);
  if (claim.folder >= 0)
    assert_int_equal(runs(), 1);
  kdl_cache_claim_release(&claim);
}

/* Killed before, while and after the image is linked, loaded and stored: the next process gets
 * what is right. */
static void killed_at_any_moment(void **state) {
  (void)state;
  unsigned seed = 7;
  size_t killed = 0, finished = 0;
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  assert_int_equal(wait_for(start(self, "work")), 33);
  clock_gettime(CLOCK_MONOTONIC, &after);
  long whole = (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
  for (unsigned round = 0; round < rounds_of(80, 4); ++round) {
    if (round % 4 == 0)
      remove_folder(cache_path);
    pid_t child = start(self, "work");
    seed = seed * 1103515245 + 12345;
    usleep((seed >> 16) % (unsigned)(whole + whole / 4));
    kill(child, SIGKILL);
    int end = wait_for(child);
    assert_true(end == -SIGKILL || end == 33);
    killed += end == -SIGKILL;
    finished += end == 33;
    assert_int_equal(run_rows(with_fallback, 2), 3);
  }
  print_message("%zu killed, %zu were faster\n", killed, finished);
  kdl_cache_settings settings;
  kdl_cache_totals totals;
  assert_ok(kdl_cache_settings_read(&settings));
  assert_ok(kdl_cache_count(&settings, &totals));
  assert_int_equal(totals.entries, 1);
}

/* The linker's end is the linker's alone. */
static void linkers_killed_at_any_moment(void **state) {
  (void)state;
  unsigned seed = 7;
  setenv("KDL_FAKE_LD", "slow", 1);
  for (unsigned round = 0; round < rounds_of(20, 2); ++round) {
    remove_folder(cache_path);
    pid_t killer = fork();
    if (killer == 0) {
      seed = seed * 1103515245 + 12345 + round;
      usleep((seed >> 16) % 50000);
      /* The child of our parent that is not us. */
      char path[64], text[512] = "";
      snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
      int fd = open(path, O_RDONLY);
      if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) {
        for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
          if (atoi(word) != (int)getpid())
            kill(atoi(word), SIGKILL);
        }
      }
      _exit(0);
    }
    uint32_t variant = run_rows(with_fallback, 2);
    assert_true(variant == 3 || variant == 1);
    waitpid(killer, NULL, 0);
    begin_test(state);
    assert_int_equal(run_rows(with_fallback, 2), 3);
    setenv("KDL_FAKE_LD", "slow", 1);
  }
}

static void write_beside(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* A copy of this program that belongs to another user and runs with that user's rights: root can
 * make one, unless the file system is mounted so that it has no effect. */
static void secure_programs_link_nothing(void **state) {
  (void)state;
  char copy[128], library[128];
  size_t size;
  if (geteuid() != 0) {
    print_message("skipped: only root can make a set-user-ID program of another user\n");
    skip();
  }
  snprintf(copy, sizeof copy, "%s/secure", work);
  uint8_t *data = read_file(self, &size);
  write_beside(copy, data, size);
  free(data);
  snprintf(library, sizeof library, "%s/library", work); /* where another user can read it */
  mixed_library made = open_mixed(with_fallback, 2);
  write_beside(library, made.data, made.size);
  free_mixed(&made);
  assert_int_equal(chmod(work, 0755), 0);
  assert_int_equal(chown(copy, 12345, 12345), 0);
  assert_int_equal(chmod(copy, 06755), 0);
  int probe = wait_for(start(copy, "is-secure"));
  if (probe != 1) {
    print_message("skipped: set-user-ID bits have no effect in /tmp (%d)\n", probe);
    skip();
  }
  assert_int_equal(wait_for(start_with(copy, "secure", library)), 34);
  assert_int_equal(runs(), 0);
  assert_int_equal(files_in(cache_path), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, begin_test)

int main(int argc, char **argv) {
  /* _exit: a leak sanitizer does not work in secure programs. */
  if (argc > 1 && strcmp(argv[1], "is-secure") == 0)
    _exit(secure_getenv("PATH") == NULL && getenv("PATH") != NULL);
  if (argc > 2 && strcmp(argv[1], "secure") == 0)
    _exit(do_secure_work(argv[2]));
  if (argc > 1)
    return do_work();
  if (!realpath("/proc/self/exe", self))
    return 1;
  const struct CMUnitTest tests[] = {
      TEST(a_hundred_at_once),
      TEST(killed_at_any_moment),
      TEST(linkers_killed_at_any_moment),
      TEST(secure_programs_link_nothing),
  };
  return cmocka_run_group_tests(tests, make_work, end_work);
}
