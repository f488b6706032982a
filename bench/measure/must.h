/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What goes wrong ends the program: it would be measured as something fast. */
#ifndef KDL_BENCH_MEASURE_MUST_H
#define KDL_BENCH_MEASURE_MUST_H

#include <kdl/kdl.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* "bench_launch: kdl_open: ..." */
static inline _Noreturn void bench_die(const char *what) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, kdl_error_message());
  exit(1);
}

static inline void bench_require(kdl_status status, const char *what) {
  if (status != KDL_OK)
    bench_die(what);
}

/* Of a driver that is called directly. */
static inline void bench_require_call(int error, const char *call) {
  if (error) {
    fprintf(stderr, "%s: %s: error %d\n", program_invocation_short_name, call, error);
    exit(1);
  }
}

#endif
