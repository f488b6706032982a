/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launching.
 *
 * OpenCL has no launch call with arguments: they are set on the cl_kernel before. A launch that
 * repeats the last one, except for the contents of memory, is one call of the driver after a
 * comparison without branches. Any other launch takes the slow path and sets what differs.
 */
#include "lib/backends/opencl/objects.h"

#include <string.h>

#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* The number of threads that have their own cl_kernel. */
enum { max_instances = 64 };

enum { dimensions = 3, at_shape = offsetof(kdl_launch_desc, grid) };

/* A unique value of this thread while it runs: the address of its control block, which
 * pthread_self() would return by a call. */
static inline uintptr_t opencl_thread_id(void) {
#if defined(__x86_64__)
  uintptr_t self;
  __asm__("mov %%fs:0, %0" : "=r"(self));
  return self;
#elif defined(__aarch64__)
  uintptr_t self;
  __asm__("mrs %0, tpidr_el0" : "=r"(self));
  return self;
#else
  return (uintptr_t)pthread_self();
#endif
}

/* ------------------------------------------------------------------------------------------ */
/* The slow path                                                                                */

__attribute__((noinline, cold)) static kdl_status
opencl_launch_failed(const kdl_opencl_instance *instance, int32_t error) {
  const size_t *global = instance->global, *local = instance->local;
  return kdl_opencl_fail(instance->device->ordinal, error,
                         "clEnqueueNDRangeKernel \"%s\" with grid %zux%zux%zu, block %zux%zux%zu, "
                         "%u bytes of dynamic group memory",
                         instance->of->name, global[0] / local[0], global[1] / local[1],
                         global[2] / local[2], local[0], local[1], local[2],
                         instance->given.group_memory);
}

/* Zero if the launch has the shape of the last one. */
static inline __attribute__((always_inline)) uint64_t
opencl_shape_differs(const kdl_opencl_instance *instance, const kdl_launch_desc *desc) {
  enum { at_cluster = offsetof(kdl_launch_desc, cluster) };
  _Static_assert(offsetof(kdl_launch_desc, block) == at_shape + 12 &&
                     offsetof(kdl_launch_desc, shared) == at_shape + 24 &&
                     offsetof(kdl_launch_desc, flags) == at_shape + 28 &&
                     at_cluster == at_shape + 32,
                 "neighbours");
  return kdl_differ_32(desc->grid, instance->shape) | kdl_word_at(desc, at_cluster);
}

static void opencl_set_shape(kdl_opencl_instance *instance, const kdl_launch_desc *desc) {
  const uint32_t *block = desc->block[0] ? desc->block : instance->of->block;
  for (int i = 0; i < dimensions; ++i) {
    instance->local[i] = block[i];
    instance->global[i] = (size_t)desc->grid[i] * block[i];
  }
  memcpy(instance->shape, (const char *)desc + at_shape, sizeof instance->shape);
}

/* Values for error messages are stored on the stack now, which the empty asm statement forces:
 * keeping a value in a register across the driver's call costs every launch three instructions
 * instead of one. An OpenCL error is never positive, and success is KDL_OK, so it is returned
 * unchanged. */
static inline __attribute__((always_inline)) kdl_status opencl_enqueue_kernel(
    const kdl_opencl_instance *instance, const kdl_opencl_queue *queue, const size_t *no_offset) {
  const kdl_opencl_instance *launched = instance;
  __asm__ volatile("" : "+m"(launched));
  int32_t error = queue->launch(queue->queue, instance->kernel, dimensions, no_offset,
                                instance->global, instance->local, 0, NULL, NULL);
  return unlikely(error < KDL_CL_SUCCESS) ? opencl_launch_failed(launched, error)
                                          : (kdl_status)error;
}

static kdl_status opencl_launch_instance(kdl_opencl_instance *instance, const kdl_launch_desc *desc,
                                         const kdl_args *args, void *queue) {
  bool is_alike = !opencl_shape_differs(instance, desc);
  if (!is_alike && (desc->flags || desc->cluster[0]))
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                  "opencl:%u: OpenCL has neither cooperative launches nor clusters",
                                  instance->device->ordinal);
  KDL_TRY(kdl_argument_cache_set(&instance->given, &instance->of->list, instance->kernel, args,
                                 desc->shared));
  if (!is_alike)
    opencl_set_shape(instance, desc);
  return opencl_enqueue_kernel(instance, queue, NULL);
}

kdl_status kdl_opencl_launch_changed(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                     const kdl_args *args, void *queue) {
  return opencl_launch_instance(head->context, desc, args, queue);
}

/* ------------------------------------------------------------------------------------------ */
/* Threads                                                                                      */

/* This thread's instance: its last one, a free one, or a new one; NULL with KDL_OK where there are
 * too many. The next thread with the address of an ended one inherits its instance. */
