/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A library with bitcode that is specialized for `n`; the fake kdl-ld gives mark3 for it in
 * general, and mark1 with values. */
#ifndef KDL_TESTS_UNIT_SPECIALIZE_SUPPORT_H
#define KDL_TESTS_UNIT_SPECIALIZE_SUPPORT_H

#include "bitcode_support.h"
#include "lib/binding/specialize.h"
#include "lib/inspect/launches.h"

#include <time.h>

enum { general = 3, folded = 1, repeats = 5 };

static const mixed_row for_n[] = {{NULL, NULL, MARK "; names=out n; specialize=n block", NULL}};

static inline int begin_specialize(void **state) {
  begin_test(state);
  setenv("KDL_FAKE_LD_FOLDED_IMAGE", KDL_TEST_IMAGES "/mark1.so", 1);
  unsetenv("KDL_FAKE_LD_FOLDED");
  setenv("KDL_SPECIALIZE", "auto,5", 1);
  setenv("KDL_LD", KDL_TEST_FAKES "/linker/kdl-ld", 1);
  return 0;
}

static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline unsigned count_ready(const kdl_kernel *kernel) {
  unsigned ready, failed;
  kdl_kernel_count_specialized(kernel, &ready, &failed);
  return ready;
}

static inline unsigned count_failed(const kdl_kernel *kernel) {
  unsigned ready, failed;
  kdl_kernel_count_specialized(kernel, &ready, &failed);
  return failed;
}

static inline void launch_often(kdl_kernel *mark, uint32_t n, unsigned times) {
  for (unsigned i = 0; i < times; ++i)
    (void)run_mark(mark, n);
}

/* Waits for work in the background. */
static inline bool wait_until(const kdl_kernel *mark, unsigned (*count)(const kdl_kernel *kernel),
                              unsigned least) {
  double until = seconds_now() + rounds_of(20, 1);
  while (count(mark) < least && seconds_now() < until)
    usleep(1000);
  return count(mark) >= least;
}

#endif
