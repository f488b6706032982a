/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is decided about threads without looking at any. */
#include "lib/backends/host/threads.h"

/* A thread that is awake sees the launch, takes it, is counted in, and begins: as many cache lines.
 * It is counted out by one. */
static const double transfers_per_handoff = 4;

/* A CPU of an eighth of the others' speed has run its first chunk when they are done. */
enum { chunk_part = 8 };

/* Two threads have begun after one handoff, four more after another. The others work meanwhile, so
 * that what a thread comes too late for is divided among all. */
double kdl_host_sharing_ns(const kdl_host_handoff *costs, unsigned awake, unsigned threads) {
  if (threads < 2)
    return 0;
  bool are_awake = threads - 1 <= awake;
  double handoff = are_awake ? costs->awake_ns : costs->asleep_ns, late = 0;
  double own = are_awake ? costs->caller_awake_ns : costs->caller_asleep_ns;
  unsigned left = threads - 1;
  for (unsigned level = 1, size = 2; left; ++level, size *= 2) {
    unsigned begin = size < left ? size : left;
    late += handoff * level * begin;
    left -= begin;
  }
  own += costs->caller_awake_ns; /* in the end about as much as with threads that are awake */
  return own + late / threads + costs->awake_ns / transfers_per_handoff * (threads - 1);
}

unsigned kdl_host_threads_that_pay(const kdl_host_handoff *costs, unsigned awake, double work_ns,
                                   unsigned most) {
  unsigned best = 1;
  double best_ns = work_ns;
  for (unsigned threads = 2; best != most; threads *= 2) {
    threads = threads < most ? threads : most;
    double ns = work_ns / threads + kdl_host_sharing_ns(costs, awake, threads);
    if (ns < best_ns) {
      best = threads;
      best_ns = ns;
    }
    if (threads == most)
      break;
  }
  return best;
}

uint64_t kdl_host_share_begin(uint64_t total, unsigned count, unsigned i) {
  return total / count * i + total % count * i / count;
}

uint64_t kdl_host_chunk(uint64_t left) {
  return left / chunk_part + (left % chunk_part != 0);
}
