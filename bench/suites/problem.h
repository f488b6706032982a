/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A library and a device to choose for, through the public API. */
#ifndef KDL_BENCH_SUITES_PROBLEM_H
#define KDL_BENCH_SUITES_PROBLEM_H

#include <kdl/kdl.h>

typedef struct select_problem {
  void *data; /* an OffloadBinary; each image's metadata lists one kernel */
  size_t size;
  size_t count; /* of images, of which the last alone fits */
  kdl_device *device;
  const char **triples, **archs; /* of the images, for LLVM */
  const char *device_triple, *device_arch;
} select_problem;

/* Three images, or so many that a library for all devices holds: AMD's, NVIDIA's and others for one
 * architecture after the other. */
kdl_status select_problem_make(size_t count, select_problem *out_problem);
void select_problem_free(select_problem *problem);

/* Not inlined: callgrind counts by function. They end the process where something fails or
 * another image is chosen. */
__attribute__((noinline)) kdl_library *select_problem_open(const select_problem *problem);
__attribute__((noinline)) void select_problem_close(kdl_library *lib);
__attribute__((noinline)) void select_problem_first(const select_problem *problem,
                                                    kdl_library *lib);
__attribute__((noinline)) void select_problem_again(const select_problem *problem,
                                                    kdl_library *lib);

#endif
