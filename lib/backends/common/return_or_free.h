/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef KDL_LIB_BACKENDS_COMMON_RETURN_OR_FREE_H
#define KDL_LIB_BACKENDS_COMMON_RETURN_OR_FREE_H

#include <kdl/kdl.h>

#include <stdlib.h>

/* Returns a new object to the caller, or frees it if its creation failed; returns the status. */
static inline kdl_status kdl_return_or_free(kdl_status status, void *made, void **out_made) {
  if (status == KDL_OK)
    *out_made = made;
  else
    free(made);
  return status;
}

#endif
