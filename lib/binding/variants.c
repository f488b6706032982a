/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/binding/variants.h"

#include "lib/binding/adaptive.h"
#include "lib/binding/geometry.h"
#include "lib/inspect/images.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/text.h"

/* ------------------------------------------------------------------------------------------ */
/* Selecting                                                                                    */

static bool is_unbindable(const kdl_kernel *kernel) {
  return atomic_load_explicit(&kernel->bind_state, memory_order_acquire) == KDL_UNBINDABLE;
}

/* "image 0 when m<=16; image 2 when m<=64" */
static kdl_status fail_no_condition_holds(const kdl_kernel *kernel, const kdl_extent *items) {
  char conditions[1024];
  kdl_out out = {conditions, sizeof conditions, 0};
  for (size_t i = 0; i < kernel->variants->count; ++i) {
    kdl_kernel_key key;
    kdl_geometry_read_key(kernel, i, &key);
    kdl_string when = kdl_kernel_field_text(&key, KDL_KERNEL_WHEN);
    kdl_out_format(&out, "%simage %u when %.*s", i ? "; " : "",
                   (unsigned)kernel->ranking->candidates[i].image, (int)when.length, when.data);
  }
  return kdl_fail(KDL_NO_MATCH, "%s: no image is for this launch%s: found %s", kernel->name,
                  items ? "" : " (an explicit grid has no items)", conditions);
}

/* Images that do not load are skipped, as in kdl_kernel_bind. If none is left, the failure is that
 * of the first. */
static kdl_status select_variant(const kdl_kernel *kernel, void *queue, const kdl_extent *items,
                                 const kdl_args *args, kdl_kernel **out_kernel) {
  kdl_kernel *first_failed = NULL;
  *out_kernel = atomic_load_explicit(&kernel->variants->pinned, memory_order_acquire);
  if (*out_kernel)
    return KDL_OK;
  if (kernel->variants->adaptive)
    return kdl_adaptive_select(kernel, queue, items, args, out_kernel);
  for (size_t i = 0; i < kernel->variants->count; ++i) {
    const kdl_variant *variant = &kernel->variants->items[i];
    if (!kdl_variant_is_for_launch(variant, items, args))
      continue;
    *out_kernel = variant->kernel;
    if (kdl_kernel_is_bound(variant->kernel))
      return KDL_OK;
    kdl_status status = kdl_entry_prepare(variant->kernel, queue);
    if (status == KDL_OK || !is_unbindable(variant->kernel))
      return status;
    if (!first_failed)
      first_failed = variant->kernel;
  }
  return first_failed ? kdl_fail_cached(&first_failed->failure)
                      : fail_no_condition_holds(kernel, items);
}

kdl_status kdl_variants_select(kdl_kernel **kernel, const kdl_queue *queue, const kdl_extent *items,
                               const kdl_args *args) {
  return select_variant(*kernel, kdl_kernel_queue(*kernel, queue), items, args, kernel);
}

kdl_status kdl_variants_bind_general(kdl_kernel **kernel) {
  kdl_kernel *first_failed = NULL;
  const struct kdl_variants *variants = (*kernel)->variants;
  for (size_t i = 0; i < variants->count; ++i) {
    kdl_kernel *general = variants->items[i].kernel;
    if (variants->items[i].has_condition)
      continue;
    kdl_status status = kdl_kernel_bind(general);
    if (status == KDL_OK)
      *kernel = general;
    if (status == KDL_OK || !is_unbindable(general))
      return status;
    if (!first_failed)
      first_failed = general;
  }
  if (first_failed)
    return kdl_fail_cached(&first_failed->failure);
  return kdl_fail(KDL_UNSUPPORTED,
                  "%s: each image that fits has a condition (when), expected one without, which is "
                  "for every launch",
                  (*kernel)->name);
}

kdl_status kdl_variants_prefetch(kdl_kernel *kernel) {
  kdl_kernel *general = kernel;
  kdl_status status = kdl_variants_bind_general(&general);
  bool has_general = status != KDL_UNSUPPORTED;
  for (size_t i = 0; i < kernel->variants->count && status != KDL_NO_MEMORY; ++i) {
    kdl_kernel *variant = kernel->variants->items[i].kernel;
    if (variant == general)
      break;
    kdl_status bound = kdl_kernel_bind(variant);
    if (!has_general && (bound == KDL_OK || i == 0))
      status = bound;
  }
  return status;
}

kdl_status kdl_kernel_variant(kdl_kernel *kernel, const kdl_extent *items, const kdl_args *args,
                              kdl_kernel **out_kernel) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(kernel, args, out_kernel));
  KDL_TRY(kdl_kernel_for_launch(&kernel, NULL, items, args));
  *out_kernel = kernel;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Entries                                                                                      */

static kdl_status launch_selected(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                  const kdl_args *args, void *queue) {
  kdl_kernel *selected;
  KDL_TRY(select_variant(kdl_kernel_of(head), queue, NULL, args, &selected));
  kdl_launch_entry *entry = __atomic_load_n(&selected->head.entry, __ATOMIC_ACQUIRE);
  return entry(&selected->head, desc, args, queue ? queue : selected->head.queue);
}

static kdl_status launch_items_selected(kdl_kernel *kernel, kdl_queue *queue,
                                        const kdl_extent *items, const kdl_args *args) {
  kdl_kernel *selected;
  KDL_TRY(select_variant(kernel, kdl_kernel_queue(kernel, queue), items, args, &selected));
  kdl_items_entry *entry = atomic_load_explicit(&selected->items_entry, memory_order_acquire);
  return entry(selected, queue, items, args);
}

void kdl_variants_destroy(kdl_kernel *kernel) {
  if (kdl_kernel_is_adaptive(kernel))
    kdl_adaptive_destroy(kernel);
}

void kdl_variants_pin(kdl_kernel *kernel, kdl_kernel *pinned) {
  atomic_store_explicit(&kernel->variants->pinned, pinned, memory_order_release);
}

/* ------------------------------------------------------------------------------------------ */
/* Creating                                                                                     */

static bool create_variant(const kdl_kernel *kernel, size_t position, kdl_variant *out_variant) {
  kdl_kernel_key key;
  kdl_geometry_read_key(kernel, position, &key);
  out_variant->has_condition = kernel->ranking->candidates[position].has_condition;
  if (out_variant->has_condition && !kdl_condition_compile(&key, &out_variant->condition, NULL))
    return false; /* not reached: the ranking has parsed the key */
  kdl_kernel *made = kdl_container_alloc(kernel->lib->container, sizeof *made);
  if (!made)
    return false;
  *made = *kernel;
  made->first = position;
  made->end = position + 1;
  made->key = key;
  out_variant->kernel = made;
  return true;
}

bool kdl_variants_create(kdl_kernel *kernel, kdl_bound_objects *bound) {
  const kdl_ranking *ranking = kernel->ranking;
  struct kdl_variants *variants = kdl_container_alloc(
      kernel->lib->container, sizeof *variants + ranking->count * sizeof *variants->items);
  if (!variants)
    return false;
  *variants = (struct kdl_variants){.count = ranking->count};
  for (size_t i = 0; i < variants->count; ++i) {
    if (!create_variant(kernel, i, &variants->items[i]))
      return false;
  }
  for (size_t i = 0; i < variants->count; ++i)
    kdl_bound_objects_add(bound, variants->items[i].kernel);
  kernel->variants = variants;
  if (kdl_adaptive_create(kernel))
    return true;
  kernel->head.entry = launch_selected;
  atomic_store_explicit(&kernel->items_entry, launch_items_selected, memory_order_relaxed);
  return true;
}
