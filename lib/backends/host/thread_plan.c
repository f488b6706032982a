/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is decided about threads without looking at any. */
#include "lib/backends/host/threads.h"

/* A CPU of an eighth of the others' speed has run its first chunk when they are done. */
enum { chunk_part = 8 };

/* The caller works while threads come, so that what they come too late for is divided among all, as
 * is what it spends on handing the launch to them. That they help with that is left out. A thread
 * leaves by what it takes to hand a launch to one that is awake. */
double kdl_host_sharing_ns(const kdl_host_costs *costs, unsigned awake, unsigned threads) {
  if (threads < 2)
    return 0;
  bool sleeps = threads - 1 > awake;
  double others = threads - 1;
  double late = costs->begin_ns[sleeps] * others + costs->offer_ns[sleeps] * others * others / 2;
  double own = costs->offer_ns[sleeps] * others;
  return 2 * costs->enter_ns + costs->offer_ns[false] * others + (late + own) / threads +
         costs->join_ns;
}

unsigned kdl_host_threads_that_pay(const kdl_host_costs *costs, unsigned awake, double work_ns,
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
