/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Groups over threads. The caller starts on its own and looks at the clock: only where what is left
 * will take longer than waking the pool does it wake it, so that a tiny launch costs the call of
 * its groups. A launch like an earlier one that was worth it wakes the pool at once. The pool helps
 * one launch at a time; a launch that finds it busy does its own work.
 *
 * Programs make several launches or loops in turn, each shorter than waking a thread takes. So a
 * thread of the pool that was needed looks out for more for a moment before it sleeps, and what
 * comes meanwhile is shared though it is short. Only where each thread can have a CPU.
 */
#include "lib/backends/host/host.h"
#include "support/base/cancel.h"
#include "support/system/lock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
  wake_ns = 20000, /* what is left must take longer than this alone to be shared */
  awake_ns = 2000, /* the same where threads of the pool are awake */
  join_ns = 500,   /* more for each thread then, as they join one after the other */
  spin_ns = 50000, /* how long a thread of the pool looks out for more work, and a launch for
                          the end of what the pool has begun, before it sleeps */
  spins_per_clock_read = 64, /* the clock is not read each time */
  lock_tries = 200,
  chunks_per_thread = 8,
  max_shares = 16, /* of a launch; threads look at each of them before they leave */
  limit_threads = 1024,
};

/* Groups one after the other that one thread begins with. */
typedef struct {
  _Alignas(64) atomic_uint_least64_t next; /* group */
  uint64_t end;
} share;

/* A launch that is shared. Each thread takes its own share first, then of the others': so that
 * launches over the same data in turn find it where it was last used. */
typedef struct {
  const kdl_host_work *work;
  uint64_t chunk;
  unsigned count;
  share shares[max_shares];
} shared_work;

static struct {
  pthread_mutex_t busy; /* held by the launch that the pool helps */
  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t wake;
  pthread_cond_t idle;
  unsigned started;
  shared_work *work; /* NULL: nothing to join */
  uint64_t number;   /* of the work, so that no thread joins twice */
  int caller;        /* the CPU where work was last begun; -1: not known */

  /* Written with the lock held, but read without by those that look out. */
  atomic_uint active_count;   /* threads that joined */
  atomic_uint spinning_count; /* threads that look out for work */

  atomic_uint_least64_t published; /* `number`, once the lock is free */
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .idle = PTHREAD_COND_INITIALIZER,
          .caller = -1};

