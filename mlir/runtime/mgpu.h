/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The functions that MLIR's own lowering of the gpu dialect calls (gpu-to-llvm and
 * #gpu.select_object, as of LLVM 22 and 23). Upstream implements them once per vendor; these use
 * libkdl, so that a program compiled for them runs on the device that libkdl selects, and may load
 * any fat binary. Names and types are MLIR's.
 */
#ifndef KDL_MLIR_RUNTIME_MGPU_H
#define KDL_MLIR_RUNTIME_MGPU_H

#include "kdl_mlir.h"

#include <stdbool.h>

typedef struct kdl_mlir_module mgpu_module;

KDL_API mgpu_module *mgpuModuleLoad(const void *data, uint64_t size);
KDL_API mgpu_module *mgpuModuleLoadJIT(const char *text, int32_t opt_level, uint64_t size);
KDL_API void mgpuModuleUnload(mgpu_module *module);
KDL_API kdl_kernel *mgpuModuleGetFunction(mgpu_module *module, const char *name);
KDL_API void mgpuLaunchKernel(kdl_kernel *kernel, int64_t grid_x, int64_t grid_y, int64_t grid_z,
                              int64_t block_x, int64_t block_y, int64_t block_z, int32_t shared,
                              kdl_queue *stream, void **params, void **extra, uint64_t param_count);
KDL_API void mgpuLaunchClusterKernel(kdl_kernel *kernel, int64_t cluster_x, int64_t cluster_y,
                                     int64_t cluster_z, int64_t grid_x, int64_t grid_y,
                                     int64_t grid_z, int64_t block_x, int64_t block_y,
                                     int64_t block_z, int32_t shared, kdl_queue *stream,
                                     void **params, void **extra);

KDL_API void mgpuLaunchKernelCooperative(kdl_kernel *kernel, int64_t grid_x, int64_t grid_y,
                                         int64_t grid_z, int64_t cluster_x, int64_t cluster_y,
                                         int64_t cluster_z, int64_t block_x, int64_t block_y,
                                         int64_t block_z, int32_t shared, kdl_queue *stream,
                                         void **params, void **extra);

KDL_API kdl_queue *mgpuStreamCreate(void);
KDL_API void mgpuStreamDestroy(kdl_queue *stream);
KDL_API void mgpuStreamSynchronize(kdl_queue *stream);
KDL_API void mgpuStreamWaitEvent(kdl_queue *stream, kdl_event *event);
KDL_API kdl_event *mgpuEventCreate(void);
KDL_API void mgpuEventDestroy(kdl_event *event);
KDL_API void mgpuEventSynchronize(kdl_event *event);
KDL_API void mgpuEventRecord(kdl_event *event, kdl_queue *stream);

KDL_API void *mgpuMemAlloc(uint64_t size, kdl_queue *stream, bool is_host_shared);
KDL_API void mgpuMemFree(void *data, kdl_queue *stream);
KDL_API void mgpuMemcpy(void *to, const void *from, size_t size, kdl_queue *stream);
KDL_API void mgpuMemset32(void *to, uint32_t value, size_t count, kdl_queue *stream);
KDL_API void mgpuMemset16(void *to, uint16_t value, size_t count, kdl_queue *stream);
KDL_API void mgpuMemHostRegister(void *data, uint64_t size);
KDL_API void mgpuMemHostUnregister(void *data);

/* A ranked memref as MLIR passes it: `sizes_and_strides` holds all sizes, then all strides; each
 * has as many elements as the rank. */
typedef struct mgpu_memref {
  char *allocated;
  char *aligned;
  int64_t offset; /* elements */
  int64_t sizes_and_strides[];
} mgpu_memref;

KDL_API void mgpuMemHostRegisterMemRef(int64_t rank, const mgpu_memref *memref,
                                       int64_t element_size);
KDL_API void mgpuMemHostUnregisterMemRef(int64_t rank, const mgpu_memref *memref,
                                         int64_t element_size);

typedef struct mgpu_memref_1d {
  char *allocated, *aligned;
  int64_t offset, size, stride;
} mgpu_memref_1d;

KDL_API mgpu_memref_1d mgpuMemGetDeviceMemRef1dFloat(const float *allocated, float *aligned,
                                                     int64_t offset, int64_t size, int64_t stride);
KDL_API mgpu_memref_1d mgpuMemGetDeviceMemRef1dInt32(const int32_t *allocated, int32_t *aligned,
                                                     int64_t offset, int64_t size, int64_t stride);

KDL_API void *mgpuTensorMapEncodeTiledMemref(int64_t rank, const mgpu_memref *memref, int data_type,
                                             int interleave, int swizzle, int l2_promotion,
                                             int out_of_bounds, const int64_t *box);
KDL_API void mgpuTensorMapEncodeTiled(void *out_map, int data_type, uint32_t rank, void *address,
                                      const uint64_t *sizes, const uint64_t *strides,
                                      const uint32_t *box, const uint32_t *element_strides,
                                      int interleave, int swizzle, int l2_promotion,
                                      int out_of_bounds);

KDL_API void mgpuSetDefaultDevice(int32_t number);

#endif
