/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/fork.h"

#include "base/error.h"
#include "link/backend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t links_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_fork_link *links;
static atomic_uint fork_count;

unsigned kdl_fork_count(void) {
  return atomic_load_explicit(&fork_count, memory_order_relaxed);
}

static void before_fork(void) {
  pthread_mutex_lock(&links_lock);
}

static void in_parent(void) {
  pthread_mutex_unlock(&links_lock);
}

/* The list was locked before the fork, so it is whole. */
static void in_child(void) {
  atomic_fetch_add_explicit(&fork_count, 1, memory_order_relaxed);
  for (kdl_fork_link *link = links; link; link = link->next)
    link->disable(link);
  kdl_backend_after_fork();
  pthread_mutex_unlock(&links_lock);
}

static void start_watching(void) {
  pthread_atfork(before_fork, in_parent, in_child);
}

void kdl_fork_watch(void) {
  pthread_once(&watch_once, start_watching);
}

void kdl_fork_add(kdl_fork_link *link) {
  pthread_mutex_lock(&links_lock);
  link->previous = NULL;
  link->next = links;
  if (links)
    links->previous = link;
  links = link;
  pthread_mutex_unlock(&links_lock);
}

void kdl_fork_remove(kdl_fork_link *link) {
  pthread_mutex_lock(&links_lock);
  if (link->previous)
    link->previous->next = link->next;
  else
    links = link->next;
  if (link->next)
    link->next->previous = link->previous;
  pthread_mutex_unlock(&links_lock);
}

kdl_status kdl_fail_forked(const char *device) {
  return kdl_fail(KDL_DEVICE,
                  "%s was opened before this process forked, and its driver does not survive a "
                  "fork: use it first in the child, or start the child with exec",
                  device);
}
