/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads of the host: how many there may be, how many pay for a launch, and the pool that has
 * them. thread_count.c, thread_places.c, thread_plan.c, thread_costs.c, thread_pool.c and
 * thread_claims.c; run.c uses them for launches.
 */
#ifndef KDL_LIB_BACKENDS_HOST_THREADS_H
#define KDL_LIB_BACKENDS_HOST_THREADS_H

#include "lib/backends/host/host.h"

#include <sched.h>
#include <stdbool.h>

/* ------------------------------------------------------------------------------------------ */
/* How many there may be                                                                        */

enum { KDL_HOST_MAX_THREADS = 1024 };

typedef struct kdl_host_thread_limits {
  unsigned total;     /* that run at once, those that launch included */
  unsigned unlimited; /* of a launch that nothing limits: at most `total` */
  bool may_spin;      /* whether each of `total` can have a CPU, so that one may wait awake */
  bool has_cpu_set;
  cpu_set_t cpu_set; /* that they run on */
} kdl_host_thread_limits;

/* CPUs that the process's cgroup allows by its quota, and those above it, in thousandths; 0: any
 * number. `root` is "", or a folder with `proc` and `sys` in it. */
uint64_t kdl_host_cgroup_millicpus(const char *root);

/* From KDL_HOST_THREADS, else the affinity mask and the cgroup's quota, and OMP_NUM_THREADS. */
void kdl_host_read_thread_limits(const char *root, kdl_host_thread_limits *out_limits);

/* The same of this process, read once. */
const kdl_host_thread_limits *kdl_host_thread_limits_get(void);

/* How many threads a launch with that limit may have; 0: it has none, and that of the calling
 * thread counts. *out_all is how many may run at once for all launches. */
unsigned kdl_host_most_threads(uint32_t limit, unsigned *out_all);

/* ------------------------------------------------------------------------------------------ */
/* Where they run                                                                               */

enum { KDL_HOST_MAX_PLACES = 64, KDL_HOST_FULL_CAPACITY = 1024 };

/* The CPUs of a NUMA node that are equally fast, as far as Linux knows. */
typedef struct kdl_host_place {
  cpu_set_t cpus;
  unsigned cpu_count;
  unsigned node;
  unsigned kind;     /* 1: a core of the slow kind whose capacity is not known */
  unsigned capacity; /* how fast, of KDL_HOST_FULL_CAPACITY */
} kdl_host_place;

typedef struct kdl_host_places {
  unsigned count;
  kdl_host_place places[KDL_HOST_MAX_PLACES]; /* by node, the fast ones of a node first */
} kdl_host_places;

/* Of the CPUs in `allowed`. `root` is "", or a folder with `sys` in it. */
void kdl_host_read_places(const char *root, const cpu_set_t *allowed, kdl_host_places *out_places);

/* Of this process, read once. */
const kdl_host_places *kdl_host_places_get(void);

/* Where a CPU is; NULL: not known. */
const kdl_host_place *kdl_host_place_with(const kdl_host_places *places, int cpu);

/* Where thread `number` of the pool of a thread on that CPU runs; NULL: anywhere. */
const kdl_host_place *kdl_host_place_of(const kdl_host_places *places, int caller, unsigned number);

/* ------------------------------------------------------------------------------------------ */
/* How many pay                                                                                 */

/* What sharing a launch takes. Those of threads that are awake come first, of those that sleep
 * second. */
typedef struct kdl_host_costs {
  double enter_ns;    /* the caller, before it hands the launch to any thread */
  double begin_ns[2]; /* the first thread, until it has begun */
  double offer_ns[2]; /* to hand the launch to one thread */
  double join_ns;     /* the caller waits for others after a short launch, on average: they may have
                         lost their CPU to another process */
} kdl_host_costs;

/* As they were measured in recent launches (thread_costs.c). */
kdl_host_costs kdl_host_costs_get(void);
void kdl_host_costs_record(bool was_asleep, int64_t enter_ns, int64_t begin_ns, int64_t offer_ns);

void kdl_host_costs_record_join(int64_t ns);

/* Brings the costs closer to what they were assumed to be at first. While they are so high that no
 * launch is shared, nothing measures them. For a launch that would have been shared by those costs,
 * or but for the wait at its end. */
void kdl_host_costs_lower(void);
void kdl_host_costs_lower_join(void);

/* What it costs to run on so many threads, where `awake` others are awake. */
double kdl_host_sharing_ns(const kdl_host_costs *costs, unsigned awake, unsigned threads);

/* Less work than this is for the caller alone. With T threads, work W pays where W / T and the
 * costs are less than W, and they are at least twice enter_ns and begin_ns of all but the caller
 * divided by T. */
static inline double kdl_host_least_shared_ns(double enter_ns, double begin_ns) {
  return 2 * enter_ns + begin_ns;
}

/* Launches on which a thread spends longer are no measure of the wait at their end. */
enum { KDL_HOST_SHORT_NS = 20000 };

/* How many threads, at most `most`, finish first what takes one thread `work_ns`. 1: none but the
 * caller. */
unsigned kdl_host_threads_that_pay(const kdl_host_costs *costs, unsigned awake, double work_ns,
                                   unsigned most);

/* The first group of share `i` of `count`; that of share `count` is `total`. Also of shares with
 * weights, whose sum is `count`, behind those whose sum is `i`. */
uint64_t kdl_host_share_begin(uint64_t total, unsigned count, unsigned i);

/* How many of the groups that are left in a share a thread takes next. */
uint64_t kdl_host_chunk(uint64_t left);

/* ------------------------------------------------------------------------------------------ */
/* The pool                                                                                     */

/* Threads of the pool that wait awake. */
unsigned kdl_host_pool_awake(void);

/* kdl_host_least_shared_ns, as it is now. */
double kdl_host_pool_least_shared_ns(void);

/* Runs groups `first` to `total` on this thread and up to `threads` - 1 of the pool, as far as they
 * are not needed by other launches and no more than `all_threads` run at once for all of them. The
 * time that one group took is left at *out_group_ns; 0 where it is not known. False in a child that
 * was forked meanwhile: what other threads had begun is not done there. */
bool kdl_host_pool_run(const kdl_host_work *work, uint64_t first, uint64_t total, unsigned threads,
                       unsigned all_threads, void *shared, double *out_group_ns);

/* Groups `first` to `end` on this thread. */
void kdl_host_run_groups(const kdl_host_work *work, uint64_t first, uint64_t end, void *shared);

/* NULL where none is needed, and where there is none: *out_is_missing. */
void *kdl_host_acquire_group_memory(const kdl_host_work *work, bool *out_is_missing);

int64_t kdl_host_now_ns(void);

#endif
