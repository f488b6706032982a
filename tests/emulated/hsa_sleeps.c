/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For scripts/evidence-amd.sh, where the GPU is a thread of the process. HIP waits for its end by
 * asking again and again without a pause, so that twelve threads which wait leave the GPU a
 * fourteenth of the CPU. This library is loaded before the program, and its wait sleeps between two
 * questions. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct {
  uint64_t handle;
} signal_handle;
typedef int64_t load(signal_handle signal);
typedef enum { EQUAL, NOT_EQUAL, LESS, NOT_LESS } condition; /* with HSA's numbers */

static bool holds(condition relation, int64_t found, int64_t value) {
  switch (relation) {
  case EQUAL:
    return found == value;
  case NOT_EQUAL:
    return found != value;
  case LESS:
    return found < value;
  case NOT_LESS:
    return found >= value;
  }
  return true;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static load *find_load(void) {
  static _Atomic(load *) found;
  load *function = atomic_load(&found);
  if (!function) {
    void *runtime = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&function = dlsym(runtime, "hsa_signal_load_scacquire");
    atomic_store(&found, function);
  }
  return function;
}

int64_t hsa_signal_wait_scacquire(signal_handle signal, condition relation, int64_t value,
                                  uint64_t hint, int state);

/* The hint is how long to wait at most, in HSA's ticks; a wait may end earlier or later. */
__attribute__((visibility("default"))) int64_t hsa_signal_wait_scacquire(signal_handle signal,
                                                                         condition relation,
                                                                         int64_t value,
                                                                         uint64_t hint, int state) {
  load *load_signal = find_load();
  uint64_t begin = now();
  (void)state;
  for (;;) {
    int64_t found = load_signal(signal);
    if (holds(relation, found, value) || now() - begin >= hint)
      return found;
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
  }
}
