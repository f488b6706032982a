/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A library and a device to choose for, through the public API. */
#ifndef KDL_BENCH_SUITES_PROBLEM_H
#define KDL_BENCH_SUITES_PROBLEM_H

#include <kdl/kdl.h>

typedef struct problem {
  void *data; /* an OffloadBinary; each image's metadata lists one kernel */
  size_t size;
  size_t count; /* of images, of which the last alone fits */
  kdl_device *device;
  const char **triples, **archs; /* of the images, for LLVM */
  const char *device_triple, *device_arch;
} problem;

/* Three images, or so many that a library for all devices holds: AMD's, NVIDIA's and others for one
 * architecture after the other. */
kdl_status problem_make(size_t count, problem *out_problem);
void problem_free(problem *asked);

/* Not inlined: callgrind counts by function. They end the process where something fails or
 * another image is chosen. */
__attribute__((noinline)) kdl_library *problem_open(const problem *asked);
__attribute__((noinline)) void problem_close(kdl_library *lib);
__attribute__((noinline)) void problem_select_first(const problem *asked, kdl_library *lib);
__attribute__((noinline)) void problem_select_again(const problem *asked, kdl_library *lib);

#endif
