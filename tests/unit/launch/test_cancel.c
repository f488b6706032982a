/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that are cancelled in libkdl, and processes that fork within a loop of it: their work
 * completes, and the pool continues. test_null.c covers every function. */
#include "launch_support.h"

#include <kdl/extension.h>
#include <kdl/launch.h>

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

enum { iterations = 64, rounds = 50, many = 1 << 20 };

static const host_row rows[] = {{"mark1", 0, NULL, NULL, NULL, NULL}};
static const uint32_t count = many;

static void sleep_us(long us) {
  nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* The state of cancellation is the thread's own again. */
static bool can_be_cancelled(void) {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
  return state == PTHREAD_CANCEL_ENABLE;
}

static void *join(pthread_t thread) {
  void *result;
  assert_int_equal(pthread_join(thread, &result), 0);
  return result;
}

/* ------------------------------------------------------------------------------------------ */
/* A pool that is waited for                                                                    */

static atomic_uint done, begun;

/* In any thread: a cancellation point in each iteration. */
static void take_a_while(void *context, uint64_t index) {
  (void)context, (void)index;
  atomic_fetch_add(&begun, 1);
  sleep_us(200);
  atomic_fetch_add(&done, 1);
}

static void *loop(void *went_on) {
  if (kdl_host_parallel(iterations, take_a_while, NULL) == KDL_OK && can_be_cancelled())
    *(bool *)went_on = true;
  while (pause() < 0)
    continue;
  return NULL;
}

static void a_loop_is_done_though_its_thread_is_cancelled(void **state) {
  (void)state;
  for (unsigned i = 0; i < rounds; ++i) {
    bool went_on = false;
    pthread_t thread;
    atomic_store(&done, 0);
    atomic_store(&begun, 0);
    assert_int_equal(pthread_create(&thread, NULL, loop, &went_on), 0);
    while (atomic_load(&begun) < i) /* at another moment each time, the wait at the end too */
      sched_yield();
    assert_int_equal(pthread_cancel(thread), 0);
    assert_ptr_equal(join(thread), PTHREAD_CANCELED);
    assert_true(went_on);
    assert_int_equal(atomic_load(&done), iterations);
  }
  atomic_store(&done, 0);
  assert_int_equal(kdl_host_parallel(iterations, take_a_while, NULL), KDL_OK);
  assert_int_equal(atomic_load(&done), iterations);
}

/* ------------------------------------------------------------------------------------------ */
/* From a file to numbers                                                                       */

typedef struct {
  const char *path;
  const char *at; /* NULL: at the end */
  uint32_t *out;
} way;

static bool fails(way *w, const char *at, kdl_status status) {
  w->at = at;
  return status != KDL_OK;
}

/* Cancelled before the first call. */
static void *go_the_whole_way(void *user) {
  way *w = user;
  kdl_library *lib;
  kdl_device *device;
  kdl_kernel *kernel;
  kdl_queue *queue;
  kdl_buffer buffer;
  uint64_t bytes = many * sizeof *w->out;
  pthread_cancel(pthread_self());
  if (fails(w, "kdl_open", kdl_open(w->path, NULL, &lib)) ||
      fails(w, "kdl_device_find", kdl_device_find("host", &device)) ||
      fails(w, "kdl_sym", kdl_sym(lib, device, "mark", NULL, &kernel)) ||
      fails(w, "kdl_queue_create", kdl_queue_create(device, NULL, &queue)) ||
      fails(w, "kdl_alloc", kdl_alloc(device, bytes, &buffer)) ||
      fails(w, "kdl_launch_items", /* which loads */
            kdl_launch_items(kernel, queue, kdl_extent1(many), KDL_ARGS(&buffer, &count))) ||
      fails(w, "kdl_sync", kdl_sync(queue)) ||
      fails(w, "kdl_read", kdl_read(queue, w->out, &buffer, 0, bytes)) ||
      fails(w, "kdl_free", kdl_free(&buffer)))
    return NULL;
  kdl_queue_destroy(queue);
  kdl_close(lib);
  w->at = can_be_cancelled() ? NULL : "the state of cancellation";
  pthread_testcancel();
  return NULL;
}

static void a_cancelled_thread_opens_loads_and_launches(void **state) {
  (void)state;
  char path[] = "/tmp/kdl-cancel-XXXXXX";
  host_library made = make_library(rows, 1);
  int fd = mkstemp(path);
  assert_true(fd >= 0 && write(fd, made.data, made.size) == (ssize_t)made.size);
  close(fd);
  for (unsigned logs = 0; logs < 2; ++logs) {
    way whole = {.path = path, .at = "", .out = calloc(many, sizeof(uint32_t))};
    pthread_t thread;
    assert_non_null(whole.out);
    if (logs)
      start_listening("all");
    assert_int_equal(pthread_create(&thread, NULL, go_the_whole_way, &whole), 0);
    assert_ptr_equal(join(thread), PTHREAD_CANCELED);
    stop_listening();
    if (whole.at)
      fail_msg("it ended at %s", whole.at);
    for (uint32_t i = 0; i < many; ++i)
      assert_int_equal(whole.out[i], 1000000 + i);
    free(whole.out);
  }
  unlink(path);
  made.lib = NULL;
  free_rows(&made);
}

/* ------------------------------------------------------------------------------------------ */
/* Forks within a loop                                                                          */

static pthread_t caller;
static atomic_int children;
static pid_t child_ids[iterations];
static _Thread_local bool has_forked;

/* Every thread forks once; the child goes on as if it were the parent. */
static void fork_and_go_on(void *context, uint64_t index) {
  const bool *by_caller = context;
  sleep_us(200);
  if (has_forked || (pthread_equal(caller, pthread_self()) != 0) != *by_caller)
    return;
  has_forked = true;
  pid_t child = fork();
  if (child == 0) {
    sigset_t none; /* threads of the pool have all of them blocked */
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    alarm(20); /* one that goes on for ever fails the test */
    return;
  }
  child_ids[atomic_fetch_add(&children, 1)] = child;
  (void)index;
}

static int end_of(pid_t child) {
  int state;
  assert_int_equal(waitpid(child, &state, 0), child);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}

/* In the child the loop of the thread that called it fails, since what others were at is not done;
 * it may then do its own. A thread of the pool has nowhere to return to. */
static void a_child_of_a_loop_gets_an_error(void **state) {
  (void)state;
  static const int ends[2] = {70, 33};
  pid_t self = getpid();
  caller = pthread_self();
  for (int by_caller = 0; by_caller < 2; ++by_caller) {
    bool which = by_caller;
    atomic_store(&children, 0);
    has_forked = false;
    kdl_status status = kdl_host_parallel(iterations, fork_and_go_on, &which);
    if (getpid() != self) {
      atomic_store(&done, 0);
      bool is_told = status == KDL_DEVICE && strstr(kdl_error_message(), "forked") &&
                     kdl_host_parallel(iterations, take_a_while, NULL) == KDL_OK &&
                     atomic_load(&done) == iterations;
      _exit(is_told ? 33 : 1);
    }
    assert_int_equal(status, KDL_OK);
    for (int i = 0; i < atomic_load(&children); ++i)
      assert_int_equal(end_of(child_ids[i]), ends[by_caller]);
    if (by_caller)
      assert_int_equal(atomic_load(&children), 1);
    atomic_store(&done, 0);
    assert_int_equal(kdl_host_parallel(iterations, take_a_while, NULL), KDL_OK);
    assert_int_equal(atomic_load(&done), iterations);
  }
}

int main(void) {
  setenv("KDL_HOST_THREADS", "4", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_cancelled_thread_opens_loads_and_launches),
      cmocka_unit_test(a_loop_is_done_though_its_thread_is_cancelled),
      cmocka_unit_test(a_child_of_a_loop_gets_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
