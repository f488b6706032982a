/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A library built without ext/specialize: every launch uses the general kernel. */
#include "lib/hooks.h"

const kdl_specialize_hooks *const kdl_specializing = NULL;
