/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One pool of threads for all launches of the process.
 *
 * A launch claims idle threads, starts those that are missing, and offers itself to them. Those
 * that sleep are woken one by one; threads that have accepted help with that. Where threads wake
 * quickly this forms a tree; where waking takes long, the caller has woken all of them before the
 * first one runs. Each thread has a share of the groups, the same one in each launch with as many
 * threads. It takes its share in chunks that shrink, then takes from other shares. So the same CPU
 * mostly reads what it wrote in the launch before, and a slow CPU or a late thread does less.
 *
 * Concurrent launches divide the threads among them, the calling threads included: a thread leaves
 * a launch that has more than its part. When all groups are taken, offers that no thread has
 * accepted are withdrawn.
 *
 * Programs make several launches in a row, each shorter than waking a thread takes. So a thread
 * spins for a moment after its work before it sleeps, if each thread can have a CPU.
 */
#include "lib/backends/host/thread_pool.h"
#include "support/system/lock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { settle_tries = 20 }; /* before others' cache lines are looked at */

kdl_host_thread_pool kdl_host_pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .caller = -1, .first_caller = -1};

/* Whether this thread has a part in a job: what it launches meanwhile it runs alone. */
static _Thread_local bool is_in_job;

/* In the child: its threads are gone, and locks that they held are not released. */
static void host_pool_after_fork(void) {
  pthread_mutex_init(&kdl_host_pool.lock, NULL);
  for (unsigned i = 0; i < kdl_host_pool.started; ++i) {
    atomic_store(&kdl_host_pool.workers[i].offer, NULL);
    atomic_store(&kdl_host_pool.workers[i].sleeps, 0);
  }
  for (unsigned i = 0; i < bitmap_words; ++i) {
    atomic_store(&kdl_host_pool.idle[i], 0);
    atomic_store(&kdl_host_pool.asleep[i], 0);
  }
  kdl_host_pool.started = kdl_host_pool.job_count = 0;
  kdl_host_pool.jobs = NULL;
}

/* Without memory there are no threads. */
static void host_create_pool(void) {
  size_t size = kdl_host_thread_limits_get()->total * sizeof *kdl_host_pool.workers;
  kdl_host_pool.workers = aligned_alloc(_Alignof(worker), size);
  if (kdl_host_pool.workers)
    memset(kdl_host_pool.workers, 0, size);
  kdl_host_pool.first_caller = sched_getcpu();
  kdl_fork_tell(host_pool_after_fork);
}

int64_t kdl_host_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t host_awake_word(unsigned i) {
  return atomic_load_explicit(&kdl_host_pool.idle[i], memory_order_relaxed) &
         ~atomic_load_explicit(&kdl_host_pool.asleep[i], memory_order_relaxed);
}

unsigned kdl_host_pool_awake(void) {
  unsigned awake = 0;
  for (unsigned i = 0; i < bitmap_words; ++i)
    awake += (unsigned)__builtin_popcountll(host_awake_word(i));
  return awake;
}

double kdl_host_pool_least_shared_ns(void) {
  bool has_awake = host_awake_word(0) != 0; /* the first are used first */
  const kdl_host_costs costs = kdl_host_costs_get();
  return kdl_host_least_shared_ns(costs.enter_ns, costs.begin_ns[!has_awake]);
}

/* ------------------------------------------------------------------------------------------ */
/* Groups                                                                                       */

static bool host_may_stay(const job *of, unsigned position) {
  return position == 0 || position < atomic_load_explicit(&of->allowed, memory_order_relaxed);
}

/* Takes a chunk of the share; its end where there is none left. */
static uint64_t host_take_chunk(share *of, uint64_t *out_count) {
  uint64_t next = atomic_load_explicit(&of->next, memory_order_relaxed);
  do {
    if (next >= of->end)
      return of->end;
    *out_count = kdl_host_chunk(of->end - next);
  } while (!atomic_compare_exchange_weak_explicit(&of->next, &next, next + *out_count,
                                                  memory_order_relaxed, memory_order_relaxed));
  return next;
}

/* Returns how many groups this thread ran. */
static uint64_t host_run_chunks(job *of, unsigned position, void *shared) {
  uint64_t ran = 0;
  for (unsigned i = 0; i < of->share_count; ++i) {
    share *from = &of->shares[(position + i) % of->share_count];
    for (uint64_t first, count;
         host_may_stay(of, position) && (first = host_take_chunk(from, &count)) < from->end;) {
      kdl_host_run_groups(of->work, first, first + count, shared);
      ran += count;
      if (position == 0)
        kdl_host_job_claim_more(of);
    }
  }
  return ran;
}

/* ------------------------------------------------------------------------------------------ */
/* Threads of a job                                                                             */

