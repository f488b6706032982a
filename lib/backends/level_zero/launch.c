/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launching.
 *
 * A launch that repeats the last one on its queue, except for the grid and the contents of memory,
 * is one call of the driver within the queue's lock, after a comparison without branches. Any other
 * launch takes the slow path and sets what differs.
 */
#include "lib/backends/level_zero/objects.h"

#include <string.h>

#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

static kdl_status ze_launch_failed(const kdl_ze_kernel *kernel, const kdl_launch_desc *desc,
                                   int error, const char *call) {
  const uint32_t *block = desc->block[0] ? desc->block : kernel->block;
  return kdl_ze_fail(kernel->device, error,
                     "%s \"%s\" with grid %ux%ux%u, block %ux%ux%u, %u bytes of dynamic group "
                     "memory",
                     call, kernel->name, desc->grid[0], desc->grid[1], desc->grid[2], block[0],
                     block[1], block[2], desc->shared);
}

/* Reports a failure of the fast path, whose descriptor is in the queue; the lock is held. */
__attribute__((noinline, cold)) static kdl_status ze_launch_failed_locked(kdl_ze_queue *queue,
                                                                          int error) {
  const kdl_ze_kernel *kernel = queue->kernel;
  const kdl_launch_desc *desc = queue->at;
  kdl_futex_lock_release(&queue->lock);
  return ze_launch_failed(kernel, desc, error, "zeCommandListAppendLaunchKernel");
}

/* ------------------------------------------------------------------------------------------ */
/* The slow path                                                                                */

/* Zero if block and group memory are those of the last launch, and flags and cluster are zero. */
static inline __attribute__((always_inline)) uint64_t
ze_shape_differs(const kdl_ze_last *last, const kdl_launch_desc *desc) {
  enum { at_block = offsetof(kdl_launch_desc, block) };
  _Static_assert(offsetof(kdl_launch_desc, shared) == at_block + 12 &&
                     offsetof(kdl_launch_desc, flags) == at_block + 16 &&
                     offsetof(kdl_launch_desc, cluster) == at_block + 20,
                 "neighbours");
  return kdl_differ_16(desc->block, last->shape) | kdl_word_at(desc, at_block + 16);
}

static kdl_status ze_check_launch(const kdl_ze_kernel *kernel, const kdl_launch_desc *desc) {
  const kdl_ze_device *device = kernel->device;
  KDL_TRY(kdl_driver_check_shape(&kdl_ze_errors, device->ordinal, desc));
  if (desc->flags && !device->is_cooperative)
    return kdl_core_services.fail(
        KDL_UNSUPPORTED, 0, "level_zero:%u: the device has no queues for cooperative launches",
        device->ordinal);
  return KDL_OK;
}

static kdl_status ze_launch_kernel(kdl_ze_queue *queue, const kdl_ze_instance *instance,
                                   const kdl_launch_desc *desc) {
  bool cooperative = desc->flags & KDL_LAUNCH_COOPERATIVE;
  const char *call = cooperative ? "zeCommandListAppendLaunchCooperativeKernel"
                                 : "zeCommandListAppendLaunchKernel";
  int error = (cooperative ? kdl_ze.launch_cooperative : queue->launch)(
      queue->list, instance->handle, desc->grid, NULL, 0, NULL);
  error = kdl_ze_queue_append_barrier(queue, error, &call);
  return error == KDL_ZE_SUCCESS ? KDL_OK : ze_launch_failed(instance->kernel, desc, error, call);
}

/* Sets the group size, arguments and group memory of the instance. */
static kdl_status ze_prepare_instance(kdl_ze_queue *queue, const kdl_ze_kernel *kernel,
                                      const kdl_launch_desc *desc, const kdl_args *args,
                                      kdl_ze_instance **out_instance) {
  const kdl_ze_last *last = &queue->last;
  bool is_alike = queue->kernel == kernel && !ze_shape_differs(last, desc);
  kdl_ze_instance *instance = is_alike ? last->instance : NULL;
  kdl_status status = is_alike ? KDL_OK : ze_check_launch(kernel, desc);
  if (status == KDL_OK && !is_alike)
    status = kdl_ze_queue_instance(queue, kernel, &instance);
  if (status == KDL_OK && !is_alike)
    status = kdl_ze_instance_set_group(instance, desc);
  if (status == KDL_OK)
    status = kdl_argument_cache_set(&instance->given, &kernel->list, instance->handle, args,
                                    desc->shared);
  *out_instance = instance;
  return status;
}

/* A queue that needs barriers always takes the slow path, so no launch repeats; so does one whose
 * arguments were set partly. */
