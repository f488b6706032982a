/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The metadata keys that index kernels: "kdl.kernel.NAME" (docs/metadata.md). */
#ifndef KDL_BASE_KERNEL_NAME_H
#define KDL_BASE_KERNEL_NAME_H

#include "base/text.h"

#define KDL_KERNEL_PREFIX "kdl.kernel."

/* The NAME of such a key, which is not empty. */
static inline bool kdl_kernel_name(kdl_string key, kdl_string *out_name) {
  const size_t prefix = sizeof KDL_KERNEL_PREFIX - 1;
  if (key.length <= prefix || !kdl_text_starts(key, KDL_KERNEL_PREFIX))
    return false;
  *out_name = kdl_text_from(key, prefix);
  return true;
}

#endif
