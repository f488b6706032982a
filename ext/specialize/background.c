/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/specialize/background.h"

#include "support/base/cancel.h"
#include "support/system/lock.h"
#include "support/system/subprocess.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { niceness = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_background_task *first;   /* waiting, oldest first */
static kdl_background_task *running; /* by the thread */
static bool has_thread;
static bool is_ending; /* the process ends */
static int cancel_fd = -1;

/* In the child of a fork, where nothing else of libkdl runs. Memory of the tasks is the callers'.
 */
static void forget_tasks(void) {
  for (; first; first = first->next)
    first->is_queued = false;
  if (running)
    running->is_running = false;
  running = NULL;
  has_thread = false;
  if (cancel_fd >= 0)
    close(cancel_fd);
  cancel_fd = -1;
}

static kdl_background_task *take_task(void) {
  kdl_lock(&lock);
  kdl_background_task *task = first;
  if (task) {
    first = task->next;
    task->is_queued = false;
    task->is_running = true;
  }
  running = task;
  has_thread = task != NULL;
  kdl_unlock(&lock);
  return task;
}

static void finish_task(kdl_background_task *task) {
  uint64_t count;
  kdl_lock(&lock);
  task->is_running = false;
  running = NULL;
  (void)!read(cancel_fd, &count, sizeof count); /* a request to cancel is for one task */
  kdl_unlock(&lock);
}

static void *run_tasks(void *user) {
  (void)user;
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), niceness); /* of this thread */
  kdl_subprocess_cancel_on(cancel_fd);
  for (kdl_background_task *task; (task = take_task());) {
    task->run(task);
    finish_task(task);
  }
  return NULL;
}

/* Called with the lock held. */
static bool create_thread(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  sigset_t all, before;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_created = pthread_create(&thread, &attributes, run_tasks, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return is_created;
}

static void pause_briefly(void) {
  nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Asks the thread to end the task. Called with the lock held. */
static void request_cancel(void) {
  uint64_t one = 1;
  (void)!write(cancel_fd, &one, sizeof one);
}

static void end_background(void) {
  kdl_lock(&lock);
  is_ending = true;
  for (; first; first = first->next)
    first->is_queued = false;
  if (running)
    request_cancel();
  bool is_running = has_thread;
  kdl_unlock(&lock);
  while (is_running) {
    pause_briefly();
    kdl_lock(&lock);
    is_running = has_thread;
    kdl_unlock(&lock);
  }
}

static void prepare(void) {
  kdl_fork_tell(forget_tasks);
  atexit(end_background);
}

bool kdl_background_start(kdl_background_task *task) {
  KDL_NOT_CANCELLED;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  kdl_lock(&lock);
  if (cancel_fd < 0)
    cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bool can_run = !is_ending && cancel_fd >= 0;
  if (can_run && !has_thread)
    can_run = has_thread = create_thread();
  if (can_run) {
    kdl_background_task **last = &first;
    while (*last)
      last = &(*last)->next;
    task->next = NULL;
    task->is_queued = true;
    *last = task;
  }
  kdl_unlock(&lock);
  return can_run;
}

void kdl_background_stop(kdl_background_task *task) {
  KDL_NOT_CANCELLED;
  kdl_lock(&lock);
  for (kdl_background_task **at = &first; *at; at = &(*at)->next) {
    if (*at == task) {
      *at = task->next;
      task->is_queued = false;
      break;
    }
  }
  bool is_running = task->is_running;
  if (is_running)
    request_cancel();
  kdl_unlock(&lock);
  while (is_running) {
    pause_briefly();
    kdl_lock(&lock);
    is_running = task->is_running;
    kdl_unlock(&lock);
  }
}
