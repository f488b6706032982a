/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What may stay undefined in an image: runtime.def. */
#ifndef KDL_LD_RUNTIME_H
#define KDL_LD_RUNTIME_H

#include "target/target.h"

typedef enum ld_runtime {
  LD_RUNTIME_NONE, /* nothing has it */
  LD_RUNTIME_THERE,
  LD_RUNTIME_LIBM, /* in the library that an image must then name */
} ld_runtime;

ld_runtime ld_runtime_of(kdl_target_family family, kdl_string name);

#endif
