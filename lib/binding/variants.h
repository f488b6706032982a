/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Variants with conditions: where an image of a kernel's ranking has the field `when`, each launch
 * takes the first image in rank order that loads and whose condition holds. Images without a
 * condition are for every launch.
 *
 * The handle that the program has then owns a handle for each image of the ranking, which loads
 * that image alone, and its entries select one of them. Handles without conditions are not changed.
 */
#ifndef KDL_BINDING_VARIANTS_H
#define KDL_BINDING_VARIANTS_H

#include "lib/binding/kernel.h"

/* Prepares a handle that no thread has yet, whose ranking has conditions. False when out of
 * memory. */
bool kdl_variants_create(kdl_kernel *kernel, kdl_bound_objects *bound);

/* Replaces the kernel by the bound handle for one launch. `items` is NULL for an explicit grid. */
kdl_status kdl_variants_select(kdl_kernel **kernel, const kdl_queue *queue, const kdl_extent *items,
                               const kdl_args *args);
static inline kdl_status kdl_kernel_for_launch(kdl_kernel **kernel, const kdl_queue *queue,
                                               const kdl_extent *items, const kdl_args *args) {
  return (*kernel)->variants ? kdl_variants_select(kernel, queue, items, args) : KDL_OK;
}

/* Replaces the kernel by the handle whose image is for every launch, and binds it. */
kdl_status kdl_variants_bind_general(kdl_kernel **kernel);
static inline kdl_status kdl_kernel_bind_general(kdl_kernel **kernel) {
  return (*kernel)->variants ? kdl_variants_bind_general(kernel) : kdl_kernel_bind(*kernel);
}

/* Loads each image that a launch may select. Fails where no image loads that is for every
 * launch. */
kdl_status kdl_variants_prefetch(kdl_kernel *kernel);

/* From now on every launch uses this handle. */
void kdl_variants_pin(kdl_kernel *kernel, kdl_kernel *pinned);

#endif
