/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef KDL_TESTS_UNIT_OPENCL_SUPPORT_H
#define KDL_TESTS_UNIT_OPENCL_SUPPORT_H

#define DRIVER_ARCH ""
#define DRIVER_SPEC "opencl:spirv64"
#define DRIVER_WHOLE "libOpenCL.so.1"
#define DRIVER_OLD "libOpenCL.so.1"
/* The second is of another platform and takes no SPIR-V. */
#define DRIVER_DEVICES                                                                             \
  "opencl:spirv64 il=1.4 platform=first memory=1MiB max_block=1024;"                               \
  "opencl:spirv64 platform=second memory=1MiB max_block=128"

#include "driver_support.h"

#include "lib/backends/common/built_in.h"
#include "lib/backends/opencl/abi.h"

#define CL_SAXPY "kernel void saxpy(float a, global const float *x, global float *y, uint n) {}\n"
#define CL_EMPTY "kernel void empty() {}\n"

static const char good_source[] = "constant uint weight = 3;\n" CL_SAXPY CL_EMPTY;

static inline void *load_source(void *device, const char *text) {
  return load_image(device, KDL_IMAGE_CL, text, strlen(text));
}

static inline bool memory_is(const char *kind) {
  const char *set = getenv("KDL_OPENCL_MEMORY");
  return set && strcmp(set, kind) == 0;
}

/* The calls that differ with the kind of memory. */
static inline const char *set_call(void) {
  return memory_is("usm")   ? "clSetKernelArgMemPointerINTEL"
         : memory_is("svm") ? "clSetKernelArgSVMPointer"
                            : "clSetKernelArg";
}

/* Runs the program once for each driver and each kind of memory that it has; returns in these runs
 * with true. */
static inline bool run_for_each_memory(char **argv, int *out_result) {
  static const char *const kinds[] = {"buffer", "svm", "usm"};
  if (!run_for_each_driver(argv, out_result))
    return false;
  if (getenv("KDL_OPENCL_MEMORY"))
    return true;
  for (size_t i = 0; i < (is_old() ? 1 : 3); ++i) {
    printf("memory: %s\n", kinds[i]);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      setenv("KDL_OPENCL_MEMORY", kinds[i], 1);
      execv("/proc/self/exe", argv);
      _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    *out_result |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  return false;
}

#endif
