/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/portable/form.h"
#include "ld/portable/lower.h"
#include "support/base/error.h"

kdl_status ld_lower_amd(ld_linker *linker) {
  return kdl_fail(KDL_UNSUPPORTED, "%s: portable images are not lowered for AMD's GPUs yet",
                  linker->request->caller);
}
