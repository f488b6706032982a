/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a core could do at most: its multiply-and-add instruction for a type, back to back on
 * registers. No memory, no loop over anything, nothing to wait for. */
#ifndef KDL_BENCH_SUITES_MATMUL_MATMUL_PEAK_H
#define KDL_BENCH_SUITES_MATMUL_MATMUL_PEAK_H

#include <kdl/kdl.h>
#include <kdl/matmul.h>

typedef struct matmul_peak {
  kdl_matmul_type type;
  const char *
    requires; /* a token of the device's arch or features */
  const char *instruction;
  void (*run)(void *unused);
  double operations; /* multiplications and additions of one run */
} matmul_peak;

/* The fastest for a type on a device; NULL where none is known. */
const matmul_peak *matmul_peak_find(kdl_matmul_type type, const kdl_device_info *device);

#endif
