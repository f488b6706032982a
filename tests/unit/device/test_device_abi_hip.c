/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers and layouts that discovery uses, against AMD's own header: the first layout of
 * hipDeviceProp_t for ROCm 5, the second for ROCm 6 and later. */
/* AMD's own switch. NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#define __HIP_PLATFORM_AMD__ 1
#if KDL_HAVE_HIP_HIP_RUNTIME_API_H
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <hip/hip_runtime_api.h>
#pragma GCC diagnostic pop
#define HAVE_HIP 1
#endif

#include "lib/backends/hip/abi.h"

#include <stdio.h>

#ifdef HAVE_HIP

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(KDL_HIP_SUCCESS, hipSuccess);
SAME(KDL_HIP_ERROR_NO_DEVICE, hipErrorNoDevice);
SAME(KDL_HIP_COOPERATIVE_LAUNCH, hipDeviceAttributeCooperativeLaunch);
SAME(KDL_HIP_INTEGRATED, hipDeviceAttributeIntegrated);
SAME(KDL_HIP_L2_CACHE_SIZE, hipDeviceAttributeL2CacheSize);
SAME(KDL_HIP_MAX_THREADS_PER_BLOCK, hipDeviceAttributeMaxThreadsPerBlock);
SAME(KDL_HIP_MULTIPROCESSOR_COUNT, hipDeviceAttributeMultiprocessorCount);
SAME(KDL_HIP_PCI_BUS_ID, hipDeviceAttributePciBusId);
SAME(KDL_HIP_PCI_DEVICE_ID, hipDeviceAttributePciDeviceId);
SAME(KDL_HIP_PCI_DOMAIN_ID, hipDeviceAttributePciDomainID);
SAME(KDL_HIP_MAX_SHARED_MEMORY_PER_BLOCK, hipDeviceAttributeMaxSharedMemoryPerBlock);
SAME(KDL_HIP_WARP_SIZE, hipDeviceAttributeWarpSize);

#if HIP_VERSION_MAJOR >= 6
typedef kdl_hip_properties_r0600 layout;
#else
typedef kdl_hip_properties_r0000 layout;
#endif
SAME(offsetof(layout, name), offsetof(hipDeviceProp_t, name));
SAME(offsetof(layout, gcn_arch_name), offsetof(hipDeviceProp_t, gcnArchName));
SAME(sizeof(layout), sizeof(hipDeviceProp_t));
_Static_assert(sizeof(hipDeviceProp_t) <= sizeof(kdl_hip_properties), "hipDeviceProp_t");

int main(void) {
  printf("compared with hip_runtime_api.h of ROCm %d.%d\n", HIP_VERSION_MAJOR, HIP_VERSION_MINOR);
  return 0;
}

#else

int main(void) {
  puts("skipped: hip/hip_runtime_api.h not found (Debian: libamdhip64-dev)");
  return 77;
}

#endif
