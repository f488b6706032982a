/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Preloaded: each reading of the monotonic clock is 300 ms later than the one before. */
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *to) {
  static int (*real)(clockid_t, struct timespec *);
  static _Atomic long readings;
  if (!real)
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, to);
  if (clock == CLOCK_MONOTONIC) {
    long later = to->tv_nsec / 1000000 + ++readings * 300;
    to->tv_sec += later / 1000;
    to->tv_nsec = later % 1000 * 1000000;
  }
  return result;
}
