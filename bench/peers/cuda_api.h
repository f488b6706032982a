/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libcuda's entry points as the backend found them, for cases that call the driver themselves. */
#ifndef KDL_BENCH_PEERS_CUDA_API_H
#define KDL_BENCH_PEERS_CUDA_API_H

#include "lib/backends/cuda/driver.h" /* IWYU pragma: export */

#endif
