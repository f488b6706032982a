/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * For libraries of kernels and for compilers, on top of <kdl/kdl.h>: the threads of the host device
 * for loops of their own, and the policy `adaptive` for choices of their own.
 */
#ifndef KDL_EXTENSION_H
#define KDL_EXTENSION_H

#include <kdl/kdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------ */
/* Threads of the host                                                                          */

/* Calls `run` with 0 to count - 1 on the threads of the host device, and returns when all calls are
 * done: for loops that were compiled into the program, as kdl-mlir's are. The calling thread
 * starts; other threads join if the work is long enough. A child that `run` forks may only exec or
 * exit: docs/launching.md. */
KDL_API kdl_status kdl_host_parallel(uint64_t count, void (*run)(void *context, uint64_t index),
                                     void *context);

/* How many threads a launch on the host may use that has no limit, on a queue without one, if this
 * thread makes it: docs/launching.md has what decides. */
KDL_API uint32_t kdl_host_thread_count(void);

/* Limits the threads of launches and loops that this thread makes from now on and that have no
 * other limit: for code that cannot pass one, as compiled loops. 0 removes the limit. Returns the
 * one that was set before. */
KDL_API uint32_t kdl_host_limit_threads(uint32_t threads);

/* How long it takes to hand a launch to so many threads of the host that sleep, and to wait for
 * them, in nanoseconds, by what recent launches of this process took; 0 for one thread. */
KDL_API uint32_t kdl_host_launch_ns(uint32_t threads);

/* ------------------------------------------------------------------------------------------ */
/* Ways of a kernel                                                                             */

/* Several ways to compute the same by launches of a kernel, or of kernels of its image: other
 * tiles, other divisions of the work. Under the policy `adaptive` the fastest one is found for each
 * size of problem, by the rules that docs/adaptive.md has for images. */
typedef struct kdl_tuner kdl_tuner;

enum { KDL_TUNER_WAYS = 28, KDL_TUNER_NUMBERS = 8 };

typedef struct kdl_tuner_desc {
  size_t size;              /* sizeof(kdl_tuner_desc) */
  const char *const *names; /* of the numbers that are the size of a problem */
  uint32_t name_count;      /* at most KDL_TUNER_NUMBERS */
  uint32_t way_count;       /* at most KDL_TUNER_WAYS */
  const char *const *ways;  /* texts by which other processes know a way. The first is used until
                               another one is known to be faster */
} kdl_tuner_desc;

/* A launch that is measured, between kdl_tuner_begin and kdl_tuner_end. */
typedef struct kdl_tuner_launch {
  void *entry, *sample;
  uint32_t way, leader;
  int is_trial;
} kdl_tuner_launch;

/* NULL in *out_tuner where the kernel's policy is another one: the first way is used then, and the
 * other functions accept NULL. Destroy it before the library is closed. */
KDL_API kdl_status kdl_tuner_create(kdl_kernel *kernel, const kdl_tuner_desc *desc,
                                    kdl_tuner **out_tuner);
KDL_API void kdl_tuner_destroy(kdl_tuner *tuner);

/* The way for a problem, by its numbers. Bit i of `unusable`: way i cannot be used for it; the
 * first one always can. Launch on `queue`, then call kdl_tuner_end. With NULL for `out_launch` what
 * is known decides, and nothing is measured: for work that must not be repeated. */
KDL_API uint32_t kdl_tuner_begin(kdl_tuner *tuner, kdl_queue *queue, const uint64_t *numbers,
                                 uint32_t unusable, kdl_tuner_launch *out_launch);

/* `status` is that of the launches. True where they failed in a way that was only tried: do them
 * again in the way of launch->way. The one that failed is not tried any more for this size. */
KDL_API int kdl_tuner_end(kdl_tuner *tuner, kdl_queue *queue, kdl_tuner_launch *launch,
                          kdl_status status);

#ifdef __cplusplus
}
#endif

#endif