/* In the child: its threads are gone, and locks that they held are not released. */
static void host_pool_after_fork(void) {
  pthread_mutex_init(&pool.busy, NULL);
  pthread_mutex_init(&pool.lock, NULL);
  pthread_cond_init(&pool.wake, NULL);
  pthread_cond_init(&pool.idle, NULL);
  pool.started = 0;
  atomic_store(&pool.active_count, 0);
  atomic_store(&pool.spinning_count, 0);
  pool.work = NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* How many                                                                                     */

static pthread_once_t count_once = PTHREAD_ONCE_INIT;
static cpu_set_t host_cpu_set; /* CPUs, where `knows_cpus` */
static bool host_has_cpu_set;
static unsigned thread_count;
static bool host_may_spin; /* whether threads may wait without sleeping */

static unsigned host_allowed_cpus(void) {
  host_has_cpu_set = sched_getaffinity(0, sizeof host_cpu_set, &host_cpu_set) == 0;
  if (host_has_cpu_set)
    return (unsigned)CPU_COUNT(&host_cpu_set);
  long online = sysconf(_SC_NPROCESSORS_ONLN); /* a machine with more CPUs than cpu_set_t holds */
  return online > 0 ? (unsigned)online : 1;
}

static void host_count_threads(void) {
  const char *wanted = kdl_core_services.environment("KDL_HOST_THREADS");
  char *end = NULL;
  unsigned long value = wanted ? strtoul(wanted, &end, 10) : 0;
  unsigned cpus = host_allowed_cpus();
  thread_count = cpus;
  if (wanted && (*end || value == 0 || value > limit_threads))
    kdl_core_services.log("KDL_HOST_THREADS: found \"%s\", expected 1 to %d; using %u", wanted,
                          limit_threads, thread_count);
  else if (wanted)
    thread_count = (unsigned)value;
  host_may_spin = thread_count <= cpus;
  kdl_fork_tell(host_pool_after_fork);
}

/* How many threads a launch may use, the caller's included. */
static unsigned host_max_threads(void) {
  pthread_once(&count_once, host_count_threads);
  return thread_count;
}

/* ------------------------------------------------------------------------------------------ */
/* Groups                                                                                       */

/* Groups of one launch, from `first` on, of which there are `end`. */
static void host_run_launch(const kdl_host_work *work, uint64_t first, uint64_t end, void *shared) {
  kdl_host_group group = work->shape;
  const uint32_t *count = group.group_count;
  group.shared = group.shared_size ? shared : NULL;
  if (first) { /* most launches begin at their beginning, and divisions are slow */
    group.group[0] = (uint32_t)(first % count[0]);
    group.group[1] = (uint32_t)(first / count[0] % count[1]);
    group.group[2] = (uint32_t)(first / count[0] / count[1]);
  }
  for (uint64_t i = first; i < end; ++i) {
    work->run(&group, work->args);
    if (++group.group[0] == count[0]) {
      group.group[0] = 0;
      if (++group.group[1] == count[1]) {
        group.group[1] = 0;
        ++group.group[2];
      }
    }
  }
}

static void host_run_groups(const kdl_host_work *work, uint64_t first, uint64_t end, void *shared) {
  while (first < end) {
    while (first >= work->end)
      work = work->next;
    uint64_t begin = work->end - work->group_count;
    uint64_t stop = end < work->end ? end : work->end;
    host_run_launch(work, first - begin, stop - begin, shared);
    first = stop;
  }
}

static void host_run_share(const kdl_host_work *work, share *of, uint64_t chunk, void *shared) {
  while (atomic_load_explicit(&of->next, memory_order_relaxed) < of->end) {
    uint64_t first = atomic_fetch_add_explicit(&of->next, chunk, memory_order_relaxed);
    if (first >= of->end)
      return;
    uint64_t left = of->end - first;
    host_run_groups(work, first, first + (left < chunk ? left : chunk), shared);
  }
}

static void host_run_chunks(shared_work *sharing, unsigned thread, void *shared) {
  for (unsigned i = 0; i < sharing->count; ++i)
    host_run_share(sharing->work, &sharing->shares[(thread + i) % sharing->count], sharing->chunk,
                   shared);
}

/* The first group of a share, so that they are all but even. */
static uint64_t host_share_begin(uint64_t total, unsigned count, unsigned i) {
  return total / count * i + total % count * i / count;
}

/* The groups from `first` on. */
static void host_divide_groups(shared_work *sharing, uint64_t total, uint64_t first) {
  for (unsigned i = 0; i < sharing->count; ++i) {
    uint64_t begin = host_share_begin(total, sharing->count, i);
    sharing->shares[i].end = host_share_begin(total, sharing->count, i + 1);
    atomic_init(&sharing->shares[i].next, begin < first ? first : begin);
  }
}

static uint32_t host_max_group_memory(const kdl_host_work *work) {
  uint32_t size = work->shape.shared_size;
  for (const kdl_host_work *at = work->next; at; at = at->next)
    size = size < at->shape.shared_size ? at->shape.shared_size : size;
  return size;
}

/* NULL where none is needed, and where there is none: *out_lacks tells. */
static void *host_acquire_group_memory(const kdl_host_work *work, bool *out_is_missing) {
  uint32_t size = host_max_group_memory(work);
  void *memory = size ? kdl_host_group_memory_acquire(size) : NULL;
  *out_is_missing = size && !memory;
  return memory;
}

/* ------------------------------------------------------------------------------------------ */
/* Waiting                                                                                      */

static int64_t host_pool_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void host_cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* The lock is held for less than going to sleep takes. */
static void host_lock_pool(void) {
  for (int i = 0; host_may_spin && i < lock_tries; ++i) {
    if (pthread_mutex_trylock(&pool.lock) == 0)
      return;
    host_cpu_relax();
  }
  pthread_mutex_lock(&pool.lock);
}

/* Whether there was other work than `number` before it was time to sleep. */
static bool host_spin_for_work(uint64_t number) {
  int64_t end = host_pool_now_ns() + spin_ns;
  do {
    for (int i = 0; i < spins_per_clock_read; ++i) {
      if (atomic_load_explicit(&pool.published, memory_order_relaxed) > number)
        return true;
      host_cpu_relax();
    }
  } while (host_pool_now_ns() < end);
  return false;
}

static void host_spin_for_end(void) {
  int64_t end = host_pool_now_ns() + spin_ns;
  do {
    for (int i = 0; i < spins_per_clock_read; ++i) {
      if (atomic_load_explicit(&pool.active_count, memory_order_relaxed) == 0)
        return;
      host_cpu_relax();
    }
  } while (host_pool_now_ns() < end);
}

static bool host_has_spinning_threads(void) {
  return atomic_load_explicit(&pool.spinning_count, memory_order_relaxed) != 0;
}

/* ------------------------------------------------------------------------------------------ */
/* The pool                                                                                     */

/* Linux at times wakes a thread on the CPU of the one that wakes it, though another is idle, and
 * leaves it there to wait for milliseconds. So a thread of the pool may not run where launches are
 * made: it is woken elsewhere, once it has seen one, even one that was over when it woke. */
typedef struct {
  int caller;
  cpu_set_t allowed, current; /* without regard to the caller; as it was last set */
} thread_affinity;

static void host_avoid_caller_cpu(thread_affinity *state, int caller) {
  cpu_set_t now;
  bool knows = state->caller >= 0;
  state->caller = caller;
  if (caller < 0 || sched_getaffinity(0, sizeof now, &now) != 0)
    return;
  if (!knows || !CPU_EQUAL(&now, &state->current))
    state->allowed = now; /* at first, and when other code has set it */
  cpu_set_t others = state->allowed;
  CPU_CLR((size_t)caller, &others);
  bool moved = CPU_COUNT(&others) && sched_setaffinity(0, sizeof others, &others) == 0;
  state->current = moved ? others : now;
}

static void host_join_work(shared_work *sharing, unsigned thread) {
  bool is_missing;
  void *shared = host_acquire_group_memory(sharing->work, &is_missing);
  if (!is_missing)
    host_run_chunks(sharing, thread, shared);
  kdl_host_group_memory_release(shared);
}

/* A child that was forked in a loop, by a thread of the pool: there is no loop to go on with, and
 * the thread that began it is in the parent. */
static _Noreturn void host_exit_forked_child(void) {
  static const char words[] =
      "kdl: a process that was forked in kdl_host_parallel has returned to it: it ends here\n";
  enum { exit_lost = 70 };
  (void)!write(STDERR_FILENO, words, sizeof words - 1);
  _exit(exit_lost);
}

/* Called with the lock held, and returns with it. */
static bool host_spin_wait(void) {
  uint64_t number = pool.number;
  atomic_fetch_add_explicit(&pool.spinning_count, 1, memory_order_relaxed);
  pthread_mutex_unlock(&pool.lock);
  bool more = host_spin_for_work(number);
  host_lock_pool();
  atomic_fetch_sub_explicit(&pool.spinning_count, 1, memory_order_relaxed);
  return more;
}

/* On the CPUs that were counted: the thread that made this one may have been bound to one since.
 * Threads of the pool are numbered from 1 on; a launch's own is 0. */
static void *host_pool_thread(void *number) {
  unsigned thread = (unsigned)(uintptr_t)number;
  if (host_has_cpu_set)
    (void)sched_setaffinity(0, sizeof host_cpu_set, &host_cpu_set);
  uint64_t last = 0;
  bool recent = false; /* whether there was work a moment ago */
  thread_affinity state = {.caller = -1};
  host_lock_pool();
  for (;;) {
    int caller = pool.caller;
    if (caller != state.caller) {
      pthread_mutex_unlock(&pool.lock);
      host_avoid_caller_cpu(&state, caller);
      host_lock_pool();
    }
    if (!pool.work || pool.number == last) {
      if (recent)
        recent = host_spin_wait();
      else
        pthread_cond_wait(&pool.wake, &pool.lock);
      continue;
    }
    shared_work *sharing = pool.work;
    last = pool.number;
    atomic_fetch_add_explicit(&pool.active_count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&pool.lock);
    unsigned process = kdl_fork_count();
    host_join_work(sharing, thread);
    if (kdl_fork_count() != process)
      host_exit_forked_child();
    recent = host_may_spin;
    host_lock_pool();
    if (atomic_fetch_sub_explicit(&pool.active_count, 1, memory_order_relaxed) == 1)
      pthread_cond_signal(&pool.idle);
  }
  return NULL;
}

/* Called with the lock held. Fewer threads than wanted are as good. Signals of the program are not
 * theirs to handle. */
static void host_start_threads(unsigned wanted) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.started + 1 < wanted) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, host_pool_thread, (void *)(uintptr_t)(pool.started + 1)) != 0)
      break;
    pthread_detach(thread);
    ++pool.started;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* False in a child that was forked meanwhile: what other threads had begun is not done there, and
 * the pool is another. */
