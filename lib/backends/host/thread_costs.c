/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What sharing a launch costs, as it was measured in recent launches. */
#include "lib/backends/host/threads.h"

#include <kdl/extension.h>
#include <kdl/launch.h>

#include <stdatomic.h>

enum {
  first_asleep_ns = 10000, /* until they are measured */
  first_awake_ns = 1000,
  first_enter_ns = 500,
  max_known_ns = 1000000,
  sample_jump = 4,    /* no sample counts for more than so many times what is known */
  sample_weight = 16, /* so many longer samples count as much as one shorter */
  join_weight = 16,   /* of the average */
  join_memory = 256,  /* launches that are not shared, until it is a third */
};

/* kdl_host_costs */
static struct {
  atomic_uint enter_ns, begin_ns[2], offer_ns[2];
  atomic_uint join_ns;
} known = {.enter_ns = first_enter_ns,
           .begin_ns = {first_awake_ns, first_asleep_ns},
           .offer_ns = {first_awake_ns / 10, first_asleep_ns / 10}};

static unsigned load_ns(const atomic_uint *ns) {
  return atomic_load_explicit(ns, memory_order_relaxed);
}

kdl_host_costs kdl_host_costs_get(void) {
  kdl_host_costs costs = {.enter_ns = load_ns(&known.enter_ns), .join_ns = load_ns(&known.join_ns)};
  for (int i = 0; i < 2; ++i) {
    costs.begin_ns[i] = load_ns(&known.begin_ns[i]);
    costs.offer_ns[i] = load_ns(&known.offer_ns[i]);
  }
  return costs;
}

/* A shorter sample replaces what is known; a longer one raises it slowly, since other processes may
 * have kept the thread from its CPU. */
static void record_ns(atomic_uint *of, int64_t ns) {
  int64_t before = load_ns(of);
  if (ns > before) {
    ns = ns < sample_jump * before ? ns : sample_jump * before;
    ns = before + (ns - before) / sample_weight + 1;
  }
  if (ns > 0 && ns < max_known_ns)
    atomic_store_explicit(of, (unsigned)ns, memory_order_relaxed);
}

void kdl_host_costs_record(bool was_asleep, int64_t enter_ns, int64_t begin_ns, int64_t offer_ns) {
  record_ns(&known.enter_ns, enter_ns);
  record_ns(&known.begin_ns[was_asleep], begin_ns);
  record_ns(&known.offer_ns[was_asleep], offer_ns);
}

/* An average, and not the least: a thread that loses its CPU once in a hundred launches costs more
 * than the others bring. */
void kdl_host_costs_record_join(int64_t ns) {
  int64_t before = load_ns(&known.join_ns);
  ns = ns < 0 ? 0 : ns < max_known_ns ? ns : max_known_ns;
  atomic_store_explicit(&known.join_ns, (unsigned)(before + (ns - before) / join_weight),
                        memory_order_relaxed);
}

void kdl_host_costs_lower_join(void) {
  unsigned ns = load_ns(&known.join_ns);
  if (ns)
    atomic_store_explicit(&known.join_ns, ns - ns / join_memory - 1, memory_order_relaxed);
}

static void lower_ns(atomic_uint *of, unsigned first_ns) {
  unsigned ns = load_ns(of);
  if (ns > first_ns)
    atomic_store_explicit(of, ns - (ns - first_ns) / sample_weight - 1, memory_order_relaxed);
}

void kdl_host_costs_lower(void) {
  lower_ns(&known.enter_ns, first_enter_ns);
  lower_ns(&known.begin_ns[false], first_awake_ns);
  lower_ns(&known.begin_ns[true], first_asleep_ns);
  lower_ns(&known.offer_ns[false], first_awake_ns / 10);
  lower_ns(&known.offer_ns[true], first_asleep_ns / 10);
}

uint32_t kdl_host_launch_ns(uint32_t threads) {
  unsigned total = kdl_host_thread_limits_get()->total;
  kdl_host_costs costs = kdl_host_costs_get();
  return (uint32_t)kdl_host_sharing_ns(&costs, 0, threads < total ? threads : total);
}
