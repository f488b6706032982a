// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants outside of functions and in them, as C has them.
#include <kdl/kernel.h>

typedef struct {
  int32_t offset;
  float weight;
} table_entry;

static const float table_weights[4] = {0.5f, 0.25f, 0.125f, 2.0f};
const int32_t table_rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
static const table_entry table_entries[] = {{10, 1.5f}, {20, -1.5f}};
static const uint32_t table_first = 7, table_last = 9;
static const char table_letters[] = "kdl";

static float table_weight(uint32_t i) {
  static const float own[3] = {1.0f, 10.0f, 100.0f};
  const static float more[] = {3.0f, 4.0f};
  return own[i % 3] * table_weights[i & 3] + more[i & 1];
}

// args: f32[6] i32[6] u32=6
// items: 6
// arg0: 5 5 17 4.5 9.5 27.5
// arg1: 15 26 17 28 12 31
KDL_BLOCK(2)
__gpu_kernel void tables(__gpu_global float *y, __gpu_global int32_t *z, uint32_t n) {
  static const int32_t shifts[2] = {0, 1};
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n) {
    static const uint8_t scale = 2;
    y[i] = table_weight(i) + table_entries[i & 1].weight;
    z[i] = table_rows[i / 3][i % 3] + table_entries[i & 1].offset * shifts[1] +
           (int32_t)(table_last - table_first) * scale +
           (int32_t)(i / 3 ? table_letters[i % 3] - 'k' : 0);
  }
}
