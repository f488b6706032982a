/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images and a device to choose for. */
#ifndef KDL_BENCH_SUITES_PROBLEM_H
#define KDL_BENCH_SUITES_PROBLEM_H

#include "select/selector.h"

typedef struct problem {
  kdl_preference order;
  kdl_device_rule device;
  size_t expected; /* what is to be chosen; `count`: nothing */
  const char **triples;
  const char **archs;
  size_t count;
  const char *device_triple; /* as LLVM is told */
  const char *device_arch;
} problem;

/* Three images, of which the last in preference fits, so that every one is looked at. */
kdl_status problem_of_three(problem *out_problem);

/* So many images that a library for all devices holds, none of which fits an H200. */
kdl_status problem_of_many(size_t count, problem *out_problem);
void problem_free(problem *asked);

/* One choice, with nothing remembered. Not inlined, so that callgrind can tell it apart. */
__attribute__((noinline)) size_t problem_choose(const problem *asked);

#endif
