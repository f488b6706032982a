/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Variants with conditions: where an image of a kernel's ranking has the field `when`, each launch
 * takes the first image in rank order that loads and whose condition holds. Images without a
 * condition are for every launch.
 *
 * The handle that the program has then owns a handle for each image of the ranking, which loads
 * that image alone, and its entries select one of them. Handles without conditions are not changed.
 * Under the policy `adaptive`, measured times select among the images whose condition holds
 * (adaptive.h).
 */
#ifndef KDL_LIB_BINDING_VARIANTS_H
#define KDL_LIB_BINDING_VARIANTS_H

#include "lib/binding/kernel.h"
#include "lib/target/condition.h"

typedef struct kdl_variant {
  bool has_condition;
  kdl_condition condition;
  kdl_kernel *kernel;
} kdl_variant;

/* In rank order, in the container's memory. */
struct kdl_variants {
  _Atomic(kdl_kernel *) pinned; /* NULL: launches select */
  kdl_adaptive *adaptive;       /* measured times select (lib/binding/adaptive.h); NULL: ranks do */
  size_t count;
  kdl_variant items[];
};

/* Whether the handles of a ranking need variants: it has conditions, or its policy is adaptive. */
static inline bool kdl_variants_needed(const kdl_ranking *ranking) {
  return ranking->has_conditions || (ranking->query.policy == KDL_POLICY_ADAPTIVE &&
                                     kdl_adaptive_choice && ranking->count > 1);
}

static inline bool kdl_variant_is_for_launch(const kdl_variant *variant, const kdl_extent *items,
                                             const kdl_args *args) {
  return !variant->has_condition || kdl_condition_holds(&variant->condition, items, args);
}

/* Prepares a handle that no thread has yet, whose ranking needs variants. False when out of
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

/* Whether launches of this handle are measured. */
static inline bool kdl_kernel_is_adaptive(const kdl_kernel *kernel) {
  return kernel->variants && kernel->variants->adaptive;
}

/* Before the memory of the handle is freed. */
void kdl_variants_destroy(kdl_kernel *kernel);

/* From now on every launch uses this handle. */
void kdl_variants_pin(kdl_kernel *kernel, kdl_kernel *pinned);

#endif