static void host_set_bit(atomic_uint_least64_t *bitmap, unsigned at) {
  atomic_fetch_or_explicit(&bitmap[at / bits], UINT64_C(1) << at % bits, memory_order_release);
}

static void host_clear_bit(atomic_uint_least64_t *bitmap, unsigned at) {
  atomic_fetch_and_explicit(&bitmap[at / bits], ~(UINT64_C(1) << at % bits), memory_order_relaxed);
}

/* To positions from `first` to `end`. Threads that are awake see it without more; the fence comes
 * before the caller looks which are not. Without one for each, the stores take place at once. */
void kdl_host_pool_offer(job *of, unsigned first, unsigned end) {
  for (unsigned i = first; i < end; ++i) {
    worker *to = &kdl_host_pool.workers[of->workers[i]];
    to->position = i;
    atomic_store_explicit(&to->offer, of, memory_order_release);
  }
  atomic_thread_fence(memory_order_seq_cst);
}

static bool host_is_asleep(unsigned number) {
  return atomic_load_explicit(&kdl_host_pool.asleep[number / bits], memory_order_relaxed) >>
             number % bits &
         1;
}

/* The caller may have come to the one CPU that is left to a thread which avoids the other. The
 * thread would wait there for milliseconds, before it could move. */
static void host_free_from_caller(const worker *of) {
  int caller = atomic_load_explicit(&kdl_host_pool.caller, memory_order_relaxed);
  int avoided = atomic_load_explicit(&of->avoided_cpu, memory_order_relaxed);
  if (avoided < 0 || caller != atomic_load_explicit(&of->only_cpu, memory_order_relaxed))
    return;
  cpu_set_t both;
  CPU_ZERO(&both);
  CPU_SET((size_t)caller, &both);
  CPU_SET((size_t)avoided, &both);
  (void)sched_setaffinity(of->id, sizeof both, &both);
}

/* Returns whether the thread slept. */
bool kdl_host_pool_wake(unsigned number) {
  worker *to = &kdl_host_pool.workers[number];
  bool slept = host_is_asleep(number) && atomic_exchange(&to->sleeps, 0);
  if (slept) {
    host_free_from_caller(to);
    host_futex_wake(&to->sleeps);
  }
  return slept;
}

/* Wakes threads that have the offer, until none sleeps; others do the same. Returns how many it has
 * looked at. */
static unsigned host_wake_others(job *of) {
  unsigned count = 0;
  for (;; ++count) {
    unsigned position = atomic_load_explicit(&of->next_wake, memory_order_acquire);
    if (position < of->offer_end)
      position = atomic_fetch_add_explicit(&of->next_wake, 1, memory_order_relaxed);
    if (position >= of->offer_end)
      return count;
    bool slept = kdl_host_pool_wake(of->workers[position]);
    if (position == 1) /* which is the caller's to wake */
      of->was_asleep = slept;
  }
}

/* Hands the job to all that were claimed. Where all of them are awake, there is nothing for the
 * others to do. Returns to how many it was handed by this thread. */
static unsigned host_hand_out(job *of) {
  bool sleeps = false;
  kdl_host_pool_offer(of, 1, of->offer_end);
  for (unsigned i = 1; i < of->offer_end && !sleeps; ++i)
    sleeps = host_is_asleep(of->workers[i]);
  if (!sleeps)
    return of->offer_end - 1;
  atomic_store_explicit(&of->next_wake, 1, memory_order_release); /* behind the fence */
  return host_wake_others(of);
}

/* A thread of the pool has taken the job. */
static void host_join_job(job *of, unsigned position) {
  if (position == 1 && host_may_spin())
    atomic_store_explicit(&of->began_ns, kdl_host_now_ns(), memory_order_relaxed);
  (void)host_wake_others(of);
  bool is_missing;
  void *shared = kdl_host_acquire_group_memory(of->work, &is_missing);
  if (!is_missing)
    (void)host_run_chunks(of, position, shared);
  kdl_host_group_memory_release(shared);
}

/* The job is no longer there when its last thread has left. */
static void host_leave_job(job *of, unsigned number) {
  atomic_uint *members = &of->members;
  host_set_bit(kdl_host_pool.idle, number);
  unsigned before = atomic_fetch_sub_explicit(members, 1, memory_order_acq_rel);
  if (before == (JOB_CALLER_SLEEPS | 1))
    host_futex_wake(members);
}

/* ------------------------------------------------------------------------------------------ */
/* Threads of the pool                                                                          */

/* Linux at times wakes a thread on the CPU of the one that wakes it, though another is idle, and
 * leaves it there to wait for milliseconds. So a thread of the pool may not run where launches are
 * made: it is woken elsewhere, once it has seen one, even one that was over when it woke. */
