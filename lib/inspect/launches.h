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

/* Of an image's bytes and the value of its key for a kernel; never 0. Reads the image where its
 * metadata has no digest. */
uint64_t kdl_adaptive_variant_id(kdl_library *lib, uint32_t image, kdl_string key);

/* Whether a launch of these items uses a variant for good; true where nothing is measured. */
bool kdl_kernel_is_decided(const kdl_kernel *kernel, const kdl_extent *items, const kdl_args *args);

/* ------------------------------------------------------------------------------------------ */
/* Images for values that repeat (docs/specialize.md)                                           */

/* How many images launches of this handle can use besides the general one, and how many could not
 * be made. */
void kdl_kernel_count_specialized(const kdl_kernel *kernel, unsigned *out_ready,
                                  unsigned *out_failed);

struct kdl_kernel_key;
struct kdl_out;

/* Prints the values in the key of a link, its lines "fold ...", with the names of the parameters:
 * "n=64 alpha=2.5 block=256x1x1". False where it has none. */
bool kdl_fold_lines_print(const struct kdl_kernel_key *key, kdl_string lines, struct kdl_out *out);

/* ------------------------------------------------------------------------------------------ */
/* Items                                                                                        */

/* kdl_launch_items with the caller's size of dynamic group memory; 0: as the image declares. */
kdl_status kdl_launch_items_shared(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                   uint32_t shared, const kdl_args *args);

#endif
