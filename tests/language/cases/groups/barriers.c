// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work-items that wait for one another, and group memory whose size the launch says.
#include <kdl/kernel.h>

// args: u32[64]=iota u32[64] u32=8
// grid: 2 2
// arg1: 0 8 16 24 32 40 48 56 1 9 17 25 33 41 49 57
// arg1: 2 10 18 26 34 42 50 58 3 11 19 27 35 43 51 59
// arg1: 4 12 20 28 36 44 52 60 5 13 21 29 37 45 53 61
// arg1: 6 14 22 30 38 46 54 62 7 15 23 31 39 47 55 63
KDL_BLOCK(4, 4)
__gpu_kernel void group_transpose(const __gpu_global uint32_t *x, __gpu_global uint32_t *y,
                                  uint32_t n) {
  KDL_LOCAL(uint32_t, square[4][5]);
  uint32_t column = __gpu_thread_id(0), row = __gpu_thread_id(1);
  uint32_t left = __gpu_block_id(0) * 4, top = __gpu_block_id(1) * 4;
  square[row][column] = x[(top + row) * n + left + column];
  __gpu_sync_threads();
  y[(left + row) * n + top + column] = square[column][row];
}

// args: f32[64]=0,1,2,3,4,0,1,2,3,4,0,1,2,3,4,0,1,2,3,4,0,1,2,3,4,0,1,2,3,4,0,1,2,3,4,0,1,2,3,4,0,1,2,3,4,0,1,2,3,4,0,1,2,3,4,0,1,2,3,4,0,1,2,3 f32[64]=0,1,2,3,4,5,6,0,1,2,3,4,5,6,0,1,2,3,4,5,6,0,1,2,3,4,5,6,0,1,2,3,4,5,6,0,1,2,3,4,5,6,0,1,2,3,4,5,6,0,1,2,3,4,5,6,0,1,2,3,4,5,6,0 f32[64] u32=8
// grid: 2 2
// arg2: 36 42 55 40 32 31 37 36 54 43 39 42 52 69 58 54
// arg2: 37 39 48 64 52 47 49 37 40 55 42 36 37 45 60 40
// arg2: 43 41 46 58 77 68 66 43 36 42 55 40 32 31 37 36
// arg2: 54 43 39 42 52 69 58 54 37 39 48 64 52 47 49 37
KDL_BLOCK(4, 4)
__gpu_kernel void group_matmul(const __gpu_global float *a, const __gpu_global float *b,
                               __gpu_global float *c, uint32_t n) {
  KDL_LOCAL(float, rows[4][4]);
  KDL_LOCAL(float, columns[4][4]);
  uint32_t x = __gpu_thread_id(0), y = __gpu_thread_id(1);
  uint32_t row = __gpu_block_id(1) * 4 + y, column = __gpu_block_id(0) * 4 + x;
  float sum = 0;
  for (uint32_t k = 0; k < n; k += 4) {
    rows[y][x] = a[row * n + k + x];
    columns[y][x] = b[(k + y) * n + column];
    __gpu_sync_threads();
    for (uint32_t i = 0; i < 4; ++i)
      sum += rows[y][i] * columns[i][x];
    __gpu_sync_threads();
  }
  c[row * n + column] = sum;
}

// args: u32[24]
// grid: 1
// arg0: 9 108 211 310 407 506 615 714 817 916 1013 1112 1221 1320 1423 1522
// arg0: 1619 1718 1803 1902 2005 2104 2201 2300
KDL_BLOCK(2, 3, 4)
__gpu_kernel void group_cube(__gpu_global uint32_t *y) {
  KDL_LOCAL(uint32_t, cube[4][3][2]);
  uint32_t i = __gpu_thread_id(0), k = __gpu_thread_id(1), l = __gpu_thread_id(2);
  uint32_t me = (l * 3 + k) * 2 + i;
  cube[l][k][i] = me;
  __gpu_sync_threads();
  y[me] = cube[(l + 1) % 4][(k + 1) % 3][(i + 1) % 2] + 100 * me;
}

// args: u32[20]=iota u32[20]
// grid: 2
// block: 10
// shared: 40
// arg1: 9 8 7 6 5 4 3 2 1 0 19 18 17 16 15 14 13 12 11 10
__gpu_kernel void group_dynamic(const __gpu_global uint32_t *x, __gpu_global uint32_t *y) {
  KDL_LOCAL_DYNAMIC(uint32_t, all);
  uint32_t t = __gpu_thread_id(0), n = __gpu_num_threads(0), first = __gpu_block_id(0) * n;
  all[t] = x[first + t];
  __gpu_sync_threads();
  y[first + t] = all[n - 1 - t];
}

// args: f32[8]=iota f32[8]
// items: 8
// arg1: 7.0 6.5 6.0 5.5 5.0 4.5 4.0 3.5
KDL_DYNAMIC(64)
KDL_BLOCK(8)
__gpu_kernel void group_dynamic_said(const __gpu_global float *x, __gpu_global float *y) {
  struct pair {
    float a, b;
  };
  KDL_LOCAL_DYNAMIC(struct pair, pairs);
  uint32_t t = __gpu_thread_id(0);
  pairs[t].a = x[t];
  pairs[t].b = x[t] * 0.5f;
  __gpu_sync_threads();
  y[t] = pairs[7 - t].a + pairs[t].b;
}

// args: u32[16]=iota u32[16] u32=3
// items: 16
// arg1: 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2
static void group_rotate(__gpu_local uint32_t *all, uint32_t t) {
  uint32_t kept = all[(t + 1) % 16];
  __gpu_sync_threads();
  all[t] = kept;
  __gpu_sync_threads();
}
KDL_BLOCK(16)
__gpu_kernel void group_callee(const __gpu_global uint32_t *x, __gpu_global uint32_t *y,
                               uint32_t times) {
  KDL_LOCAL(uint32_t, all[16]);
  uint32_t t = __gpu_thread_id(0);
  all[t] = x[t];
  __gpu_sync_threads();
  for (uint32_t i = 0; i < times; ++i)
    group_rotate(all, t);
  y[t] = all[t];
}

// args: u32[8]=3,1,4,1,5,2,6,0 u32[8]
// items: 8
// arg1: 6 6 6 6 6 6 6 6
KDL_BLOCK(8)
__gpu_kernel void group_until(const __gpu_global uint32_t *x, __gpu_global uint32_t *y) {
  KDL_LOCAL(uint32_t, most);
  uint32_t t = __gpu_thread_id(0), v = x[t], rounds = 0;
  for (;;) {
    __gpu_sync_threads();
    if (t == 0)
      most = 0;
    __gpu_sync_threads();
    kdl_atomic_max(&most, v);
    __gpu_sync_threads();
    if (most == 0)
      break;
    v -= v > 0;
    ++rounds;
  }
  y[t] = rounds;
}
