/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AMD's own runtime on a machine without AMD GPUs. */
#include "lib/backends/common/built_in.h"

#define ABSENT_BACKEND KDL_BACKEND_HIP
#define ABSENT_LIBRARY "libamdhip64.so."
#define ABSENT_PACKAGE "libamdhip64-5"
#define ABSENT_SPEC "hip:gfx90a"
#define absent_built_in kdl_built_in_hip

/* Debian 12 has the first. */
static const char *const absent_words[] = {
    "hipInit: hipErrorInvalidDevice (101)",
    "hipInit: hipErrorInvalidDevice (101): invalid device ordinal",
    "hipInit: hipErrorNoDevice (100): no ROCm-capable device is detected",
    NULL,
};

#include "device_absent.h"

int main(void) {
  return run_absent();
}
