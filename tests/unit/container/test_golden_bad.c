/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Every file in tests/golden/bad is refused with its message in EXPECTED, and costs less than 1 MiB
 * beyond a few small good files. Files too large to commit are created as sparse files.
 */
#include "support.h"

#include "support/base/bytes.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

enum { memory_limit_kib = 1024 };

typedef struct {
  kdl_status status;
  char message[2048];
  double cpu_ms;
} outcome;

static double slowest_ms;
static char slowest_name[256];

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static kdl_status read_everything(const char *path, const char *name) {
  kdl_library *lib = NULL;
  kdl_open_opts opts = {.size = sizeof opts, .name = name};
  kdl_status status = kdl_open(path, &opts, &lib);
  for (size_t i = 0; status == KDL_OK && i < kdl_image_count(lib); ++i) {
    const void *data;
    size_t size;
    status = kdl_image_bytes(lib, i, &data, &size);
  }
  kdl_close(lib);
  return status;
}

/* Opens `path` in a child and returns the child's peak memory. Good files go first in every child,
 * so that what the codecs' own code and tables take is not held against the bad one. */
static long open_in_child(const char *path, const char *name, outcome *shared) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    read_everything(KDL_TEST_DATA "/bundle/v3.ccob", "good");
    read_everything(KDL_TEST_DATA "/offload/v3_zlib.offload", "good");
    read_everything(KDL_TEST_DATA "/fatbin/lz4.fatbin", "good");
    double start = cpu_ms();
    if (path) {
      shared->status = read_everything(path, name);
      snprintf(shared->message, sizeof shared->message, "%s", kdl_error_message());
    }
    shared->cpu_ms = cpu_ms() - start;
    _exit(0);
  }
  int status;
  struct rusage usage;
  assert_int_equal(wait4(child, &status, 0, &usage), child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail_msg("%s: the child died with wait status %d", name, status);
  return usage.ru_maxrss;
}

static void expect_refused(const char *path, const char *name, kdl_status status,
                           const char *message) {
  outcome *shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(shared != MAP_FAILED);
  long empty = open_in_child(NULL, name, shared);
  long used = open_in_child(path, name, shared);
  if (shared->status != status || strcmp(shared->message, message) != 0)
    fail_msg("%s: status %d, \"%s\"\nexpected %d, \"%s\"", name, (int)shared->status,
             shared->message, (int)status, message);
#ifndef SANITIZED
  if (used - empty > memory_limit_kib)
    fail_msg("%s: took %ld KiB, expected at most %d", name, used - empty, memory_limit_kib);
#else
  (void)used, (void)empty;
#endif
  if (shared->cpu_ms > slowest_ms) {
    slowest_ms = shared->cpu_ms;
    snprintf(slowest_name, sizeof slowest_name, "%s", name);
  }
  munmap(shared, sizeof *shared);
}

/* EXPECTED has a line per file: name, status number and message, separated by tabs. */
static void every_bad_file_is_refused(void **state) {
  (void)state;
  FILE *list = fopen(KDL_TEST_DATA "/bad/EXPECTED", "r");
  assert_non_null(list);
  char line[4096];
  size_t count = 0;
  while (fgets(line, sizeof line, list)) {
    char *name = strtok(line, "\t");
    char *status = strtok(NULL, "\t");
    char *message = strtok(NULL, "\n");
    assert_non_null(message);
    char path[1024];
    snprintf(path, sizeof path, "%s/bad/%s", KDL_TEST_DATA, name);
    expect_refused(path, name, (kdl_status)atoi(status), message);
    ++count;
  }
  fclose(list);
  assert_true(count >= 60);
  print_message("%zu files; the slowest, %s, took %.2f ms of CPU time\n", count, slowest_name,
                slowest_ms);
}

/* A sparse file of a gigabyte: a good header with that length. */
static void make_sparse(char *path, const char *golden, size_t at, uint64_t value, uint64_t total) {
  strcpy(path, "/tmp/kdl-sparse-XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  size_t size;
  uint8_t *data = read_golden(golden, &size);
  kdl_store_u64(data + 8, total);
  kdl_store_u64(data + at, value);
  assert_int_equal(write(fd, data, size), size);
  assert_int_equal(ftruncate(fd, (off_t)total), 0);
  free(data);
  close(fd);
}

static void a_gigabyte_of_strings_is_refused(void **state) {
  (void)state;
  const uint64_t gigabyte = (uint64_t)1 << 30;
  char path[64];
  make_sparse(path, "offload/v1_one.offload", 48, gigabyte / 16 - 100, gigabyte);
  expect_refused(path, "pairs", KDL_BAD_FILE,
                 "pairs: offset 0x30: NumStrings: found 67108764, expected at most 65536");
  unlink(path);
  make_sparse(path, "offload/v2_three.offload", 168, gigabyte - 1000, gigabyte);
  expect_refused(path, "value", KDL_BAD_FILE,
                 "value: offset 0xa8: ValueSize: found 1073740824, expected at most 1048576");
  unlink(path);
  make_sparse(path, "offload/v2_three.offload", 24, gigabyte / 40 - 100, gigabyte);
  expect_refused(path, "entries", KDL_BAD_FILE,
                 "entries: offset 0x18: EntriesCount: found 26843445, expected at most 1048576");
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_bad_file_is_refused),
      cmocka_unit_test(a_gigabyte_of_strings_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
