/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers and functions that the HIP backend uses, against AMD's own header. */
/* AMD's own switch. NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#define __HIP_PLATFORM_AMD__ 1
#if KDL_HAVE_HIP_HIP_RUNTIME_API_H
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <hip/hip_runtime_api.h>
#pragma GCC diagnostic pop
#define HAVE_HIP 1
#endif

#include "header_support.h"
#include "lib/backends/hip/abi.h"

#include <stdint.h>

#ifdef HAVE_HIP

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(KDL_HIP_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory);
SAME(KDL_HIP_ERROR_NOT_FOUND, hipErrorNotFound);
SAME(KDL_HIP_ERROR_STREAM_CAPTURE_IMPLICIT, hipErrorStreamCaptureImplicit);
SAME(KDL_HIP_CAPTURE_MODE_RELAXED, hipStreamCaptureModeRelaxed);
SAME(KDL_HIP_CAPTURE_STATUS_NONE, hipStreamCaptureStatusNone);
SAME(KDL_HIP_STREAM_NON_BLOCKING, hipStreamNonBlocking);
SAME(sizeof(hipDeviceptr_t), sizeof(void *));
SAME(KDL_HIP_COPY_TO_DEVICE, hipMemcpyHostToDevice);
SAME(KDL_HIP_COPY_TO_HOST, hipMemcpyDeviceToHost);
SAME(KDL_HIP_COPY_ON_DEVICE, hipMemcpyDeviceToDevice);

#define PLACED(type, ours, other, theirs) SAME(offsetof(type, ours), offsetof(other, theirs))
PLACED(kdl_hip_kernel_node, block, hipKernelNodeParams, blockDim);
PLACED(kdl_hip_kernel_node, extra, hipKernelNodeParams, extra);
PLACED(kdl_hip_kernel_node, function, hipKernelNodeParams, func);
PLACED(kdl_hip_kernel_node, grid, hipKernelNodeParams, gridDim);
PLACED(kdl_hip_kernel_node, params, hipKernelNodeParams, kernelParams);
PLACED(kdl_hip_kernel_node, shared, hipKernelNodeParams, sharedMemBytes);
SAME(sizeof(kdl_hip_kernel_node), sizeof(hipKernelNodeParams));
PLACED(kdl_hip_fill_node, to, hipMemsetParams, dst);
PLACED(kdl_hip_fill_node, element_size, hipMemsetParams, elementSize);
PLACED(kdl_hip_fill_node, height, hipMemsetParams, height);
PLACED(kdl_hip_fill_node, pitch, hipMemsetParams, pitch);
PLACED(kdl_hip_fill_node, value, hipMemsetParams, value);
PLACED(kdl_hip_fill_node, width, hipMemsetParams, width);
SAME(sizeof(kdl_hip_fill_node), sizeof(hipMemsetParams));

static const header_function rows[] = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, #parameters, KDL_HEADER_##need},
#include "lib/backends/hip/symbols.def"
#undef KDL_DRIVER_SYMBOL
};

int main(void) {
  if ((uintptr_t)hipStreamPerThread != KDL_HIP_STREAM_LAST_SPECIAL)
    return 1;
  printf("ROCm %d.%d\n", HIP_VERSION_MAJOR, HIP_VERSION_MINOR);
  return compare_functions("/usr/include/hip/hip_runtime_api.h", rows, sizeof rows / sizeof *rows);
}

#else

int main(void) {
  puts("skipped: hip/hip_runtime_api.h not found (Debian: libamdhip64-dev)");
  return 77;
}

#endif