static bool host_run_shared(const kdl_host_work *work, uint64_t total, uint64_t first,
                            void *shared) {
  unsigned threads = host_max_threads(), process = kdl_fork_count();
  uint64_t chunk = (total - first) / ((uint64_t)threads * chunks_per_thread);
  shared_work sharing; /* of whose shares most are not needed */
  sharing.work = work;
  sharing.chunk = chunk ? chunk : 1;
  sharing.count = threads < max_shares ? threads : max_shares;
  host_divide_groups(&sharing, total, first);
  host_lock_pool();
  host_start_threads(threads);
  pool.caller = sched_getcpu();
  pool.work = &sharing;
  uint64_t number = ++pool.number;
  pthread_cond_broadcast(&pool.wake);
  pthread_mutex_unlock(&pool.lock);
  atomic_store_explicit(&pool.published, number, memory_order_relaxed);
  host_run_chunks(&sharing, 0, shared);
  if (kdl_fork_count() != process)
    return false;
  host_lock_pool();
  pool.work = NULL; /* no other joins */
  if (host_may_spin && atomic_load_explicit(&pool.active_count, memory_order_relaxed)) {
    pthread_mutex_unlock(&pool.lock);
    host_spin_for_end();
    host_lock_pool();
  }
  while (atomic_load_explicit(&pool.active_count, memory_order_relaxed))
    pthread_cond_wait(&pool.idle, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* A launch                                                                                     */

/* What is left must take longer than this to be shared. */
static int64_t host_sharing_threshold_ns(bool awake) {
  int64_t ns = awake_ns + (int64_t)join_ns * host_max_threads();
  return awake && ns < wake_ns ? ns : wake_ns;
}

/* Runs groups, twice as many each time, until none is left or the rest is worth sharing. Returns
 * the first that was not run. */
static uint64_t host_run_until_shared(const kdl_host_work *work, uint64_t total, void *shared) {
  double worth = (double)host_sharing_threshold_ns(host_has_spinning_threads());
  int64_t start = host_pool_now_ns();
  uint64_t done = 0;
  for (uint64_t step = 1; done < total; step = done) {
    uint64_t left = total - done;
    step = step < left ? step : left;
    host_run_groups(work, done, done + step, shared);
    done += step;
    double spent = (double)(host_pool_now_ns() - start);
    if (spent / (double)done * (double)(total - done) > worth)
      break;
  }
  return done;
}

/* Kinds of launches that were last worth sharing: the same kernel, as many groups. Programs launch
 * several kernels in turn, and two that fell upon one place would each forget the other: a place
 * has room for two, the last one first. */
enum { history_bits = 7 };
typedef struct {
  atomic_uint_least64_t last, before;
} history_entry;
static history_entry
    host_launch_history[2][1 << history_bits]; /* with threads that sleep, that are awake */

static uint64_t host_launch_key(const kdl_host_work *work, uint64_t total) {
  return ((uint64_t)(uintptr_t)work->run ^ work->origin) ^ total << 48;
}

static history_entry *host_history_slot(uint64_t launch_key, bool awake) {
  /* By the golden ratio: the upper bits depend on all of the kind. */
  return &host_launch_history[awake]
                             [launch_key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - history_bits)];
}

static bool host_is_worth_sharing(uint64_t launch_key, bool awake) {
  history_entry *state = host_history_slot(launch_key, awake);
  return atomic_load_explicit(&state->last, memory_order_relaxed) == launch_key ||
         atomic_load_explicit(&state->before, memory_order_relaxed) == launch_key;
}

static void host_record_launch(uint64_t launch_key, bool awake, bool is_worth) {
  history_entry *state = host_history_slot(launch_key, awake);
  uint64_t last = atomic_load_explicit(&state->last, memory_order_relaxed);
  if (is_worth && !host_is_worth_sharing(launch_key, awake)) {
    atomic_store_explicit(&state->before, last, memory_order_relaxed);
    atomic_store_explicit(&state->last, launch_key, memory_order_relaxed);
  } else if (!is_worth && last == launch_key) {
    atomic_store_explicit(&state->last, 0, memory_order_relaxed);
  } else if (!is_worth && host_is_worth_sharing(launch_key, awake)) {
    atomic_store_explicit(&state->before, 0, memory_order_relaxed);
  }
}

static kdl_status host_fail_forked(void) {
  return kdl_core_services.fail(KDL_DEVICE, 0,
                                "this process was forked within a loop or launch of the host, and "
                                "what other threads of the parent were at is not done here");
}

/* What is left after `first` groups, with the pool unless it is busy. */
static kdl_status host_run_remaining(const kdl_host_work *work, uint64_t total, uint64_t first,
                                     void *shared) {
  KDL_NOT_CANCELLED;
  if (pthread_mutex_trylock(&pool.busy) != 0) {
    host_run_groups(work, first, total, shared);
    return KDL_OK;
  }
  int64_t start = host_pool_now_ns();
  if (!host_run_shared(work, total, first, shared))
    return host_fail_forked();
  int64_t spent = host_pool_now_ns() - start;
  uint64_t launch_key = host_launch_key(work, total);
  host_record_launch(launch_key, false, spent > host_sharing_threshold_ns(false));
  host_record_launch(launch_key, true, spent > host_sharing_threshold_ns(true));
  pthread_mutex_unlock(&pool.busy);
  return KDL_OK;
}

static kdl_status host_no_group_memory(const kdl_host_work *work) {
  return kdl_core_services.fail(KDL_NO_MEMORY, ENOMEM, "out of memory for %u bytes of group memory",
                                (unsigned)host_max_group_memory(work));
}

kdl_status kdl_host_run_serial(const kdl_host_work *work, uint64_t total) {
  bool is_missing;
  void *shared = host_acquire_group_memory(work, &is_missing);
  if (is_missing)
    return host_no_group_memory(work);
  host_run_groups(work, 0, total, shared);
  kdl_host_group_memory_release(shared);
  return KDL_OK;
}

kdl_status kdl_host_run(const kdl_host_work *work, uint64_t total) {
  bool is_missing;
  void *shared = host_acquire_group_memory(work, &is_missing);
  if (is_missing)
    return host_no_group_memory(work);
  kdl_status status = KDL_OK;
  uint64_t first = 0, launch_key = host_launch_key(work, total);
  if (total == 1 || host_max_threads() == 1) {
    host_run_groups(work, 0, total, shared);
    first = total;
  } else if (!host_is_worth_sharing(launch_key, host_has_spinning_threads())) {
    first = host_run_until_shared(work, total, shared);
  }
  if (first < total)
    status = host_run_remaining(work, total, first, shared);
  kdl_host_group_memory_release(shared);
  return status;
}
