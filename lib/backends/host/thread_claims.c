/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which threads of the pool a launch has, when several run at once. */
#include "lib/backends/host/thread_pool.h"

enum { lock_tries = 200 };

/* The lock is held for less than going to sleep takes. */
static void host_lock_pool(void) {
  for (int i = 0; host_may_spin() && i < lock_tries; ++i) {
    if (pthread_mutex_trylock(&kdl_host_pool.lock) == 0)
      return;
    host_cpu_relax();
  }
  pthread_mutex_lock(&kdl_host_pool.lock);
}

/* Called with the lock held: how many threads may run. */
static unsigned host_total(void) {
  unsigned total = 1;
  for (const job *at = kdl_host_pool.jobs; at; at = at->next)
    total = total < at->total ? at->total : total;
  return total;
}

/* Called with the lock held. Each job has an equal part of the threads; what one may not use, the
 * first has that may. */
static void host_divide_threads(void) {
  unsigned total = host_total();
  unsigned part = kdl_host_pool.job_count && total > kdl_host_pool.job_count
                      ? total / kdl_host_pool.job_count
                      : 1;
  unsigned left = total;
  for (job *at = kdl_host_pool.jobs; at; at = at->next) {
    unsigned own = at->limit < part ? at->limit : part;
    left -= own < left ? own : left;
  }
  for (job *at = kdl_host_pool.jobs; at; at = at->next) {
    unsigned more = at->limit > part ? at->limit - part : 0;
    more = more < left ? more : left;
    left -= more;
    atomic_store_explicit(&at->allowed, (at->limit < part ? at->limit : part) + more,
                          memory_order_relaxed);
  }
}

/* Called with the lock held: threads that run, those that launch included. */
static unsigned host_running_count(void) {
  unsigned idle = 0;
  for (unsigned i = 0; i * bits < kdl_host_pool.started; ++i)
    idle += (unsigned)__builtin_popcountll(
        atomic_load_explicit(&kdl_host_pool.idle[i], memory_order_acquire));
  return kdl_host_pool.job_count + kdl_host_pool.started - idle;
}

/* Called with the lock held. Claims as many threads as the job is allowed and the others do not
 * use; the first ones first, so that launches in turn have the same. */
static void host_claim_threads(job *launch) {
  unsigned total = host_total();
  unsigned allowed = atomic_load_explicit(&launch->allowed, memory_order_relaxed);
  unsigned running = host_running_count();
  for (unsigned i = 0; i * bits < kdl_host_pool.started; ++i) {
    uint64_t idle = atomic_load_explicit(&kdl_host_pool.idle[i], memory_order_acquire), taken = 0;
    for (; idle && launch->claimed < allowed && running < total; idle &= idle - 1, ++running) {
      taken |= idle & -idle;
      launch->workers[launch->claimed++] = (uint16_t)(i * bits + (unsigned)__builtin_ctzll(idle));
    }
    atomic_fetch_and_explicit(&kdl_host_pool.idle[i], ~taken, memory_order_relaxed);
  }
  while (launch->claimed < allowed && running < total && kdl_host_pool.started + 1 < total &&
         kdl_host_pool_start_thread()) {
    launch->workers[launch->claimed++] = (uint16_t)(kdl_host_pool.started - 1);
    launch->is_new = true;
    ++running;
  }
}

void kdl_host_job_enter(job *launch) {
  host_lock_pool();
  launch->previous = &kdl_host_pool.jobs;
  while (*launch->previous)
    launch->previous = &(*launch->previous)->next;
  *launch->previous = launch;
  ++kdl_host_pool.job_count;
  host_divide_threads();
  host_claim_threads(launch);
  if (kdl_host_pool.job_count == 1)
    atomic_store_explicit(&kdl_host_pool.caller, sched_getcpu(), memory_order_relaxed);
  pthread_mutex_unlock(&kdl_host_pool.lock);
}

void kdl_host_job_exit(job *launch) {
  host_lock_pool();
  *launch->previous = launch->next;
  if (launch->next)
    launch->next->previous = launch->previous;
  --kdl_host_pool.job_count;
  host_divide_threads();
  pthread_mutex_unlock(&kdl_host_pool.lock);
}

static bool host_has_idle(void) {
  uint64_t any = 0;
  for (unsigned i = 0; i < bitmap_words && i * bits < kdl_host_thread_limits_get()->total; ++i)
    any |= atomic_load_explicit(&kdl_host_pool.idle[i], memory_order_relaxed);
  return any;
}

/* Threads that other launches have left since. */
void kdl_host_job_claim_more(job *launch) {
  if (launch->claimed >= atomic_load_explicit(&launch->allowed, memory_order_relaxed) ||
      !host_has_idle())
    return;
  unsigned first = launch->claimed;
  host_lock_pool();
  host_claim_threads(launch);
  pthread_mutex_unlock(&kdl_host_pool.lock);
  atomic_fetch_add_explicit(&launch->members, launch->claimed - first, memory_order_relaxed);
  kdl_host_pool_offer(launch, first, launch->claimed);
  for (unsigned i = first; i < launch->claimed; ++i)
    (void)kdl_host_pool_wake(launch->workers[i]);
}
