/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuTensorMapEncodeTiled of NVIDIA's driver, and the numbers that it takes. */
#ifndef KDL_MATMUL_TENSOR_MAP_H
#define KDL_MATMUL_TENSOR_MAP_H

#include <stdint.h>

enum {
  cu_uint8 = 0,
  cu_int32 = 3,
  cu_float16 = 6,
  cu_float32 = 7,
  cu_bfloat16 = 9,
  cu_interleave_none = 0,
  cu_swizzle_128 = 3,
  cu_promotion_none = 0,
  cu_promotion_256 = 3,
  cu_fill_zero = 0,
};
typedef int tensor_map_encode(void *map, int type, uint32_t rank, void *address,
                              const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *steps, int interleave, int swizzle, int promotion,
                              int fill);

/* The function of the driver, which is loaded: a device is one of its. NULL: it has none. */
tensor_map_encode *find_tensor_map_encode(void);

#endif
