/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* In place of ext/trace where the library is built without it. */
#include "lib/hooks.h"

const kdl_trace_hooks *kdl_tracing;
