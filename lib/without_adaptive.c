/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A library built without ext/adaptive: the policy `adaptive` is `best`. */
#include "lib/hooks.h"

const kdl_adaptive_hooks *const kdl_adaptive_choice = NULL;
