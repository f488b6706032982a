/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Types and constants of the HIP runtime, as in hip_runtime_api.h, which is not needed to build.
 * Handles (hipStream_t, hipModule_t, ...) and hipDeviceptr_t are void pointers, a hipDevice_t is an
 * int. The numbers are the same from ROCm 5 to 7. */
#ifndef KDL_LIB_BACKENDS_HIP_ABI_H
#define KDL_LIB_BACKENDS_HIP_ABI_H

#include <stddef.h>
#include <stdint.h>

/* hipError_t */
enum {
  KDL_HIP_SUCCESS = 0,
  KDL_HIP_ERROR_OUT_OF_MEMORY = 2,
  KDL_HIP_ERROR_NO_DEVICE = 100,
  KDL_HIP_ERROR_INVALID_DEVICE = 101, /* hipInit of ROCm 5.2 (Debian 12) without a device */
  KDL_HIP_ERROR_NOT_FOUND = 500,
  KDL_HIP_ERROR_NOT_READY = 600,
  KDL_HIP_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
};

/* hipHostMallocPortable: pinned for every device. */
enum { KDL_HIP_HOST_PORTABLE = 1 };

/* hipStreamCaptureMode, hipStreamCaptureStatus, flags of streams */
enum { KDL_HIP_CAPTURE_MODE_RELAXED = 2 };
enum { KDL_HIP_CAPTURE_STATUS_NONE = 0 };
enum { KDL_HIP_STREAM_NON_BLOCKING = 1 };

/* NULL, hipStreamLegacy and hipStreamPerThread: streams of the current device. Larger values are
 * pointers to a stream of one device. */
enum { KDL_HIP_STREAM_LAST_SPECIAL = 2 };

/* hipDeviceAttribute_t: HIP's own numbers, not CUDA's; the same from ROCm 5 on. */
enum {
  KDL_HIP_COOPERATIVE_LAUNCH = 10,
  KDL_HIP_INTEGRATED = 16,
  KDL_HIP_L2_CACHE_SIZE = 19,
  KDL_HIP_MAX_THREADS_PER_BLOCK = 56,
  KDL_HIP_MULTIPROCESSOR_COUNT = 63,
  KDL_HIP_PCI_BUS_ID = 67,
  KDL_HIP_PCI_DEVICE_ID = 68,
  KDL_HIP_PCI_DOMAIN_ID = 69,
  KDL_HIP_MAX_SHARED_MEMORY_PER_BLOCK = 74,
  KDL_HIP_CLOCK_RATE = 5,
  KDL_HIP_WARP_SIZE = 87,
};

/*
 * The two layouts of hipDeviceProp_t, up to the members that are read: the device's name and its
 * target ID, which hipDeviceGetAttribute lacks. Offsets are counted from the public
 * hip_runtime_api.h of ROCm 6 (R0600) and ROCm 5.2 (R0000).
 */
typedef struct kdl_hip_properties_r0600 {
  char name[256];
  char between[904];
  char gcn_arch_name[256];
  char rest[56];
} kdl_hip_properties_r0600;

typedef struct kdl_hip_properties_r0000 {
  char name[256];
  char between[140];
  char gcn_arch_name[256];
  char rest[140];
} kdl_hip_properties_r0000;

_Static_assert(offsetof(kdl_hip_properties_r0600, gcn_arch_name) == 1160, "hipDeviceProp_tR0600");
_Static_assert(sizeof(kdl_hip_properties_r0600) == 1472, "hipDeviceProp_tR0600");
_Static_assert(offsetof(kdl_hip_properties_r0000, gcn_arch_name) == 396, "hipDeviceProp_tR0000");
_Static_assert(sizeof(kdl_hip_properties_r0000) == 792, "hipDeviceProp_tR0000");

/* Passed to the runtime: aligned as its struct, with room for members of later versions. */
typedef union kdl_hip_properties {
  kdl_hip_properties_r0600 r0600;
  kdl_hip_properties_r0000 r0000;
  max_align_t aligned;
  char room[4096];
} kdl_hip_properties;

/* hipMemcpyKind */
enum { KDL_HIP_COPY_TO_DEVICE = 1, KDL_HIP_COPY_TO_HOST = 2, KDL_HIP_COPY_ON_DEVICE = 3 };

/* hipKernelNodeParams */
typedef struct kdl_hip_kernel_node {
  unsigned block[3];
  void **extra;
  void *function;
  unsigned grid[3];
  void **params;
  unsigned shared;
} kdl_hip_kernel_node;

/* hipMemsetParams */
typedef struct kdl_hip_fill_node {
  void *to;
  unsigned element_size;
  size_t height;
  size_t pitch;
  unsigned value;
  size_t width;
} kdl_hip_fill_node;

#endif
