/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tensor maps: NVIDIA's descriptors of tensors for hardware that copies tiles of them. */
#include "runtime.h"

#include "mgpu.h"

enum { limit_rank = 5 };

/* Bytes of an element, by CUtensorMapDataType. */
static const uint8_t element_sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

static const uint32_t dense[limit_rank] = {1, 1, 1, 1, 1};

typedef struct {
  uint64_t sizes[limit_rank], strides[limit_rank - 1];
  uint32_t box[limit_rank];
} shape;

/* The driver numbers dimensions from the fastest, MLIR from the slowest. */
static void fill_shape(const mgpu_memref *memref, const int64_t *box, uint32_t rank,
                       uint64_t element_size, shape *out_shape) {
  const int64_t *sizes = memref->sizes_and_strides;
  const int64_t *strides = sizes + rank;
  for (uint32_t i = 0; i < rank; ++i) {
    out_shape->sizes[i] = (uint64_t)sizes[rank - 1 - i];
    out_shape->box[i] = (uint32_t)box[rank - 1 - i];
    if (i > 0)
      out_shape->strides[i - 1] = (uint64_t)strides[rank - 1 - i] * element_size;
  }
}

/* Copies the map into device memory, whose address is the kernel's argument. It stays until the
 * process ends, as upstream: MLIR never frees it. */
static void *upload_tensor_map(const kdl_mlir_device *device, const void *map, const char *what) {
  kdl_buffer buffer = {0};
  kdl_status status = kdl_alloc(device->device, KDL_MLIR_TENSOR_MAP_SIZE, &buffer);
  if (status == KDL_OK)
    status = kdl_write(device->queue, &buffer, 0, map, KDL_MLIR_TENSOR_MAP_SIZE);
  if (status == KDL_OK)
    status = kdl_sync(device->queue);
  return kdl_mlir_ok(status, what) ? (void *)(uintptr_t)buffer.address : NULL;
}

/* The arguments are in the order of mgpuTensorMapEncodeTiled. */
static bool encode_tensor_map(const char *what, void *out_map, int data_type, uint32_t rank,
                              void *address, const uint64_t *sizes, const uint64_t *strides,
                              const uint32_t *box, const uint32_t *element_strides, int interleave,
                              int swizzle, int l2_promotion, int out_of_bounds) {
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  const kdl_mlir_tensor_map map = {.rank = rank,
                                   .address = address,
                                   .sizes = sizes,
                                   .strides = strides,
                                   .box = box,
                                   .element_strides = element_strides,
                                   .data_type = data_type,
                                   .interleave = interleave,
                                   .swizzle = swizzle,
                                   .l2_promotion = l2_promotion,
                                   .out_of_bounds = out_of_bounds};
  return device && kdl_mlir_ok(kdl_mlir_native_tensor_map(device, &map, out_map), what);
}

void *mgpuTensorMapEncodeTiledMemref(int64_t rank, const mgpu_memref *memref, int data_type,
                                     int interleave, int swizzle, int l2_promotion,
                                     int out_of_bounds, const int64_t *box) {
  static const char what[] = "mgpuTensorMapEncodeTiledMemref";
  _Alignas(64) char encoded[KDL_MLIR_TENSOR_MAP_SIZE];
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  if (!device)
    return NULL;
  if (rank < 1 || rank > limit_rank || data_type < 0 ||
      (size_t)data_type >= sizeof element_sizes / sizeof *element_sizes) {
    kdl_mlir_ok(kdl_mlir_set_error(KDL_BAD_CALL,
                                   "found rank %d and data type %d, expected 1 to 5 and a "
                                   "CUtensorMapDataType",
                                   (int)rank, data_type),
                what);
    return NULL;
  }
  shape of;
  fill_shape(memref, box, (uint32_t)rank, element_sizes[data_type], &of);
  return encode_tensor_map(what, encoded, data_type, (uint32_t)rank, memref->aligned, of.sizes,
                           of.strides, of.box, dense, interleave, swizzle, l2_promotion,
                           out_of_bounds)
             ? upload_tensor_map(device, encoded, what)
             : NULL;
}

/* For code that has all parameters: writes the map to the caller's memory. */
void mgpuTensorMapEncodeTiled(void *out_map, int data_type, uint32_t rank, void *address,
                              const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *element_strides, int interleave, int swizzle,
                              int l2_promotion, int out_of_bounds) {
  encode_tensor_map("mgpuTensorMapEncodeTiled", out_map, data_type, rank, address, sizes, strides,
                    box, element_strides, interleave, swizzle, l2_promotion, out_of_bounds);
}
