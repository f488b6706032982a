// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels with the names of OpenCL C's functions.
#include <kdl/kernel.h>

// args: u32[2]
// items: 2
// arg0: 1 2
KDL_BLOCK(2)
__gpu_kernel void dot(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 1 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 2 3
KDL_BLOCK(2)
__gpu_kernel void mix(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 2 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 3 4
KDL_BLOCK(2)
__gpu_kernel void step(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 3 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 4 5
KDL_BLOCK(2)
__gpu_kernel void select(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 4 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 5 6
KDL_BLOCK(2)
__gpu_kernel void clamp(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 5 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 6 7
KDL_BLOCK(2)
__gpu_kernel void length(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 6 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 7 8
KDL_BLOCK(2)
__gpu_kernel void normalize(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 7 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 8 9
KDL_BLOCK(2)
__gpu_kernel void distance(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 8 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 9 10
KDL_BLOCK(2)
__gpu_kernel void max(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 9 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 10 11
KDL_BLOCK(2)
__gpu_kernel void cross(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 10 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 11 12
KDL_BLOCK(2)
__gpu_kernel void sign(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 11 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 12 13
KDL_BLOCK(2)
__gpu_kernel void barrier(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 12 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 13 14
KDL_BLOCK(2)
__gpu_kernel void get_global_id(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 13 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 14 15
KDL_BLOCK(2)
__gpu_kernel void convert_int(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 14 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 15 16
KDL_BLOCK(2)
__gpu_kernel void vload4(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 15 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 16 17
KDL_BLOCK(2)
__gpu_kernel void atomic_add(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 16 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 17 18
KDL_BLOCK(2)
__gpu_kernel void read_imagef(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 17 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 18 19
KDL_BLOCK(2)
__gpu_kernel void native_exp(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 18 + __gpu_thread_id(0);
}

// args: u32[2]
// items: 2
// arg0: 19 20
KDL_BLOCK(2)
__gpu_kernel void isequal(__gpu_global uint32_t *out) {
  out[__gpu_thread_id(0)] = 19 + __gpu_thread_id(0);
}

// args: f32[2]=0,1 f32[2]
// items: 2
// arg1: 1.0 2.718281828459045
// ulp: 4
KDL_BLOCK(2)
__gpu_kernel void exp(const __gpu_global float *x, __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = kdl_exp(x[i]);
}