static kdl_opencl_instance *opencl_find_instance(kdl_opencl_kernel *kernel,
                                                 kdl_status *out_status) {
  uintptr_t self = opencl_thread_id();
  kdl_opencl_instance *instance = atomic_load_explicit(&kernel->instances, memory_order_acquire);
  *out_status = KDL_OK;
  for (; instance; instance = instance->next) {
    if (atomic_load_explicit(&instance->owner, memory_order_relaxed) == self)
      return instance;
  }
  pthread_mutex_lock(&kernel->lock);
  if (atomic_load_explicit(&kernel->first->owner, memory_order_relaxed) == 0) {
    instance = kernel->first;
  } else if (kernel->instance_count < max_instances) {
    *out_status = kdl_opencl_instance_create(kernel, &instance);
    if (instance) {
      instance->next = atomic_load_explicit(&kernel->instances, memory_order_relaxed);
      ++kernel->instance_count;
    }
  }
  if (instance) {
    atomic_store_explicit(&instance->owner, self, memory_order_relaxed);
    if (instance != kernel->first)
      atomic_store_explicit(&kernel->instances, instance, memory_order_release);
  }
  pthread_mutex_unlock(&kernel->lock);
  return instance;
}

/* Creates an instance for one launch: threads that shared one would overwrite each other's
 * arguments. */
static kdl_status opencl_launch_temporary(kdl_opencl_kernel *kernel, const kdl_launch_desc *desc,
                                          const kdl_args *args, void *queue) {
  kdl_opencl_instance *instance;
  kdl_status status = kdl_opencl_instance_create(kernel, &instance);
  if (status == KDL_OK) {
    status = opencl_launch_instance(instance, desc, args, queue);
    kdl_opencl_instance_free(kernel, instance);
  }
  return status;
}

kdl_status kdl_opencl_launch_other_thread(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                          const kdl_args *args, void *queue) {
  kdl_opencl_kernel *kernel = ((kdl_opencl_instance *)head->context)->of;
  kdl_status status;
  kdl_opencl_instance *instance = opencl_find_instance(kernel, &status);
  if (status != KDL_OK)
    return status;
  return instance ? opencl_launch_instance(instance, desc, args, queue)
                  : opencl_launch_temporary(kernel, desc, args, queue);
}

/* ------------------------------------------------------------------------------------------ */
/* The fast path                                                                                */

static inline __attribute__((always_inline)) bool
opencl_is_own_instance(const kdl_opencl_instance *instance) {
  return atomic_load_explicit(&instance->owner, memory_order_relaxed) == opencl_thread_id();
}

static kdl_status launch_bare(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                              const kdl_args *args, void *queue) {
  const kdl_opencl_instance *instance = head->context;
  if (unlikely(!opencl_is_own_instance(instance)))
    return kdl_opencl_launch_other_thread(head, desc, args, queue);
  uint64_t differs = opencl_shape_differs(instance, desc);
  if (unlikely(differs))
    return kdl_opencl_launch_changed(head, desc, args, queue);
  /* The register with the zero of the comparison serves as the driver's NULL. */
  __asm__("" : "+r"(differs));
  return opencl_enqueue_kernel(instance, queue, (const size_t *)(uintptr_t)differs);
}

/* Whether everything but the arguments is unchanged, and equal words mean equal arguments. */
static inline __attribute__((always_inline)) bool is_alike(const kdl_opencl_instance *instance,
                                                           const kdl_launch_desc *desc) {
  uint64_t generation =
      atomic_load_explicit(&instance->device->ranges.generation, memory_order_relaxed);
  return !(opencl_shape_differs(instance, desc) | (instance->given.repeatable ^ generation));
}

static kdl_status launch_many(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                              const kdl_args *args, void *queue) {
  const kdl_opencl_instance *instance = head->context;
  if (unlikely(!opencl_is_own_instance(instance)))
    return kdl_opencl_launch_other_thread(head, desc, args, queue);
  if (unlikely(!is_alike(instance, desc)) || unlikely(args->count != instance->of->list.count) ||
      unlikely(!kdl_argument_cache_matches(&instance->given, args->pointers)))
    return kdl_opencl_launch_changed(head, desc, args, queue);
  return opencl_enqueue_kernel(instance, queue, NULL);
}

static inline __attribute__((always_inline)) kdl_status launch_few(const kdl_kernel_head *head,
                                                                   const kdl_launch_desc *desc,
                                                                   const kdl_args *args,
                                                                   void *queue, unsigned wide_count,
                                                                   unsigned word_count) {
  const kdl_opencl_instance *instance = head->context;
  if (unlikely(!opencl_is_own_instance(instance)))
    return kdl_opencl_launch_other_thread(head, desc, args, queue);
  if (unlikely(!is_alike(instance, desc)) || unlikely(args->count != wide_count + word_count) ||
      unlikely(!kdl_words_match((const kdl_cached_word *)instance->values, wide_count, word_count,
                                args->pointers)))
    return kdl_opencl_launch_changed(head, desc, args, queue);
  return opencl_enqueue_kernel(instance, queue, NULL);
}

KDL_EACH_UNROLLED(KDL_UNROLLED_ENTRY)
KDL_UNROLLED_SELECTOR(kdl_opencl_entry_of)
