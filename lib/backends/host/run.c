/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Groups over threads. The caller starts on its own and looks at the clock: only where what is left
 * takes longer alone than with threads of the pool do these help, and as many as pay, so that a
 * tiny launch costs the call of its groups. A launch like an earlier one that was shared is shared
 * from the start, since it is known how long it takes.
 */
#include "lib/backends/host/threads.h"
#include "support/base/cancel.h"

#include <errno.h>
#include <stdatomic.h>

/* ------------------------------------------------------------------------------------------ */
/* Groups                                                                                       */

/* Groups of one launch, from `first` on, of which there are `end`. Aligned, so that its loop takes
 * the same time whatever stands before it. */
static __attribute__((noinline, aligned(64))) void
host_run_launch(const kdl_host_work *work, uint64_t first, uint64_t end, void *shared) {
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

void kdl_host_run_groups(const kdl_host_work *work, uint64_t first, uint64_t end, void *shared) {
  host_run_groups(work, first, end, shared);
}

static uint32_t host_max_group_memory(const kdl_host_work *work) {
  uint32_t size = work->shape.shared_size;
  for (const kdl_host_work *at = work->next; at; at = at->next)
    size = size < at->shape.shared_size ? at->shape.shared_size : size;
  return size;
}

void *kdl_host_acquire_group_memory(const kdl_host_work *work, bool *out_is_missing) {
  uint32_t size = host_max_group_memory(work);
  void *memory = size ? kdl_host_group_memory_acquire(size) : NULL;
  *out_is_missing = size && !memory;
  return memory;
}

/* ------------------------------------------------------------------------------------------ */
/* What is known of launches                                                                    */

/* Launches that were last shared (the same kernel, as many groups) and how long they would take one
 * thread. Programs launch several kernels in turn, and two that fell upon one place would each
 * forget the other: a place has room for two, the last one first. The time is in the low bits of
 * the key, as four times its logarithm. */
enum { history_bits = 7, time_bits = 8, steps_per_octave = 4 };
typedef struct {
  atomic_uint_least64_t last, before;
} history_entry;
static history_entry host_launch_history[1 << history_bits];

static uint64_t host_launch_key(const kdl_host_work *work, uint64_t total) {
  uint64_t launch = ((uint64_t)(uintptr_t)work->run ^ work->origin) ^ total << 48;
  return launch * UINT64_C(0x9e3779b97f4a7c15); /* the upper bits depend on all of it */
}

static bool host_is_same_launch(uint64_t entry, uint64_t key) {
  return entry && (entry ^ key) >> time_bits == 0;
}

static uint64_t host_encode_time(double ns) {
  uint64_t code = 0;
  while (ns >= 2) {
    ns /= 2;
    code += steps_per_octave;
  }
  return code + (ns >= 1.68) + (ns >= 1.41) + (ns >= 1.19);
}

static double host_decode_time(uint64_t code) {
  static const double steps[steps_per_octave] = {1, 1.19, 1.41, 1.68};
  return (double)(UINT64_C(1) << code / steps_per_octave) * steps[code % steps_per_octave];
}

static history_entry *host_history_slot(uint64_t key) {
  return &host_launch_history[key >> (64 - history_bits)];
}

/* How long one thread takes; 0 where it is not known. */
static double host_known_ns(uint64_t key) {
  history_entry *at = host_history_slot(key);
  uint64_t entry = atomic_load_explicit(&at->last, memory_order_relaxed);
  if (!host_is_same_launch(entry, key))
    entry = atomic_load_explicit(&at->before, memory_order_relaxed);
  return host_is_same_launch(entry, key) ? host_decode_time(entry & ((1 << time_bits) - 1)) : 0;
}

static void host_record_launch(uint64_t key, double ns) {
  history_entry *at = host_history_slot(key);
  uint64_t last = atomic_load_explicit(&at->last, memory_order_relaxed);
  uint64_t before = atomic_load_explicit(&at->before, memory_order_relaxed);
  uint64_t entry = (key >> time_bits << time_bits) | host_encode_time(ns);
  if (entry == last || entry == before)
    return;
  if (host_is_same_launch(before, key)) {
    atomic_store_explicit(&at->before, entry, memory_order_relaxed);
  } else {
    if (!host_is_same_launch(last, key))
      atomic_store_explicit(&at->before, last, memory_order_relaxed);
    atomic_store_explicit(&at->last, entry, memory_order_relaxed);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* A launch                                                                                     */

/* How many of `most` threads so much work should have. */
static unsigned host_threads_that_pay(double work_ns, uint64_t groups, unsigned most) {
  kdl_host_costs costs = kdl_host_costs_get();
  most = groups < most ? (unsigned)groups : most;
  return kdl_host_threads_that_pay(&costs, kdl_host_pool_awake(), work_ns, most);
}

/* A launch that takes longer would be shared, were costs what they are supposed to be at first. */
static const double kept_from_sharing_ns = 20000;

/* A launch that was not shared took so long, of which sharing takes `least` at least. */
static void host_lower_costs(double spent, double least) {
  if (spent > kept_from_sharing_ns)
    kdl_host_costs_lower();
  if (spent > 2 * least)
    kdl_host_costs_lower_join();
}

/* Runs groups, four times as many each time, until none is left or others should help with them.
 * Returns the first that was not run, and by how many threads the others should be. */
static uint64_t host_run_until_shared(const kdl_host_work *work, uint64_t total, unsigned most,
                                      void *shared, unsigned *out_threads) {
  double spent = 0, least = kdl_host_pool_least_shared_ns();
  int64_t start = kdl_host_now_ns();
  uint64_t done = 0;
  for (uint64_t step = 1; done < total; step = 3 * done) {
    uint64_t left = total - done;
    step = step < left ? step : left;
    host_run_groups(work, done, done + step, shared);
    done += step;
    left -= step;
    spent = (double)(kdl_host_now_ns() - start);
    double left_ns = spent / (double)done * (double)left;
    if (left_ns > least) {
      *out_threads = host_threads_that_pay(left_ns, left, most);
      if (*out_threads > 1)
        return done;
    }
  }
  host_lower_costs(spent, least);
  return done;
}

static kdl_status host_fail_forked(void) {
  return kdl_core_services.fail(KDL_DEVICE, 0,
                                "this process was forked within a loop or launch of the host, and "
                                "what other threads of the parent were at is not done here");
}

static kdl_status host_no_group_memory(const kdl_host_work *work) {
  return kdl_core_services.fail(KDL_NO_MEMORY, ENOMEM, "out of memory for %u bytes of group memory",
                                (unsigned)host_max_group_memory(work));
}

kdl_status kdl_host_run_serial(const kdl_host_work *work, uint64_t total) {
  bool is_missing;
  void *shared = kdl_host_acquire_group_memory(work, &is_missing);
  if (is_missing)
    return host_no_group_memory(work);
  host_run_groups(work, 0, total, shared);
  kdl_host_group_memory_release(shared);
  return KDL_OK;
}

static kdl_status host_run_parallel(const kdl_host_work *work, uint64_t total, unsigned most,
                                    unsigned all, void *shared) {
  uint64_t first = 0, key = host_launch_key(work, total);
  double known = host_known_ns(key), group_ns;
  unsigned threads = known > 0 ? host_threads_that_pay(known, total, most) : 1;
  if (threads == 1)
    first = host_run_until_shared(work, total, most, shared, &threads);
  if (first == total)
    return KDL_OK;
  KDL_NOT_CANCELLED;
  if (!kdl_host_pool_run(work, first, total, threads, all, shared, &group_ns))
    return host_fail_forked();
  if (group_ns > 0)
    host_record_launch(key, group_ns * (double)total);
  return KDL_OK;
}

kdl_status kdl_host_run(const kdl_host_work *work, uint64_t total, uint32_t limit) {
  bool is_missing;
  unsigned all, most = total == 1 ? 1 : kdl_host_most_threads(limit, &all);
  if (most == 1)
    return kdl_host_run_serial(work, total);
  void *shared = kdl_host_acquire_group_memory(work, &is_missing);
  if (is_missing)
    return host_no_group_memory(work);
  kdl_status status = host_run_parallel(work, total, most, all, shared);
  kdl_host_group_memory_release(shared);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Awake threads                                                                                */

typedef struct host_muster {
  atomic_uint came;
  unsigned count;
  int64_t end_ns;
} host_muster;

static void host_wait_for_others(const kdl_host_group *group, const void *const *args) {
  host_muster *all = (host_muster *)(uintptr_t)args[0];
  (void)group;
  atomic_fetch_add(&all->came, 1);
  while (atomic_load_explicit(&all->came, memory_order_relaxed) < all->count &&
         kdl_host_now_ns() < all->end_ns)
    ;
}

unsigned kdl_host_wake_threads(unsigned count) {
  enum { most_wait_ns = 100000 };
  const kdl_host_thread_limits *limits = kdl_host_thread_limits_get();
  unsigned all, most = kdl_host_most_threads(0, &all), awake = kdl_host_pool_awake();
  double group_ns;
  count = count < most - 1 ? count : most - 1;
  if (awake >= count || !limits->may_spin)
    return awake;
  host_muster muster = {.count = count + 1, .end_ns = kdl_host_now_ns() + most_wait_ns};
  const void *args[] = {&muster};
  const kdl_host_work work = {.run = host_wait_for_others,
                              .args = args,
                              .shape.group_count = {count + 1, 1, 1},
                              .group_count = count + 1,
                              .end = count + 1};
  kdl_host_pool_run(&work, 0, count + 1, count + 1, all, NULL, &group_ns);
  return awake;
}
