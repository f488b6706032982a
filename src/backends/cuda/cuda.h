/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NVIDIA GPUs, through libcuda: opened when a device is first used, never linked, never closed. */
#ifndef KDL_BACKENDS_CUDA_CUDA_H
#define KDL_BACKENDS_CUDA_CUDA_H

#include <kdl/backend.h>

/* Touches no driver. */
const kdl_backend_table *kdl_cuda_backend_open(const kdl_backend_host *host);

#endif
