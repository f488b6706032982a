/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* In place of ext/jit where the library is built without it. */
#include "lib/hooks.h"

const kdl_jit_hooks *const kdl_jit;
