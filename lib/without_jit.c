/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Replaces ext/jit in a library that is built without it. */
#include "lib/hooks.h"

const kdl_jit_hooks *const kdl_jit;
