/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Locks that are free in the child of a fork.
 *
 * The child of a fork has one thread; locks that other threads held would stay locked forever. So a
 * fork waits until no thread is between kdl_lock and kdl_unlock. Code between them is short and
 * calls no foreign code. Long work (starting a driver, loading an image) uses kdl_work: one thread
 * does it without holding a lock, and others wait for the outcome. The child can see that such work
 * was abandoned.
 */
#ifndef KDL_SUPPORT_SYSTEM_LOCK_H
#define KDL_SUPPORT_SYSTEM_LOCK_H

#include <kdl/kdl.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

void kdl_lock(pthread_mutex_t *lock);
void kdl_unlock(pthread_mutex_t *lock);

/* Blocks forks without a lock. May be nested. */
void kdl_fork_hold(void);
void kdl_fork_release(void);

/* Initialized to zero. */
typedef struct kdl_work {
  atomic_uint claim; /* 0: unclaimed; else the process's fork count + 1 */
} kdl_work;

typedef enum kdl_work_turn {
  KDL_WORK_MINE,      /* the caller does the work and then calls kdl_work_end */
  KDL_WORK_ABANDONED, /* the same; a thread of the parent process had begun it before the fork */
  KDL_WORK_WAITED,    /* another thread has ended it: look at the outcome */
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

/* Waits until the caller may do the work, whatever other threads did before: for work that
 * continues from the last outcome. Never KDL_WORK_WAITED. */
kdl_work_turn kdl_work_take(kdl_work *work);

/* The number of forks between the first process and this one. */
unsigned kdl_fork_count(void);

/* Calls `listener` in the child of every fork from now on, before anything else of libkdl runs. */
void kdl_fork_tell(void (*listener)(void));

/* KDL_DEVICE in a child whose locks may be held forever: a thread held one for more than a second,
 * or the thread that forked held one. Call it before taking a lock. */
kdl_status kdl_fork_check(void);

#endif
