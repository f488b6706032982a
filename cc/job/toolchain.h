/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The programs that `kdl cc` runs, and the headers it passes to them. */
#ifndef KDL_CC_JOB_TOOLCHAIN_H
#define KDL_CC_JOB_TOOLCHAIN_H

#include "support/base/arena.h"

#include <kdl/kdl.h>

#include <stdbool.h>

/* The libraries of <kdl/math.h> (math.h); NULL for a missing one. */
typedef struct cc_math_libraries {
  const char *folder;    /* the folder of kdl's own, such as math-x86_64.bc */
  const char *libdevice; /* CUDA's */
  const char *ocml;      /* ROCm's */
} cc_math_libraries;

typedef struct cc_toolchain {
  const char *clang;
  const char *ptxas;     /* NULL if there is none: then NVIDIA's images are PTX */
  const char *spirv_val; /* NULL if there is none: then SPIR-V is not validated */
  const char *include;   /* the folder of kdl/kernel.h */
  cc_math_libraries math;
} cc_toolchain;

/* Finds what compiling needs. `clang` is --clang, or NULL for KDL_CLANG or clang-22. For a missing
 * program the error names Debian's package. */
kdl_status cc_toolchain_find(kdl_arena *arena, const char *clang, bool needs_lld,
                             cc_toolchain *out_toolchain);

#endif
