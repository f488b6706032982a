/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launches by items: the bound image decides how many groups cover them. */
#include "lib/binding/kernel.h"
#include "support/base/error.h"

#include <inttypes.h>

/* The block where neither metadata, image nor backend prefers one. */
static const uint32_t default_block[3] = {256, 1, 1};

static kdl_status count_groups(const kdl_kernel *kernel, const kdl_extent *items,
                               const uint32_t tile[3], uint32_t out_grid[3]) {
  const uint64_t extent[3] = {items->x, items->y, items->z};
  for (int i = 0; i < 3; ++i) {
    uint64_t groups = tile[i] == 1 ? extent[i] : extent[i] / tile[i] + (extent[i] % tile[i] != 0);
    if (groups > UINT32_MAX)
      return kdl_fail(KDL_BAD_CALL,
                      "%s: %" PRIu64 " work-items in direction %d make %" PRIu64
                      " groups of %u, expected at most 4294967295",
                      kernel->name, extent[i], i, groups, (unsigned)tile[i]);
    out_grid[i] = (uint32_t)groups;
  }
  return KDL_OK;
}

kdl_status kdl_items_to_grid(const kdl_kernel *kernel, const kdl_extent *items,
                             kdl_launch_desc *out_desc) {
  const uint32_t *suggested =
      kernel->loaded.suggested[0] ? kernel->loaded.suggested : default_block;
  const uint32_t *block = kernel->block[0] ? kernel->block : suggested;
  const uint32_t *tile = kernel->tile[0] ? kernel->tile : block;
  kdl_launch_desc desc = {.size = sizeof desc,
                          .block = {block[0], block[1], block[2]},
                          .shared = (uint32_t)kernel->key.shared,
                          .flags = kernel->key.coop ? KDL_LAUNCH_COOPERATIVE : 0};
  if (kdl_kernel_has(&kernel->key, KDL_KERNEL_CLUSTER)) {
    for (int i = 0; i < 3; ++i)
      desc.cluster[i] = kernel->key.cluster[i];
  }
  kdl_status status = count_groups(kernel, items, tile, desc.grid);
  *out_desc = desc;
  return status;
}

kdl_status kdl_items_check(const kdl_kernel *kernel, const kdl_queue *queue,
                           const kdl_extent *items, const kdl_args *args,
                           kdl_launch_desc *out_desc) {
  KDL_TRY(kdl_kernel_check_queue(kernel, queue));
  KDL_TRY(kdl_kernel_args_check(kernel, args));
  return kdl_items_to_grid(kernel, items, out_desc);
}

kdl_status kdl_items_enqueue(const kdl_kernel *kernel, const kdl_queue *queue,
                             const kdl_launch_desc *desc, const kdl_args *args) {
  if (desc->grid[0] == 0 || desc->grid[1] == 0 || desc->grid[2] == 0)
    return KDL_OK;
  kdl_launch_entry *entry = atomic_load_explicit(&kernel->grid_entry, memory_order_acquire);
  return entry(&kernel->head, desc, args, kdl_kernel_queue(kernel, queue));
}

/* Flattened: variants are launched by it. */
__attribute__((flatten)) kdl_status kdl_items_launch(kdl_kernel *kernel, kdl_queue *queue,
                                                     const kdl_extent *items,
                                                     const kdl_args *args) {
  kdl_launch_desc desc;
  KDL_TRY(kdl_items_check(kernel, queue, items, args, &desc));
  return kdl_items_enqueue(kernel, queue, &desc, args);
}

/* Flattened: without interceptors, a launch runs in this function alone. */
__attribute__((flatten)) kdl_status kdl_launch_items_call(kdl_kernel *kernel, kdl_queue *queue,
                                                          const kdl_extent *items,
                                                          const kdl_args *args) {
  if (!kernel || !items || !args)
    return KDL_GIVEN(kernel, items, args);
  kdl_items_entry *entry = atomic_load_explicit(&kernel->items_entry, memory_order_acquire);
  return entry == kdl_items_launch ? kdl_items_launch(kernel, queue, items, args)
                                   : entry(kernel, queue, items, args);
}
