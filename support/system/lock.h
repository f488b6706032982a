/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Locks that a fork finds free.
 *
 * The child of a fork has one thread, and whatever the others held stays locked. So a fork waits
 * until no thread is between kdl_lock and kdl_unlock: what lies between is short and calls no code
 * of others. What takes long (starting a driver, loading a module) is kdl_work, which one thread
 * does while others wait for the outcome, holding nothing; the child sees that it was left undone.
 */
#ifndef KDL_SYSTEM_LOCK_H
#define KDL_SYSTEM_LOCK_H

#include <kdl/kdl.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

void kdl_lock(pthread_mutex_t *lock);
void kdl_unlock(pthread_mutex_t *lock);

/* The same without a lock: a fork waits meanwhile. May be nested. */
void kdl_fork_hold(void);
void kdl_fork_release(void);

/* All zero at first. */
typedef struct kdl_work {
  atomic_uint claim; /* 0: none; else the number of the process's fork, and 1 */
} kdl_work;

typedef enum kdl_work_turn {
  KDL_WORK_MINE,      /* to be done by the caller, who then calls kdl_work_end */
  KDL_WORK_ABANDONED, /* likewise, and a thread of the process that forked had begun */
  KDL_WORK_WAITED,    /* another thread was at it and has ended: look at the outcome */
} kdl_work_turn;

/*     while (!is_done()) {
 *       if (kdl_work_begin(&work) == KDL_WORK_WAITED)
 *         continue;
 *       if (!is_done())
 *         do_it();
 *       kdl_work_end(&work);
 *     }
 */
kdl_work_turn kdl_work_begin(kdl_work *work);
void kdl_work_end(kdl_work *work);

/* Waits until the work is the caller's, whatever others made of it meanwhile: for work that goes on
 * with what the last one left. Never KDL_WORK_WAITED. */
kdl_work_turn kdl_work_take(kdl_work *work);

/* How many forks lie between the first process and this one. */
unsigned kdl_fork_count(void);

/* Calls `listener` in the child of every fork from now on, before anything else of libkdl runs. */
void kdl_fork_tell(void (*listener)(void));

/* KDL_DEVICE in a child that could not have its locks free: a thread stayed inside for more than a
 * second, or the fork came from inside. What would take a lock asks this first. */
kdl_status kdl_fork_check(void);

#endif
