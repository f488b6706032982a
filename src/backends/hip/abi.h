/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the HIP runtime takes and returns, as in hip_runtime_api.h, which is not needed to build.
 * Handles (hipStream_t, hipModule_t, ...) and hipDeviceptr_t are void pointers, a hipDevice_t is an
 * int. The numbers are the same from ROCm 5 to 7. */
#ifndef KDL_BACKENDS_HIP_ABI_H
#define KDL_BACKENDS_HIP_ABI_H

#include "device/hip_abi.h"

#include <stddef.h>
#include <stdint.h>

/* hipError_t */
enum {
  KDL_HIP_ERROR_OUT_OF_MEMORY = 2,
  KDL_HIP_ERROR_NOT_FOUND = 500,
  KDL_HIP_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
};

/* hipStreamCaptureMode, hipStreamCaptureStatus, flags of streams */
enum { KDL_HIP_CAPTURE_MODE_RELAXED = 2 };
enum { KDL_HIP_CAPTURE_STATUS_NONE = 0 };
enum { KDL_HIP_STREAM_NON_BLOCKING = 1 };

/* hipStreamLegacy and hipStreamPerThread, and NULL: streams of whichever device is current. What
 * lies above is a pointer to a stream of one device. */
enum { KDL_HIP_STREAM_LAST_SPECIAL = 2 };

#endif
