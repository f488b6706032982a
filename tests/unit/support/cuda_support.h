/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef KDL_TESTS_UNIT_CUDA_SUPPORT_H
#define KDL_TESTS_UNIT_CUDA_SUPPORT_H

#define DRIVER_ARCH "sm_90"
#define DRIVER_SPEC "cuda:sm_90"
#define DRIVER_WHOLE "libcuda.so.1"
#define DRIVER_OLD "libcuda.so.1"
#define DRIVER_DEVICES                                                                             \
  "cuda:sm_90 name=\"NVIDIA H200\" driver=13.0 memory=1MiB max_block=1024 shared=48KiB "           \
  "shared_optin=227KiB uuid=00000000-0000-0000-0000-000000000001;"                                 \
  "cuda:sm_90 name=\"NVIDIA H200\" driver=13.0 memory=1MiB max_block=1024 shared=48KiB "           \
  "shared_optin=227KiB uuid=00000000-0000-0000-0000-000000000002"

/* Of two GPUs code is free of contexts, unless the driver is too old or told otherwise. */
#define DRIVER_RUNS                                                                                \
  {"whole", "whole", NULL}, {"modules", "whole", "KDL_CUDA_MODULES=1"}, {                          \
    "old", "old", NULL                                                                             \
  }

#include "driver_support.h"

#include "lib/backends/common/built_in.h"

#define PTX_HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"
#define PTX_SAXPY                                                                                  \
  ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) { ret; }\n"
#define PTX_EMPTY ".visible .entry empty() { ret; }\n"
#define PTX_GLOBAL ".global .align 4 .b8 table[64];\n"

static const char good_ptx[] = PTX_HEADER PTX_GLOBAL PTX_SAXPY PTX_EMPTY;

/* Whether code is loaded into contexts. */
static inline bool is_bound(void) {
  return strcmp(getenv("KDL_TEST_FAKE"), "whole") != 0;
}

static inline void *load_ptx(void *device, const char *text) {
  return load_image(device, KDL_IMAGE_PTX, text, strlen(text));
}

#endif
