/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "runtime.h"

#include <kdl/extension.h>

void kdl_mlir_parallel(uint64_t count, void (*run)(void *context, uint64_t index), void *context) {
  if (kdl_host_parallel(count, run, context) != KDL_OK)
    kdl_mlir_report_error("a loop on the host's threads");
}
