// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes group memory, whose size a launch tells: see README.md.
kernel void grouped(global float *y, local float *m, uint n) {
  m[get_local_id(0)] = y[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = m[n];
}
