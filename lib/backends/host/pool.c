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
  wake_ns = 20000,     /* what is left must take longer than this alone to be shared */
  awake_ns = 2000,     /* the same where threads of the pool are awake */
  join_ns = 500,       /* more for each thread then, as they join one after the other */
  look_out_ns = 50000, /* how long a thread of the pool looks out for more work, and a launch for
                          the end of what the pool has begun, before it sleeps */
  looks_per_time = 64, /* the clock is not read each time */
  lock_tries = 200,
  chunks_per_thread = 8,
  most_shares = 16, /* of a launch; threads look at each of them before they leave */
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
  share shares[most_shares];
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
  atomic_uint inside; /* threads that joined */
  atomic_uint awake;  /* threads that look out for work */

  atomic_uint_least64_t told; /* `number`, once the lock is free */
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .idle = PTHREAD_COND_INITIALIZER,
          .caller = -1};

/* In the child: its threads are gone, and locks that they held are not released. */
static void after_fork(void) {
  pthread_mutex_init(&pool.busy, NULL);
  pthread_mutex_init(&pool.lock, NULL);
  pthread_cond_init(&pool.wake, NULL);
  pthread_cond_init(&pool.idle, NULL);
  pool.started = 0;
  atomic_store(&pool.inside, 0);
  atomic_store(&pool.awake, 0);
  pool.work = NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* How many                                                                                     */

static pthread_once_t count_once = PTHREAD_ONCE_INIT;
static cpu_set_t counted; /* CPUs, where `knows_cpus` */
static bool knows_cpus;
static unsigned thread_count;
static bool looks_out; /* whether threads may wait without sleeping */

static unsigned allowed_cpus(void) {
  knows_cpus = sched_getaffinity(0, sizeof counted, &counted) == 0;
  if (knows_cpus)
    return (unsigned)CPU_COUNT(&counted);
  long online = sysconf(_SC_NPROCESSORS_ONLN); /* a machine with more CPUs than cpu_set_t holds */
  return online > 0 ? (unsigned)online : 1;
}

static void count_threads(void) {
  const char *wanted = kdl_own_services.environment("KDL_HOST_THREADS");
  char *end = NULL;
  unsigned long value = wanted ? strtoul(wanted, &end, 10) : 0;
  unsigned cpus = allowed_cpus();
  thread_count = cpus;
  if (wanted && (*end || value == 0 || value > limit_threads))
    kdl_own_services.log("KDL_HOST_THREADS: found \"%s\", expected 1 to %d; using %u", wanted,
                         limit_threads, thread_count);
  else if (wanted)
    thread_count = (unsigned)value;
  looks_out = thread_count <= cpus;
  kdl_fork_tell(after_fork);
}

/* How many threads a launch may use, the caller's included. */
static unsigned most_threads(void) {
  pthread_once(&count_once, count_threads);
  return thread_count;
}

/* ------------------------------------------------------------------------------------------ */
/* Groups                                                                                       */

/* Groups of one launch, from `first` on, of which there are `end`. */
static void run_launch(const kdl_host_work *work, uint64_t first, uint64_t end, void *shared) {
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

static void run_groups(const kdl_host_work *work, uint64_t first, uint64_t end, void *shared) {
  while (first < end) {
    while (first >= work->end)
      work = work->next;
    uint64_t begin = work->end - work->group_count;
    uint64_t stop = end < work->end ? end : work->end;
    run_launch(work, first - begin, stop - begin, shared);
    first = stop;
  }
}

static void run_share(const kdl_host_work *work, share *of, uint64_t chunk, void *shared) {
  while (atomic_load_explicit(&of->next, memory_order_relaxed) < of->end) {
    uint64_t first = atomic_fetch_add_explicit(&of->next, chunk, memory_order_relaxed);
    if (first >= of->end)
      return;
    uint64_t left = of->end - first;
    run_groups(work, first, first + (left < chunk ? left : chunk), shared);
  }
}

static void run_chunks(shared_work *sharing, unsigned thread, void *shared) {
  for (unsigned i = 0; i < sharing->count; ++i)
    run_share(sharing->work, &sharing->shares[(thread + i) % sharing->count], sharing->chunk,
              shared);
}

/* The first group of a share, so that they are all but even. */
static uint64_t share_begin(uint64_t total, unsigned count, unsigned i) {
  return total / count * i + total % count * i / count;
}

/* The groups from `first` on. */
static void divide(shared_work *sharing, uint64_t total, uint64_t first) {
  for (unsigned i = 0; i < sharing->count; ++i) {
    uint64_t begin = share_begin(total, sharing->count, i);
    sharing->shares[i].end = share_begin(total, sharing->count, i + 1);
    atomic_init(&sharing->shares[i].next, begin < first ? first : begin);
  }
}

static uint32_t most_group_memory(const kdl_host_work *work) {
  uint32_t size = work->shape.shared_size;
  for (const kdl_host_work *at = work->next; at; at = at->next)
    size = size < at->shape.shared_size ? at->shape.shared_size : size;
  return size;
}

/* NULL where none is needed, and where there is none: *out_lacks tells. */
static void *take_group_memory(const kdl_host_work *work, bool *out_lacks) {
  uint32_t size = most_group_memory(work);
  void *memory = size ? kdl_host_group_memory_take(size) : NULL;
  *out_lacks = size && !memory;
  return memory;
}

/* ------------------------------------------------------------------------------------------ */
/* Waiting                                                                                      */

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* The lock is held for less than going to sleep takes. */
static void take_lock(void) {
  for (int i = 0; looks_out && i < lock_tries; ++i) {
    if (pthread_mutex_trylock(&pool.lock) == 0)
      return;
    relax();
  }
  pthread_mutex_lock(&pool.lock);
}

/* Whether there was other work than `number` before it was time to sleep. */
static bool look_out_for_work(uint64_t number) {
  int64_t end = now_ns() + look_out_ns;
  do {
    for (int i = 0; i < looks_per_time; ++i) {
      if (atomic_load_explicit(&pool.told, memory_order_relaxed) > number)
        return true;
      relax();
    }
  } while (now_ns() < end);
  return false;
}

static void look_out_for_end(void) {
  int64_t end = now_ns() + look_out_ns;
  do {
    for (int i = 0; i < looks_per_time; ++i) {
      if (atomic_load_explicit(&pool.inside, memory_order_relaxed) == 0)
        return;
      relax();
    }
  } while (now_ns() < end);
}

static bool is_awake(void) {
  return atomic_load_explicit(&pool.awake, memory_order_relaxed) != 0;
}

/* ------------------------------------------------------------------------------------------ */
/* The pool                                                                                     */

/* Linux at times wakes a thread on the CPU of the one that wakes it, though another is idle, and
 * leaves it there to wait for milliseconds. So a thread of the pool may not run where launches are
 * made: it is woken elsewhere, once it has seen one, even one that was over when it woke. */
typedef struct {
  int caller;
  cpu_set_t allowed, current; /* without regard to the caller; as it was last set */
} pool_place;

static void keep_away(pool_place *place, int caller) {
  cpu_set_t now;
  bool knows = place->caller >= 0;
  place->caller = caller;
  if (caller < 0 || sched_getaffinity(0, sizeof now, &now) != 0)
    return;
  if (!knows || !CPU_EQUAL(&now, &place->current))
    place->allowed = now; /* at first, and when other code has set it */
  cpu_set_t others = place->allowed;
  CPU_CLR((size_t)caller, &others);
  bool moved = CPU_COUNT(&others) && sched_setaffinity(0, sizeof others, &others) == 0;
  place->current = moved ? others : now;
}

static void help(shared_work *sharing, unsigned thread) {
  bool lacks;
  void *shared = take_group_memory(sharing->work, &lacks);
  if (!lacks)
    run_chunks(sharing, thread, shared);
  kdl_host_group_memory_give(shared);
}

/* A child that was forked in a loop, by a thread of the pool: there is no loop to go on with, and
 * the thread that began it is in the parent. */
static _Noreturn void end_child(void) {
  static const char words[] =
      "kdl: a process that was forked in kdl_host_parallel has returned to it: it ends here\n";
  enum { exit_lost = 70 };
  (void)!write(STDERR_FILENO, words, sizeof words - 1);
  _exit(exit_lost);
}

/* Called with the lock held, and returns with it. */
static bool wait_awake(void) {
  uint64_t number = pool.number;
  atomic_fetch_add_explicit(&pool.awake, 1, memory_order_relaxed);
  pthread_mutex_unlock(&pool.lock);
  bool more = look_out_for_work(number);
  take_lock();
  atomic_fetch_sub_explicit(&pool.awake, 1, memory_order_relaxed);
  return more;
}

/* On the CPUs that were counted: the thread that made this one may have been bound to one since.
 * Threads of the pool are numbered from 1 on; a launch's own is 0. */
static void *serve(void *number) {
  unsigned thread = (unsigned)(uintptr_t)number;
  if (knows_cpus)
    (void)sched_setaffinity(0, sizeof counted, &counted);
  uint64_t last = 0;
  bool recent = false; /* whether there was work a moment ago */
  pool_place place = {.caller = -1};
  take_lock();
  for (;;) {
    int caller = pool.caller;
    if (caller != place.caller) {
      pthread_mutex_unlock(&pool.lock);
      keep_away(&place, caller);
      take_lock();
    }
    if (!pool.work || pool.number == last) {
      if (recent)
        recent = wait_awake();
      else
        pthread_cond_wait(&pool.wake, &pool.lock);
      continue;
    }
    shared_work *sharing = pool.work;
    last = pool.number;
    atomic_fetch_add_explicit(&pool.inside, 1, memory_order_relaxed);
    pthread_mutex_unlock(&pool.lock);
    unsigned process = kdl_fork_count();
    help(sharing, thread);
    if (kdl_fork_count() != process)
      end_child();
    recent = looks_out;
    take_lock();
    if (atomic_fetch_sub_explicit(&pool.inside, 1, memory_order_relaxed) == 1)
      pthread_cond_signal(&pool.idle);
  }
  return NULL;
}

/* Called with the lock held. Fewer threads than wanted are as good. Signals of the program are not
 * theirs to handle. */
static void start_threads(unsigned wanted) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.started + 1 < wanted) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, (void *)(uintptr_t)(pool.started + 1)) != 0)
      break;
    pthread_detach(thread);
    ++pool.started;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* False in a child that was forked meanwhile: what other threads had begun is not done there, and
 * the pool is another. */
