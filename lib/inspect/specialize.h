/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images for values that repeat (docs/specialize.md). */
#ifndef KDL_LIB_INSPECT_SPECIALIZE_H
#define KDL_LIB_INSPECT_SPECIALIZE_H

#include <kdl/kdl.h>

#include <stdbool.h>

/* How many images launches of this handle can use besides the general one, and how many could not
 * be made. */
void kdl_kernel_count_specialized(const kdl_kernel *kernel, unsigned *out_ready,
                                  unsigned *out_failed);

struct kdl_kernel_key;
struct kdl_out;

/* Prints the values in the key of a link, its lines "fold ...", with the names of the parameters:
 * "n=64 alpha=2.5 block=256x1x1". False where it has none. */
bool kdl_fold_lines_print(const struct kdl_kernel_key *key, kdl_string lines, struct kdl_out *out);

#endif