typedef struct {
  int caller;
  cpu_set_t allowed, current; /* without regard to the caller; as it was last set */
} thread_affinity;

static void host_avoid_caller_cpu(worker *self, thread_affinity *state) {
  int caller = atomic_load_explicit(&kdl_host_pool.caller, memory_order_relaxed);
  if (caller == state->caller)
    return;
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
  bool has_two = moved && CPU_COUNT(&state->allowed) == 2 && CPU_COUNT(&others) == 1;
  int only = 0;
  while (has_two && !CPU_ISSET((size_t)only, &others))
    ++only;
  atomic_store_explicit(&self->only_cpu, only, memory_order_relaxed);
  atomic_store_explicit(&self->avoided_cpu, has_two ? caller : -1, memory_order_relaxed);
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

static bool host_has_offer(void *self) {
  return atomic_load_explicit(&((worker *)self)->offer, memory_order_relaxed);
}

/* Sleeps until there may be an offer. */
static void host_sleep(worker *self, unsigned number) {
  host_set_bit(kdl_host_pool.asleep, number);
  atomic_store(&self->sleeps, 1);
  atomic_thread_fence(memory_order_seq_cst); /* as in kdl_host_pool_offer */
  if (!atomic_load(&self->offer))
    host_futex_wait(&self->sleeps, 1);
  atomic_store(&self->sleeps, 0);
  host_clear_bit(kdl_host_pool.asleep, number);
}

/* To its place, of the CPUs that were counted: the thread that made this one may have been bound to
 * one since. */
static void host_bind_thread(unsigned number) {
  const kdl_host_thread_limits *limits = kdl_host_thread_limits_get();
  const kdl_host_place *place =
      kdl_host_place_of(kdl_host_places_get(), kdl_host_pool.first_caller, number);
  const cpu_set_t *set = place ? &place->cpus : limits->has_cpu_set ? &limits->cpu_set : NULL;
  if (set)
    (void)sched_setaffinity(0, sizeof *set, set);
}

/* A program's handler of crashes (SA_ONSTACK) works where a kernel has filled the stack: its own is
 * at the other end. ASan makes one before. */
static void host_use_signal_stack(void *room, size_t size) {
  stack_t stack = {.ss_sp = room, .ss_size = size}, before;
  if (sigaltstack(NULL, &before) == 0 && before.ss_flags & SS_DISABLE)
    sigaltstack(&stack, NULL);
}

static void *host_pool_thread(void *number_of) {
  char signal_stack[32 << 10]; /* AMX's registers alone take 11 KiB */
  unsigned number = (unsigned)(uintptr_t)number_of;
  worker *self = &kdl_host_pool.workers[number];
  const kdl_host_thread_limits *limits = kdl_host_thread_limits_get();
  char name[16];
  snprintf(name, sizeof name, "kdl-worker-%u", (number + 1) % KDL_HOST_MAX_THREADS);
  pthread_setname_np(pthread_self(), name);
  host_use_signal_stack(signal_stack, sizeof signal_stack);
  self->id = (pid_t)syscall(SYS_gettid);
  atomic_store(&self->avoided_cpu, -1);
  host_bind_thread(number);
  thread_affinity affinity = {.caller = -1};
  bool recent = false; /* whether there was work a moment ago */
  is_in_job = true;
  for (;;) {
    host_avoid_caller_cpu(self, &affinity);
    job *offered = atomic_load_explicit(&self->offer, memory_order_acquire);
    if (!offered) {
      if (recent)
        recent = host_spin_until(host_has_offer, self);
      else
        host_sleep(self, number);
      continue;
    }
    if (!atomic_compare_exchange_strong(&self->offer, &offered, NULL))
      continue; /* taken back */
    unsigned process = kdl_fork_count();
    host_join_job(offered, self->position);
    if (kdl_fork_count() != process)
      host_exit_forked_child();
    recent = limits->may_spin;
    host_leave_job(offered, number);
  }
  return NULL;
}

/* Called with the lock held. Signals of the program are not theirs to handle, but for those of a
 * kernel's own crash, which end the process without a handler where they are blocked. The new
 * thread is claimed. */
bool kdl_host_pool_start_thread(void) {
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  sigset_t all, before;
  pthread_t thread;
  if (!kdl_host_pool.workers)
    return false;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; ++i)
    sigdelset(&all, crashes[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool has_started = pthread_create(&thread, NULL, host_pool_thread,
                                    (void *)(uintptr_t)kdl_host_pool.started) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (has_started) {
    pthread_detach(thread);
    ++kdl_host_pool.started;
  }
  return has_started;
}

/* ------------------------------------------------------------------------------------------ */
/* The end of a job                                                                             */

/* Takes the job back from threads that have not begun. */
static void host_take_back(job *of) {
  unsigned count = 0;
  atomic_store_explicit(&of->next_wake, of->offer_end, memory_order_relaxed);
  for (unsigned i = 1; i < of->claimed; ++i) {
    job *expected = of;
    if (!atomic_compare_exchange_strong(&kdl_host_pool.workers[of->workers[i]].offer, &expected,
                                        NULL))
      continue;
    host_set_bit(kdl_host_pool.idle, of->workers[i]);
    ++count;
  }
  atomic_fetch_sub_explicit(&of->members, count, memory_order_relaxed);
}

static bool host_is_settled(void *of) {
  return !(atomic_load_explicit(&((job *)of)->members, memory_order_acquire) & ~JOB_CALLER_SLEEPS);
}

static bool host_settles_at_once(job *of) {
  for (int i = 0; i < settle_tries && !host_is_settled(of); ++i)
    host_cpu_relax();
  return host_is_settled(of);
}

/* Until no thread has the job. */
static void host_settle(job *of) {
  while (!host_settles_at_once(of)) {
    host_take_back(of);
    if (host_is_settled(of) || (host_may_spin() && host_spin_until(host_is_settled, of)))
      return;
    unsigned members =
        atomic_fetch_or_explicit(&of->members, JOB_CALLER_SLEEPS, memory_order_acquire);
    if (members & ~JOB_CALLER_SLEEPS)
      host_futex_wait(&of->members, members | JOB_CALLER_SLEEPS);
    atomic_fetch_and_explicit(&of->members, ~JOB_CALLER_SLEEPS, memory_order_relaxed);
  }
}

/* ------------------------------------------------------------------------------------------ */

/* How fast the thread at that position is, to the others. */
static unsigned host_weight(const kdl_host_places *places, const job *of, unsigned position) {
  if (places->count < 2)
    return 1;
  int caller = atomic_load_explicit(&kdl_host_pool.caller, memory_order_relaxed);
  const kdl_host_place *place =
      position == 0 ? kdl_host_place_with(places, caller)
                    : kdl_host_place_of(places, kdl_host_pool.first_caller, of->workers[position]);
  return place ? place->capacity : KDL_HOST_FULL_CAPACITY;
}

static void host_divide_groups(job *of, uint64_t first, uint64_t total) {
  const kdl_host_places *places = kdl_host_places_get();
  unsigned weights = 0, before = 0;
  of->share_count = of->claimed < max_shares ? of->claimed : max_shares;
  for (unsigned i = 0; i < of->share_count; ++i)
    weights += host_weight(places, of, i);
  for (unsigned i = 0; i < of->share_count; ++i) {
    uint64_t begin = kdl_host_share_begin(total, weights, before);
    before += host_weight(places, of, i);
    of->shares[i].end = kdl_host_share_begin(total, weights, before);
    atomic_init(&of->shares[i].next, begin < first ? first : begin);
  }
}

bool kdl_host_pool_run(const kdl_host_work *work, uint64_t first, uint64_t total, unsigned threads,
                       unsigned all_threads, void *shared, double *out_group_ns) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  *out_group_ns = 0;
  if (is_in_job) {
    kdl_host_run_groups(work, first, total, shared);
    return true;
  }
  pthread_once(&once, host_create_pool);
  unsigned process = kdl_fork_count();
  int64_t start = kdl_host_now_ns();
  job own; /* whose arrays are mostly not needed */
  own.work = work;
  own.limit = threads;
  own.total = all_threads;
  own.claimed = 1;
  own.is_new = false;
  own.next = NULL;
  atomic_init(&own.began_ns, 0);
  own.was_asleep = false;
  is_in_job = true;
  kdl_host_job_enter(&own);
  own.offer_end = own.claimed;
  atomic_init(&own.next_wake, own.offer_end);
  atomic_init(&own.members, own.claimed - 1);
  host_divide_groups(&own, first, total);
  int64_t entered = kdl_host_now_ns();
  unsigned offers = host_hand_out(&own);
  int64_t begin = kdl_host_now_ns();

  uint64_t ran = host_run_chunks(&own, 0, shared);
  int64_t end = kdl_host_now_ns();
  is_in_job = false;
  if (kdl_fork_count() != process)
    return false;
  kdl_host_job_exit(&own);
  host_settle(&own);
  int64_t began = atomic_load_explicit(&own.began_ns, memory_order_relaxed);
  if (began && offers && !own.is_new)
    kdl_host_costs_record(own.was_asleep, entered - start, began - entered,
                          (begin - entered) / offers);
  if (!ran)
    return true;
  *out_group_ns = (double)(end - begin) / (double)ran;
  if (end - begin < KDL_HOST_SHORT_NS) /* another may have been at its last group */
    kdl_host_costs_record_join(kdl_host_now_ns() - end - (int64_t)*out_group_ns);
  return true;
}