static bool run_shared(const kdl_host_work *work, uint64_t total, uint64_t first, void *shared) {
  unsigned threads = most_threads(), process = kdl_fork_count();
  uint64_t chunk = (total - first) / ((uint64_t)threads * chunks_per_thread);
  shared_work sharing; /* of whose shares most are not needed */
  sharing.work = work;
  sharing.chunk = chunk ? chunk : 1;
  sharing.count = threads < most_shares ? threads : most_shares;
  divide(&sharing, total, first);
  take_lock();
  start_threads(threads);
  pool.caller = sched_getcpu();
  pool.work = &sharing;
  uint64_t number = ++pool.number;
  pthread_cond_broadcast(&pool.wake);
  pthread_mutex_unlock(&pool.lock);
  atomic_store_explicit(&pool.told, number, memory_order_relaxed);
  run_chunks(&sharing, 0, shared);
  if (kdl_fork_count() != process)
    return false;
  take_lock();
  pool.work = NULL; /* no other joins */
  if (looks_out && atomic_load_explicit(&pool.inside, memory_order_relaxed)) {
    pthread_mutex_unlock(&pool.lock);
    look_out_for_end();
    take_lock();
  }
  while (atomic_load_explicit(&pool.inside, memory_order_relaxed))
    pthread_cond_wait(&pool.idle, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* A launch                                                                                     */

/* What is left must take longer than this to be shared. */
static int64_t worth_ns(bool awake) {
  int64_t ns = awake_ns + (int64_t)join_ns * most_threads();
  return awake && ns < wake_ns ? ns : wake_ns;
}

/* Runs groups, twice as many each time, until none is left or the rest is worth sharing. Returns
 * the first that was not run. */
static uint64_t run_alone(const kdl_host_work *work, uint64_t total, void *shared) {
  double worth = (double)worth_ns(is_awake());
  int64_t start = now_ns();
  uint64_t done = 0;
  for (uint64_t step = 1; done < total; step = done) {
    uint64_t left = total - done;
    step = step < left ? step : left;
    run_groups(work, done, done + step, shared);
    done += step;
    double spent = (double)(now_ns() - start);
    if (spent / (double)done * (double)(total - done) > worth)
      break;
  }
  return done;
}

/* Kinds of launches that were last worth sharing: the same kernel, as many groups. Programs launch
 * several kernels in turn, and two that fell upon one place would each forget the other: a place
 * has room for two, the last one first. */
enum { kind_bits = 7 };
typedef struct {
  atomic_uint_least64_t last, before;
} kind_place;
static kind_place worth_sharing[2][1 << kind_bits]; /* with threads that sleep, that are awake */

static uint64_t kind_of(const kdl_host_work *work, uint64_t total) {
  return ((uint64_t)(uintptr_t)work->run ^ work->origin) ^ total << 48;
}

static kind_place *place_of(uint64_t kind, bool awake) {
  /* By the golden ratio: the upper bits depend on all of the kind. */
  return &worth_sharing[awake][kind * UINT64_C(0x9e3779b97f4a7c15) >> (64 - kind_bits)];
}

static bool is_worth_sharing(uint64_t kind, bool awake) {
  kind_place *place = place_of(kind, awake);
  return atomic_load_explicit(&place->last, memory_order_relaxed) == kind ||
         atomic_load_explicit(&place->before, memory_order_relaxed) == kind;
}

static void note_kind(uint64_t kind, bool awake, bool is_worth) {
  kind_place *place = place_of(kind, awake);
  uint64_t last = atomic_load_explicit(&place->last, memory_order_relaxed);
  if (is_worth && !is_worth_sharing(kind, awake)) {
    atomic_store_explicit(&place->before, last, memory_order_relaxed);
    atomic_store_explicit(&place->last, kind, memory_order_relaxed);
  } else if (!is_worth && last == kind) {
    atomic_store_explicit(&place->last, 0, memory_order_relaxed);
  } else if (!is_worth && is_worth_sharing(kind, awake)) {
    atomic_store_explicit(&place->before, 0, memory_order_relaxed);
  }
}

static kdl_status is_forked(void) {
  return kdl_own_services.fail(KDL_DEVICE, 0,
                               "this process was forked within a loop or launch of the host, and "
                               "what other threads of the parent were at is not done here");
}

/* What is left after `first` groups, with the pool unless it is busy. */
static kdl_status run_rest(const kdl_host_work *work, uint64_t total, uint64_t first,
                           void *shared) {
  KDL_NOT_CANCELLED;
  if (pthread_mutex_trylock(&pool.busy) != 0) {
    run_groups(work, first, total, shared);
    return KDL_OK;
  }
  int64_t start = now_ns();
  if (!run_shared(work, total, first, shared))
    return is_forked();
  int64_t spent = now_ns() - start;
  uint64_t kind = kind_of(work, total);
  note_kind(kind, false, spent > worth_ns(false));
  note_kind(kind, true, spent > worth_ns(true));
  pthread_mutex_unlock(&pool.busy);
  return KDL_OK;
}

static kdl_status no_group_memory(const kdl_host_work *work) {
  return kdl_own_services.fail(KDL_NO_MEMORY, ENOMEM, "out of memory for %u bytes of group memory",
                               (unsigned)most_group_memory(work));
}

kdl_status kdl_host_run_here(const kdl_host_work *work, uint64_t total) {
  bool lacks;
  void *shared = take_group_memory(work, &lacks);
  if (lacks)
    return no_group_memory(work);
  run_groups(work, 0, total, shared);
  kdl_host_group_memory_give(shared);
  return KDL_OK;
}

kdl_status kdl_host_run(const kdl_host_work *work, uint64_t total) {
  bool lacks;
  void *shared = take_group_memory(work, &lacks);
  if (lacks)
    return no_group_memory(work);
  kdl_status status = KDL_OK;
  uint64_t first = 0, kind = kind_of(work, total);
  if (total == 1 || most_threads() == 1) {
    run_groups(work, 0, total, shared);
    first = total;
  } else if (!is_worth_sharing(kind, is_awake())) {
    first = run_alone(work, total, shared);
  }
  if (first < total)
    status = run_rest(work, total, first, shared);
  kdl_host_group_memory_give(shared);
  return status;
}
