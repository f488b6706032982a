/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tables of the parts of ext that a library is built without. */
#include "lib/hooks.h"

#ifdef WITHOUT_ADAPTIVE /* the policy `adaptive` is `best` */
const kdl_adaptive_hooks *const kdl_adaptive_choice;
#endif

#ifdef WITHOUT_JIT
const kdl_jit_hooks *const kdl_jit;
#endif

#ifdef WITHOUT_SPECIALIZE /* every launch uses the general kernel */
const kdl_specialize_hooks *const kdl_specializing;
#endif

#ifdef WITHOUT_TRACE
const kdl_trace_hooks *kdl_tracing;
#endif
