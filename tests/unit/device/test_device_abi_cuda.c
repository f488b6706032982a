/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers and names that discovery uses, against NVIDIA's own header. */
#if KDL_HAVE_CUDA_H
#include <cuda.h>
#define HAVE_CUDA_H 1
#endif

#include "lib/backends/cuda/abi.h"

#include <stdio.h>

#ifdef HAVE_CUDA_H

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(KDL_CUDA_SUCCESS, CUDA_SUCCESS);
SAME(KDL_CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(KDL_CUDA_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(KDL_CUDA_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(KDL_CUDA_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(KDL_CUDA_INTEGRATED, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME(KDL_CUDA_PCI_BUS_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(KDL_CUDA_PCI_DEVICE_ID, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(KDL_CUDA_L2_CACHE_SIZE, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(KDL_CUDA_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
SAME(KDL_CUDA_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(KDL_CUDA_COMPUTE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(KDL_CUDA_COOPERATIVE_LAUNCH, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
SAME(KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(KDL_CUDA_CLUSTER_LAUNCH, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
_Static_assert(sizeof(CUuuid) == 16, "CUuuid");
_Static_assert(sizeof(CUdevice) == sizeof(int), "CUdevice");

/* The header maps each name to the version it declares. */
#define TEXT(name) #name
#define NAME(name) TEXT(name)
#define IS_NAME(declared, ours)                                                                    \
  _Static_assert(sizeof(NAME(declared)) == sizeof(#ours), #ours " is not what the header "         \
                                                                "declares")
IS_NAME(cuDeviceTotalMem, cuDeviceTotalMem_v2);
IS_NAME(cuDeviceGetUuid, cuDeviceGetUuid_v2);
IS_NAME(cuDeviceGetAttribute, cuDeviceGetAttribute);
IS_NAME(cuDeviceGetName, cuDeviceGetName);
IS_NAME(cuDeviceGetCount, cuDeviceGetCount);
IS_NAME(cuDeviceGet, cuDeviceGet);

int main(void) {
  printf("compared with cuda.h of CUDA %d.%d\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
  return 0;
}

#else

int main(void) {
  puts("skipped: cuda.h not found (NVIDIA's CUDA toolkit)");
  return 77;
}

#endif
