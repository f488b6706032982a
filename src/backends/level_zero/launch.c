/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launching.
 *
 * A launch that repeats the last one on its queue, in all but the grid and the contents of memory,
 * is one call of the driver between the taking of the queue's lock and its release, after a
 * comparison without branches. Any other takes the longer way and sets what differs.
 */
#include "backends/level_zero/objects.h"

#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* ------------------------------------------------------------------------------------------ */
/* Refusals                                                                                     */

static kdl_status refused(const kdl_ze_kernel *kernel, const kdl_launch_desc *desc, int error,
                          const char *call) {
  const uint32_t *block = desc->block[0] ? desc->block : kernel->block;
  return kdl_ze_fail(kernel->device, error,
                     "%s \"%s\" with grid %ux%ux%u, block %ux%ux%u, %u bytes of dynamic group "
                     "memory",
                     call, kernel->name, desc->grid[0], desc->grid[1], desc->grid[2], block[0],
                     block[1], block[2], desc->shared);
}

/* Of the usual launch, whose descriptor the queue knows; its lock is held. */
__attribute__((noinline, cold)) static kdl_status refuse(kdl_ze_queue *queue, int error) {
  const kdl_ze_kernel *kernel = queue->last->kernel;
  const kdl_launch_desc *desc = queue->at;
  kdl_brief_lock_release(&queue->lock);
  return refused(kernel, desc, error, "zeCommandListAppendLaunchKernel");
}

/* ------------------------------------------------------------------------------------------ */
/* The longer way                                                                               */

static kdl_status check(const kdl_ze_kernel *kernel, const kdl_launch_desc *desc) {
  const kdl_ze_device *device = kernel->device;
  if (desc->flags & ~(uint32_t)KDL_LAUNCH_COOPERATIVE)
    return kdl_ze_host->fail(KDL_UNSUPPORTED, 0,
                             "level_zero:%u: found launch flags 0x%x, expected "
                             "KDL_LAUNCH_COOPERATIVE or none",
                             device->ordinal, desc->flags);
  if (desc->cluster[0])
    return kdl_ze_host->fail(KDL_UNSUPPORTED, 0,
                             "level_zero:%u: found a cluster of groups, expected none: Level Zero "
                             "has none",
                             device->ordinal);
  if (desc->flags && !device->is_cooperative)
    return kdl_ze_host->fail(KDL_UNSUPPORTED, 0,
                             "level_zero:%u: the device has no queues for cooperative launches",
                             device->ordinal);
  return KDL_OK;
}

static kdl_status launch_now(kdl_ze_queue *queue, kdl_ze_instance *instance,
                             const kdl_launch_desc *desc) {
  bool cooperative = desc->flags & KDL_LAUNCH_COOPERATIVE;
  const char *call = cooperative ? "zeCommandListAppendLaunchCooperativeKernel"
                                 : "zeCommandListAppendLaunchKernel";
  int error = (cooperative ? kdl_ze.launch_cooperative : kdl_ze.launch)(
      queue->list, instance->handle, desc->grid, NULL, 0, NULL);
  error = kdl_ze_queue_after(queue, error, &call);
  return error == KDL_ZE_SUCCESS ? KDL_OK : refused(instance->kernel, desc, error, call);
}

/* A queue that needs barriers always goes this way, so it remembers no last kernel. */
static kdl_status launch_locked(kdl_ze_queue *queue, const kdl_ze_kernel *kernel,
                                const kdl_launch_desc *desc, const kdl_args *args) {
  kdl_ze_instance *instance;
  kdl_status status = check(kernel, desc);
  if (status == KDL_OK)
    status = kdl_ze_queue_instance(queue, kernel, &instance);
  if (status == KDL_OK)
    status = kdl_ze_arguments_set(instance, desc, args);
  if (status != KDL_OK)
    return status;
  if (!queue->has_barriers)
    queue->last = instance;
  return launch_now(queue, instance, desc);
}

kdl_status kdl_ze_launch_changed(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                 const kdl_args *args, void *queue_handle) {
  kdl_ze_queue *queue = queue_handle;
  kdl_status status = launch_locked(queue, head->context, desc, args);
  kdl_brief_lock_release(&queue->lock);
  return status;
}

kdl_status kdl_ze_launch_contended(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                   const kdl_args *args, void *queue) {
  kdl_brief_lock_wait(&((kdl_ze_queue *)queue)->lock);
  return kdl_ze_launch_changed(head, desc, args, queue);
}

/* ------------------------------------------------------------------------------------------ */
/* The usual launch                                                                             */

/* Zero where the block, the group memory, the flags and the cluster are as they were, which the
 * last two always are. */
static inline __attribute__((always_inline)) uint64_t differs(const kdl_ze_instance *instance,
                                                              const kdl_launch_desc *desc) {
  enum { at_block = offsetof(kdl_launch_desc, block) };
  _Static_assert(offsetof(kdl_launch_desc, shared) == at_block + 12 &&
                     offsetof(kdl_launch_desc, flags) == at_block + 16 &&
                     offsetof(kdl_launch_desc, cluster) == at_block + 20,
                 "neighbours");
  return (kdl_word_at(desc, at_block) ^ instance->shape[0]) |
         (kdl_word_at(desc, at_block + 8) ^ instance->shape[1]) | kdl_word_at(desc, at_block + 16);
}

/* The descriptor is kept in the queue and not across the call, which costs less. */
static inline __attribute__((always_inline)) kdl_status launch_same(kdl_ze_queue *queue,
                                                                    const kdl_ze_instance *instance,
                                                                    const kdl_launch_desc *desc) {
  queue->at = desc;
  int error = kdl_ze.launch(queue->list, instance->handle, desc->grid, NULL, 0, NULL);
  if (unlikely(error != KDL_ZE_SUCCESS))
    return refuse(queue, error);
  kdl_brief_lock_release(&queue->lock);
  return KDL_OK;
}

kdl_status kdl_ze_launch_bare(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                              const kdl_args *args, void *queue_handle) {
  kdl_ze_queue *queue = queue_handle;
  if (unlikely(!kdl_brief_lock_try(&queue->lock)))
    return kdl_ze_launch_contended(head, desc, args, queue);
  const kdl_ze_instance *instance = queue->last;
  if (unlikely(instance->kernel != head->context || differs(instance, desc)))
    return kdl_ze_launch_changed(head, desc, args, queue);
  return launch_same(queue, instance, desc);
}

kdl_status kdl_ze_launch(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                         const kdl_args *args, void *queue_handle) {
  kdl_ze_queue *queue = queue_handle;
  const kdl_ze_kernel *kernel = head->context;
  if (unlikely(!kdl_brief_lock_try(&queue->lock)))
    return kdl_ze_launch_contended(head, desc, args, queue);
  const kdl_ze_instance *instance = queue->last;
  if (unlikely(instance->kernel != kernel))
    return kdl_ze_launch_changed(head, desc, args, queue);
  uint64_t generation = atomic_load_explicit(&kernel->device->generation, memory_order_relaxed);
  if (unlikely(differs(instance, desc) | (instance->generation ^ generation) |
               (args->count ^ kernel->argument_count) | kernel->slots.has_others) ||
      unlikely(kdl_slots_differ(&kernel->slots, instance->values, args->pointers)))
    return kdl_ze_launch_changed(head, desc, args, queue);
  return launch_same(queue, instance, desc);
}
