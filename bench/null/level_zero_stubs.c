/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every entry point of Level Zero that level_zero.c has nothing to say in. */
#include "lib/backends/level_zero/abi.h"

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(misc-unused-parameters): doing nothing takes none of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  __attribute__((visibility("default"))) result name parameters;                                   \
  __attribute__((weak)) result name parameters {                                                   \
    return KDL_ZE_SUCCESS;                                                                         \
  }
#include "lib/backends/level_zero/symbols.def"
#undef KDL_DRIVER_SYMBOL

/* NOLINTEND(misc-unused-parameters) */
