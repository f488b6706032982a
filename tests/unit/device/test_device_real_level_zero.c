/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Intel's own loader on a machine without Intel GPUs. */
#include "lib/backends/common/built_in.h"

#define ABSENT_BACKEND KDL_BACKEND_LEVEL_ZERO
#define ABSENT_LIBRARY "libze_loader.so."
#define ABSENT_PACKAGE "libze1"
#define ABSENT_SPEC "level_zero:pvc"
#define absent_built_in kdl_built_in_level_zero

static const char *const absent_words[] = {
    "zeInit: error 0x78000001: the loader found no driver that works",
    "zeInit: ZE_RESULT_ERROR_UNINITIALIZED (0x78000001): the loader found no driver that works",
    NULL,
};

#include "device_absent.h"

int main(void) {
  return run_absent();
}
