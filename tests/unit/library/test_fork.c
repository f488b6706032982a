/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Forks while other threads run libkdl: host calls work in the child, and nothing hangs. */
#include "launch_support.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

/* ThreadSanitizer maps more memory for every image that is loaded, until the kernel refuses to copy
 * it. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FORKS 15
#endif
#endif
#ifndef FORKS
#define FORKS 150
#endif

enum { threads = 6, patience_s = 20 };

static const host_row rows[] = {
    {"mark1", 3000, NULL, "9", NULL, NULL}, /* cut: is left behind */
    {"mark2", 0, NULL, "5", NULL, NULL},
    {"mark3", 0, NULL, "1", "kdl.kernel.mark", "sig=ptr<u32> u32"},
};

static host_library made;
static atomic_bool stop;
static atomic_uint rounds;

/* Opens, ranks, loads, launches and closes; 0 where all of it works. */
static int use_all(unsigned number) {
  kdl_library *lib = NULL;
  kdl_device *host = NULL, *picked = NULL, *described = NULL;
  kdl_kernel *mark = NULL;
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  kdl_kernel_info info = {.size = sizeof info};
  uint32_t out[100], n = 100, *to = out;
  char spec[64];
  snprintf(spec, sizeof spec, "cuda:sm_90 units=%u", number % 64 + 1);
  bool good = kdl_open_memory(made.data, made.size, &opts, &lib) == KDL_OK &&
              kdl_device_find("host", &host) == KDL_OK &&
              kdl_device_find(spec, &described) == KDL_OK &&
              kdl_device_for(lib, "mark", NULL, &picked) == KDL_OK && picked == host &&
              kdl_sym(lib, host, "mark", NULL, &mark) == KDL_OK && kdl_prefetch(mark) == KDL_OK &&
              kdl_kernel_get(mark, &info) == KDL_OK &&
              kdl_launch_items(mark, NULL, kdl_extent1(n), KDL_ARGS(&to, &n)) == KDL_OK &&
              out[99] % 1000000 == 99;
  if (!good)
    fprintf(stderr, "round %u: %s\n", number, kdl_error_message());
  kdl_close(lib);
  return good ? 0 : 1;
}

static void *hammer(void *user) {
  unsigned number = (unsigned)(uintptr_t)user;
  while (!atomic_load(&stop)) {
    if (use_all(number++) != 0)
      return user;
    atomic_fetch_add(&rounds, 1);
  }
  return NULL;
}

static void host_calls_work_in_the_child(void **state) {
  (void)state;
  made = make_library(rows, 3);
  pthread_t thread[threads];
  for (size_t i = 0; i < threads; ++i)
    assert_int_equal(pthread_create(&thread[i], NULL, hammer, (void *)(i * 1000 + 1)), 0);
  while (atomic_load(&rounds) == 0)
    usleep(100);
  for (unsigned i = 0; i < rounds_of(FORKS, 2); ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(patience_s);
      int wrong = 0;
      for (unsigned k = 0; k < 3; ++k)
        wrong += use_all(k);
      _exit(wrong);
    }
    if (child < 0)
      fail_msg("fork %u: %s", i, strerror(errno));
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
      fail_msg("child %u ended with status 0x%x", i, status);
  }
  atomic_store(&stop, true);
  for (size_t i = 0; i < threads; ++i) {
    void *failed;
    pthread_join(thread[i], &failed);
    assert_null(failed);
  }
  free_rows(&made);
}

/* ------------------------------------------------------------------------------------------ */

static pid_t forked = -1;

static void fork_once(void *user, const char *topic, const char *line) {
  (void)user, (void)topic, (void)line;
  if (forked < 0 && strncmp(line, "found ", 6) == 0)
    forked = fork();
}

/* From a callback, where locks are held: the child gets an error, and does not hang. */
static void a_fork_from_inside_is_told(void **state) {
  (void)state;
  kdl_device *device;
  kdl_set_log("devices", fork_once, NULL);
  kdl_status status = kdl_device_find("host", &device);
  if (forked == 0) {
    alarm(patience_s);
    int wrong = kdl_device_find("cuda", &device) != KDL_DEVICE;
    wrong += strcmp(kdl_error_message(),
                    "this process was forked while a thread was inside libkdl, and what it held "
                    "stays locked: start the child with exec") != 0;
    _exit(wrong);
  }
  kdl_set_log(NULL, NULL, NULL);
  assert_ok(status);
  assert_true(forked > 0);
  int ended = -1;
  assert_int_equal(waitpid(forked, &ended, 0), forked);
  assert_int_equal(ended, 0);
}

/* ------------------------------------------------------------------------------------------ */

static kdl_queue *captured;
static uint32_t number;

static kdl_status record(void) {
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)&number, sizeof number);
  return kdl_write(captured, &buffer, 0, &number, sizeof number);
}

static atomic_bool records;

static void *record_on(void *user) {
  while (!atomic_load(&stop)) {
    if (!atomic_load(&records))
      usleep(10);
    else if (record() != KDL_OK)
      return user;
  }
  return NULL;
}

/* Recording into a capture is short: a fork waits for it. */
static void a_capture_goes_on_in_the_child(void **state) {
  (void)state;
  pthread_t thread;
  kdl_sequence *sequence;
  void *failed;
  atomic_store(&stop, false);
  assert_ok(kdl_queue_create(the_host(), NULL, &captured));
  assert_ok(kdl_capture_begin(captured));
  assert_int_equal(pthread_create(&thread, NULL, record_on, &number), 0);
  for (unsigned i = 0; i < rounds_of(FORKS / 5, 2); ++i) {
    atomic_store(&records, true); /* only now: a sequence has its limits */
    usleep(200);
    pid_t child = fork();
    atomic_store(&records, false);
    if (child == 0) {
      alarm(patience_s);
      _exit(record() != KDL_OK || kdl_capture_end(captured, &sequence) != KDL_OK);
    }
    int ended = -1;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
  }
  atomic_store(&stop, true);
  pthread_join(thread, &failed);
  assert_null(failed);
  assert_ok(kdl_capture_end(captured, &sequence));
  kdl_sequence_destroy(sequence);
  kdl_queue_destroy(captured);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fork_from_inside_is_told), /* the first, while nothing was found */
      cmocka_unit_test(host_calls_work_in_the_child),
      cmocka_unit_test(a_capture_goes_on_in_the_child),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
