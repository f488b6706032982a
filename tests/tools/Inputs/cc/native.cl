/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* OpenCL C as its users write it. */
__attribute__((reqd_work_group_size(32, 2, 1)))
__kernel void all(__global float *y) {
  y[get_global_id(0)] = NATIVE;
}
