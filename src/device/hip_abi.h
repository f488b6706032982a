/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers and layouts of HIP that discovery uses, from hip_runtime_api.h. */
#ifndef KDL_DEVICE_HIP_ABI_H
#define KDL_DEVICE_HIP_ABI_H

#include <stddef.h>

/* Newest first. ROCm's installer puts its libraries where the loader does not look. */
#define KDL_HIP_LIBRARIES                                                                          \
  "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so"

/* hipError_t */
/* hipInit of ROCm 5.2 (Debian 12) says "invalid device" where there is none. */
enum { KDL_HIP_SUCCESS = 0, KDL_HIP_ERROR_NO_DEVICE = 100, KDL_HIP_ERROR_INVALID_DEVICE = 101 };

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
  KDL_HIP_WARP_SIZE = 87,
};

/*
 * The two layouts of hipDeviceProp_t, as far as they are read: the device's name and its target ID,
 * which hipDeviceGetAttribute does not give. Members between them are counted out from the public
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

/* What is handed to the runtime: aligned as its struct is, and with room for what a later version
 * may add behind. */
typedef union kdl_hip_properties {
  kdl_hip_properties_r0600 r0600;
  kdl_hip_properties_r0000 r0000;
  max_align_t aligned;
  char room[4096];
} kdl_hip_properties;

#endif
