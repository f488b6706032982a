/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A kernel that calls what it does not define. */
#include <kdl/kernel.h>
#include <kdl/ukernel.h>

KDL_UKERNEL float triple(float x);

KDL_BLOCK(64)
__gpu_kernel void triples(__gpu_global float *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] = triple(y[i]);
}
