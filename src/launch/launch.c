/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The launches that are not inline. */
#include "launch/launch.h"

#include "base/error.h"
#include "binding/capture.h"
#include "trace/trace.h"

#include <inttypes.h>

/* The block where neither metadata, image nor backend prefers one. */
static const uint32_t usual_block[3] = {256, 1, 1};

static void *where(const kdl_kernel *kernel, const kdl_queue *queue) {
  return queue ? queue->head.queue : __atomic_load_n(&kernel->head.queue, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) kdl_status launch(const kdl_kernel *kernel,
                                                               const kdl_queue *queue,
                                                               const kdl_launch_desc *desc,
                                                               const kdl_args *args) {
  kdl_launch_entry *entry = __atomic_load_n(&kernel->head.entry, __ATOMIC_ACQUIRE);
  return entry(&kernel->head, desc, args, where(kernel, queue));
}

/* Not the way of a launch, so that it stays as short as it can be. */
static bool are_given(const kdl_kernel *kernel, const void *shape, const kdl_args *args) {
  return __builtin_expect(kernel && shape && args, true);
}

kdl_status kdl_launch_call(kdl_kernel *kernel, kdl_queue *queue, const kdl_launch_desc *desc,
                           const kdl_args *args) {
  if (!are_given(kernel, desc, args))
    return KDL_GIVEN(kernel, desc, args);
  return launch(kernel, queue, desc, args);
}

/* ------------------------------------------------------------------------------------------ */
/* Checks                                                                                       */

static kdl_status check_queue(const kdl_kernel *kernel, const kdl_queue *queue) {
  if (!queue || queue->runtime == kernel->runtime)
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL, "%s: found a queue of %s, expected one of %s", kernel->name,
                  queue->runtime->label, kernel->runtime->label);
}

static kdl_status check_desc(const kdl_kernel *kernel, const kdl_launch_desc *desc) {
  const uint32_t *block = kernel->loaded.block[0] ? kernel->loaded.block : kernel->block;
  if (desc->size != sizeof *desc)
    return kdl_fail(KDL_BAD_CALL, "%s: desc.size is %zu, expected %zu", kernel->name, desc->size,
                    sizeof *desc);
  for (int i = 0; i < 3; ++i) {
    if (desc->grid[i] == 0)
      return kdl_fail(KDL_BAD_CALL, "%s: desc.grid[%d] is 0, expected at least 1", kernel->name, i);
    if (desc->block[0] && desc->block[i] == 0)
      return kdl_fail(KDL_BAD_CALL, "%s: desc.block[%d] is 0, expected at least 1", kernel->name,
                      i);
    if (desc->block[0] && block[0] && desc->block[i] != block[i])
      return kdl_fail(KDL_BAD_CALL, "%s: desc.block is %ux%ux%u, expected %ux%ux%u of image %u",
                      kernel->name, desc->block[0], desc->block[1], desc->block[2], block[0],
                      block[1], block[2], (unsigned)kdl_kernel_image(kernel));
  }
  if (!desc->block[0] && !block[0])
    return kdl_fail(KDL_BAD_CALL, "%s: desc.block is 0, and image %u leaves it to the caller",
                    kernel->name, (unsigned)kdl_kernel_image(kernel));
  return KDL_OK;
}

kdl_status kdl_launch_check_grid(const kdl_kernel *kernel, const kdl_launch_desc *desc) {
  if (kernel->disagreement)
    return kdl_fail(KDL_BAD_CALL, "%s: %s", kernel->name, kernel->disagreement);
  return check_desc(kernel, desc);
}

/* What libkdl does with the arguments of a kernel that is traced is recorded: its binding is never
 * KDL_BOUND, so that launches of those that are not come here too, and of others none. */
static kdl_status begin_arguments(kdl_kernel *kernel, const kdl_queue *queue, uint64_t *out_begin) {
  kdl_status status = kdl_entry_prepare(kernel, where(kernel, queue));
  *out_begin = kdl_trace_ticks();
  return status;
}

static void end_arguments(const kdl_kernel *kernel, uint64_t begin) {
  if (kernel->traced)
    kdl_trace_span(KDL_LAYER_ARGUMENTS, kernel->traced, begin, NULL, 0, KDL_OK);
}

static bool is_untraced(const kdl_kernel *kernel) {
  return atomic_load_explicit(&kernel->binding, memory_order_acquire) == KDL_BOUND;
}

static kdl_status check_launch(const kdl_kernel *kernel, const kdl_launch_desc *desc,
                               const kdl_args *args) {
  kdl_status status = check_desc(kernel, desc);
  return status == KDL_OK ? kdl_arguments_check(kernel, args) : status;
}

static __attribute__((noinline, cold)) kdl_status launch_checked_otherwise(
    kdl_kernel *kernel, kdl_queue *queue, const kdl_launch_desc *desc, const kdl_args *args) {
  uint64_t begin;
  KDL_TRY(begin_arguments(kernel, queue, &begin));
  KDL_TRY(check_launch(kernel, desc, args));
  end_arguments(kernel, begin);
  return launch(kernel, queue, desc, args);
}

/* What is to be checked against is known once the kernel is bound; until then the resolver has its
 * own say, about captures. */
