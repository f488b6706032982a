/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table by which the library calls ext/specialize, and KDL_SPECIALIZE=auto[,REPEATS]|off. */
#include "ext/specialize/observer.h"
#include "support/base/cancel.h"
#include "support/system/environment.h"
#include "support/system/lock.h"
#include "support/system/subprocess.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Work that no launch waits for                                                                */

/*
 * One thread. It exists while there are tasks, has all signals blocked, and a lower priority than
 * the program, which kdl-ld inherits.
 *
 * The child of a fork has no such thread: its tasks are forgotten. A process that ends cancels the
 * task that runs and waits for it, since a driver must not be called while it ends.
 */

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

static bool start_background(kdl_background_task *task) {
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

static void stop_background(kdl_background_task *task) {
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

enum { default_repeats = 32, most_repeats = 1000000 };

/* 0: off. A value that cannot be read counts as unset, and is logged. */
static uint32_t read_repeats(void) {
  const char *text = kdl_environment(KDL_VARIABLE_SPECIALIZE);
  static const char word[] = "auto,";
  if (!text || strcmp(text, "auto") == 0)
    return default_repeats;
  if (strcmp(text, "off") == 0)
    return 0;
  if (strncmp(text, word, sizeof word - 1) == 0) {
    char *end;
    const char *number = text + sizeof word - 1;
    unsigned long repeats = strtoul(number, &end, 10);
    if (*number >= '1' && *number <= '9' && !*end && repeats <= most_repeats)
      return (uint32_t)repeats;
  }
  kdl_debug(KDL_DEBUG_LINK,
            "KDL_SPECIALIZE: found \"%s\", expected auto, auto,LAUNCHES or off: auto is used",
            text);
  return default_repeats;
}

static kdl_observer *open_observer(size_t word_count) {
  uint32_t repeats = read_repeats();
  kdl_observer *made = repeats ? malloc(sizeof *made) : NULL;
  if (made)
    kdl_observer_init(made, word_count, repeats);
  return made;
}

static void close_observer(kdl_observer *observer) {
  free(observer);
}

static const kdl_specialize_hooks hooks = {.open = open_observer,
                                           .close = close_observer,
                                           .observe = kdl_observer_add,
                                           .start = start_background,
                                           .stop = stop_background};
const kdl_specialize_hooks *const kdl_specializing = &hooks;