static kdl_status ze_launch_locked(kdl_ze_queue *queue, const kdl_ze_kernel *kernel,
                                   const kdl_launch_desc *desc, const kdl_args *args) {
  kdl_ze_instance *instance;
  kdl_status status = ze_prepare_instance(queue, kernel, desc, args, &instance);
  bool is_repeatable = status == KDL_OK && !queue->has_barriers;
  queue->kernel = is_repeatable ? kernel : NULL;
  if (status != KDL_OK)
    return status;
  queue->last = (kdl_ze_last){.handle = instance->handle, .instance = instance};
  memcpy(queue->last.shape, desc->block, sizeof queue->last.shape);
  return ze_launch_kernel(queue, instance, desc);
}

kdl_status kdl_ze_launch_changed(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                 const kdl_args *args, void *queue_handle) {
  kdl_ze_queue *queue = queue_handle;
  kdl_status status = ze_launch_locked(queue, head->context, desc, args);
  kdl_futex_lock_release(&queue->lock);
  return status;
}

kdl_status kdl_ze_launch_contended(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                   const kdl_args *args, void *queue) {
  kdl_futex_lock_wait(&((kdl_ze_queue *)queue)->lock);
  return kdl_ze_launch_changed(head, desc, args, queue);
}

/* ------------------------------------------------------------------------------------------ */
/* The fast path                                                                                */

__attribute__((noinline, cold)) static kdl_status ze_wake_waiter(kdl_ze_queue *queue) {
  kdl_futex_lock_wake(&queue->lock);
  return KDL_OK;
}

/* The descriptor is stored in the queue, which costs less than keeping it across the call. A
 * ze_result_t is never negative, and success is KDL_OK, so it is returned unchanged. */
static inline __attribute__((always_inline)) kdl_status
ze_launch_repeated(kdl_ze_queue *queue, const kdl_launch_desc *desc) {
  queue->at = desc;
  int error = queue->launch(queue->list, queue->last.handle, desc->grid, NULL, 0, NULL);
  if (unlikely(error > KDL_ZE_SUCCESS))
    return ze_launch_failed_locked(queue, error);
  return unlikely(kdl_futex_lock_release_fast(&queue->lock)) ? ze_wake_waiter(queue)
                                                             : (kdl_status)error;
}

static kdl_status launch_bare(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                              const kdl_args *args, void *queue_handle) {
  kdl_ze_queue *queue = queue_handle;
  if (unlikely(!kdl_futex_lock_try(&queue->lock)))
    return kdl_ze_launch_contended(head, desc, args, queue);
  if (unlikely(queue->kernel != head->context) || unlikely(ze_shape_differs(&queue->last, desc)))
    return kdl_ze_launch_changed(head, desc, args, queue);
  return ze_launch_repeated(queue, desc);
}

/* Whether everything but the arguments is unchanged, and equal words mean equal arguments. */
static inline __attribute__((always_inline)) bool
is_alike(const kdl_ze_queue *queue, const kdl_ze_kernel *kernel, const kdl_launch_desc *desc) {
  uint64_t generation =
      atomic_load_explicit(&kernel->device->ranges.generation, memory_order_relaxed);
  return !(ze_shape_differs(&queue->last, desc) |
           (queue->last.instance->given.repeatable ^ generation));
}

static kdl_status launch_many(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                              const kdl_args *args, void *queue_handle) {
  kdl_ze_queue *queue = queue_handle;
  const kdl_ze_kernel *kernel = head->context;
  if (unlikely(!kdl_futex_lock_try(&queue->lock)))
    return kdl_ze_launch_contended(head, desc, args, queue);
  if (unlikely(queue->kernel != kernel) || unlikely(!is_alike(queue, kernel, desc)) ||
      unlikely(args->count != kernel->list.count) ||
      unlikely(!kdl_argument_cache_matches(&queue->last.instance->given, args->pointers)))
    return kdl_ze_launch_changed(head, desc, args, queue);
  return ze_launch_repeated(queue, desc);
}

static inline __attribute__((always_inline)) kdl_status
launch_few(const kdl_kernel_head *head, const kdl_launch_desc *desc, const kdl_args *args,
           kdl_ze_queue *queue, unsigned wide_count, unsigned word_count) {
  const kdl_ze_kernel *kernel = head->context;
  if (unlikely(!kdl_futex_lock_try(&queue->lock)))
    return kdl_ze_launch_contended(head, desc, args, queue);
  if (unlikely(queue->kernel != kernel) || unlikely(!is_alike(queue, kernel, desc)) ||
      unlikely(args->count != wide_count + word_count) ||
      unlikely(!kdl_words_match((const kdl_cached_word *)queue->last.instance->values, wide_count,
                                word_count, args->pointers)))
    return kdl_ze_launch_changed(head, desc, args, queue);
  return ze_launch_repeated(queue, desc);
}

KDL_EACH_UNROLLED(KDL_UNROLLED_ENTRY)
KDL_UNROLLED_SELECTOR(kdl_ze_entry_of)
