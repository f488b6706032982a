/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The kernels of kernels.c in OpenCL C, for drivers that compile it and as the source of SPIR-V. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
scale(float a, __global const float *restrict x, __global float *restrict y, uint n) {
  size_t i = get_global_id(0);
  if (i < n)
    y[i] = a * x[i];
}

__kernel void place(__global uint *out) {
  uint at[3] = {get_group_id(0), get_group_id(1), get_group_id(2)};
  uint of[2] = {get_num_groups(0), get_num_groups(1)};
  out[(at[2] * of[1] + at[1]) * of[0] + at[0]] = at[0] + 10 * at[1] + 100 * at[2];
}

/* OpenCL C 1.2 has no variables in global memory that can be written. */
#ifdef __SPIRV__
__global uint weight = 3;
#else
__constant uint weight = 3;
#endif

__kernel void weigh(__global uint *out) {
  out[0] *= weight;
}