kdl_status kdl_launch_checked(kdl_kernel *kernel, kdl_queue *queue, const kdl_launch_desc *desc,
                              const kdl_args *args) {
  if (!are_given(kernel, desc, args))
    return KDL_GIVEN(kernel, desc, args);
  KDL_TRY(check_queue(kernel, queue));
  if (!is_untraced(kernel))
    return launch_checked_otherwise(kernel, queue, desc, args);
  kdl_status status = check_launch(kernel, desc, args);
  return status == KDL_OK ? launch(kernel, queue, desc, args) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Items                                                                                        */

static inline __attribute__((always_inline)) kdl_status count_groups(const kdl_kernel *kernel,
                                                                     const kdl_extent *items,
                                                                     const uint32_t tile[3],
                                                                     uint32_t out_grid[3]) {
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

/* The grid of the image that is bound. */
static inline __attribute__((always_inline)) kdl_status shape(const kdl_kernel *kernel,
                                                              const kdl_extent *items,
                                                              kdl_launch_desc *out_desc) {
  const uint32_t *suggested = kernel->loaded.suggested[0] ? kernel->loaded.suggested : usual_block;
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

kdl_status kdl_launch_shape(const kdl_kernel *kernel, const kdl_extent *items,
                            kdl_launch_desc *out_desc) {
  return shape(kernel, items, out_desc);
}

/* Of a kernel that is bound; `begin` is 0 where it is not traced. Inlined twice, so that the way of
 * those that are not is what it would be without the other. */
static inline __attribute__((always_inline)) kdl_status
launch_items(const kdl_kernel *kernel, const kdl_queue *queue, const kdl_extent *items,
             const kdl_args *args, uint32_t shared, uint64_t begin) {
  kdl_launch_desc desc;
  kdl_status status = check_queue(kernel, queue);
  if (status == KDL_OK)
    status = kdl_arguments_check(kernel, args);
  if (status == KDL_OK)
    status = shape(kernel, items, &desc);
  if (status != KDL_OK || items->x == 0 || items->y == 0 || items->z == 0)
    return status;
  if (shared)
    desc.shared = shared;
  if (begin)
    end_arguments(kernel, begin);
  kdl_launch_entry *entry = atomic_load_explicit(&kernel->counted, memory_order_acquire);
  return entry(&kernel->head, &desc, args, where(kernel, queue));
}

static __attribute__((noinline, cold)) kdl_status launch_items_otherwise(kdl_kernel *kernel,
                                                                         const kdl_queue *queue,
                                                                         const kdl_extent *items,
                                                                         const kdl_args *args) {
  uint64_t begin;
  kdl_status status = begin_arguments(kernel, queue, &begin);
  kdl_capture *capture = queue ? queue->capture : kernel->runtime->queue.capture;
  if (status == KDL_OK && capture) {
    status = check_queue(kernel, queue);
    return status == KDL_OK ? capture->calls->launch_items(capture, kernel, items, args) : status;
  }
  return status == KDL_OK ? launch_items(kernel, queue, items, args, 0, begin) : status;
}

kdl_status kdl_launch_items_call(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                 const kdl_args *args) {
  if (!are_given(kernel, items, args))
    return KDL_GIVEN(kernel, items, args);
  if (!is_untraced(kernel))
    return launch_items_otherwise(kernel, queue, items, args);
  return launch_items(kernel, queue, items, args, 0, 0);
}

kdl_status kdl_launch_items_shared(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                   uint32_t shared, const kdl_args *args) {
  uint64_t begin;
  kdl_status status = begin_arguments(kernel, queue, &begin);
  return status == KDL_OK ? launch_items(kernel, queue, items, args, shared, begin) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Packed arguments                                                                             */

static kdl_status unpack(const char *call, kdl_kernel *kernel, const kdl_queue *queue,
                         const void *packed, size_t size, const void *out_pointers[KDL_LIMIT_ARGS],
                         kdl_args *out_args) {
  uint64_t begin;
  if (size && !packed)
    return kdl_fail_null(call, "packed");
  if (is_untraced(kernel))
    return kdl_arguments_unpack(kernel, packed, size, out_pointers, out_args);
  KDL_TRY(begin_arguments(kernel, queue, &begin));
  KDL_TRY(kdl_arguments_unpack(kernel, packed, size, out_pointers, out_args));
  end_arguments(kernel, begin);
  return KDL_OK;
}

kdl_status kdl_launch_packed(kdl_kernel *kernel, kdl_queue *queue, const kdl_launch_desc *desc,
                             const void *packed, size_t size) {
  const void *pointers[KDL_LIMIT_ARGS];
  kdl_args args;
  kdl_status status = KDL_GIVEN(kernel, desc);
  if (status == KDL_OK)
    status = unpack(__func__, kernel, queue, packed, size, pointers, &args);
  return status == KDL_OK ? launch(kernel, queue, desc, &args) : status;
}

kdl_status kdl_launch_items_packed(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                   const void *packed, size_t size) {
  const void *pointers[KDL_LIMIT_ARGS];
  kdl_args args;
  kdl_status status = KDL_GIVEN(kernel, items);
  if (status == KDL_OK)
    status = unpack(__func__, kernel, queue, packed, size, pointers, &args);
  return status == KDL_OK ? kdl_launch_items_call(kernel, queue, items, &args) : status;
}
