/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Replaces ext/trace in a library that is built without it. */
#include "lib/hooks.h"

const kdl_trace_hooks *kdl_tracing;
