/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launches from C, for bench/python/launch.py: what no binding can be faster than. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef int cu_launch(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
                      void **extra);

static double now_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Seconds of `count` launches of a kernel like saxpy; -1 where one fails. */
double launch_loop(cu_launch *launch, void *function, void *stream, float a, uint64_t x, uint64_t y,
                   uint32_t n, size_t count) {
  double start = now_seconds();
  for (size_t i = 0; i < count; ++i) {
    void *params[] = {&a, &x, &y, &n};
    if (launch(function, 1, 1, 1, 256, 1, 1, 0, stream, params, NULL) != 0)
      return -1;
  }
  return now_seconds() - start;
}
