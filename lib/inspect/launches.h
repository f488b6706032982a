/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launches, beyond <kdl/launch.h>: which variants and specialized images they use. */
#ifndef KDL_LIB_INSPECT_LAUNCHES_H
#define KDL_LIB_INSPECT_LAUNCHES_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------ */
/* Measured variants                                                                            */

/* The key of the table that a library carries for a kernel, before its name. */
#define KDL_TUNED_PREFIX "kdl.tuned."

/* Whether a launch of these items uses a variant for good; true where nothing is measured. */
bool kdl_kernel_is_decided(const kdl_kernel *kernel, const kdl_extent *items, const kdl_args *args);

/* ------------------------------------------------------------------------------------------ */
/* Images for values that repeat (docs/specialize.md)                                           */

/* How many images launches of this handle can use besides the general one, and how many could not
 * be made. */
void kdl_kernel_count_specialized(const kdl_kernel *kernel, unsigned *out_ready,
                                  unsigned *out_failed);

/* ------------------------------------------------------------------------------------------ */
/* Items                                                                                        */

/* kdl_launch_items with the caller's size of dynamic group memory; 0: as the image declares. */
kdl_status kdl_launch_items_shared(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                   uint32_t shared, const kdl_args *args);

#endif
