/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images for values that repeat (docs/specialize.md). */
#ifndef KDL_INSPECT_SPECIALIZE_H
#define KDL_INSPECT_SPECIALIZE_H

#include <kdl/kdl.h>

/* How many images launches of this handle can use besides the general one, and how many could not
 * be made. */
void kdl_kernel_count_specialized(const kdl_kernel *kernel, unsigned *out_ready,
                                  unsigned *out_failed);

#endif
