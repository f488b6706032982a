/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The parts of DLPack that are used: how packages describe an array's memory. The layouts are those
 * of its versions 0.2 to 1.3, by its documentation.
 */
#ifndef KDL_PYTHON_CSRC_DLPACK_H
#define KDL_PYTHON_CSRC_DLPACK_H

#include <stdbool.h>
#include <stdint.h>

enum {
  dl_cpu = 1,
  dl_cuda = 2,
  dl_cuda_host = 3,
  dl_rocm = 10,
  dl_rocm_host = 11,
  dl_cuda_managed = 13
};
enum { dl_int = 0, dl_uint = 1, dl_float = 2, dl_bfloat = 4, dl_complex = 5, dl_bool = 6 };

typedef struct dl_tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t dimensions;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;

/* Whether PyTorch's negative bit may be set, as on imaginary parts of conjugates, whose elements
 * have a stride of two. Querying the bit takes 0.2 us, which this saves for dense tensors. */
static inline bool dl_may_be_negative(const dl_tensor *tensor) {
  for (int32_t i = 0; tensor->shape && i < tensor->dimensions; ++i) {
    if (tensor->shape[i] > 1 && (!tensor->strides || tensor->strides[i] % 2 != 0))
      return false;
  }
  return true;
}

/* In a capsule "dltensor". */
typedef struct dl_managed {
  dl_tensor tensor;
  void *context;
  void (*destroy)(struct dl_managed *self);
} dl_managed;

/* In a capsule "dltensor_versioned". */
typedef struct dl_versioned {
  uint32_t major, minor;
  void *context;
  void (*destroy)(struct dl_versioned *self);
  uint64_t flags;
  dl_tensor tensor;
} dl_versioned;

/* In a capsule "dlpack_exchange_api", the type's attribute __dlpack_c_exchange_api__: the same
 * without a call of Python, and the package's current stream. */
typedef struct dl_exchange {
  uint32_t major, minor;
  struct dl_exchange *older;
  void *allocate, *from_object, *to_object;
  int (*describe)(void *object, dl_tensor *out_tensor); /* may be NULL */
  int (*current_stream)(int32_t device_type, int32_t device_id, void **out_stream);
} dl_exchange;

#endif
