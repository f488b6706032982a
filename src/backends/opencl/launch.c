/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launching.
 *
 * OpenCL has no call that takes a kernel's arguments with the launch: they are set on the cl_kernel
 * before. A launch that repeats the last one in all but the contents of memory needs none of that,
 * and is one call of the driver after a comparison without branches; any other takes the longer way
 * and sets what differs.
 *
 * Drivers may keep work back until somebody waits for the queue or flushes it. Nobody can wait for
 * the device's own queue, which has no handle, so that launches there are flushed.
 */
#include "backends/opencl/objects.h"

#include <string.h>

#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* So many threads have a cl_kernel of their own; those beyond share one, under a lock. */
enum { most_instances = 64, dimensions = 3 };

/* What only this thread has, for as long as it runs: the address of its control block, which
 * pthread_self() would return by a call. */
static inline uintptr_t this_thread(void) {
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
/* The longer way                                                                               */

__attribute__((noinline, cold)) static kdl_status
refused(const kdl_opencl_kernel *kernel, const kdl_launch_desc *desc, int32_t error) {
  const uint32_t *block = desc->block[0] ? desc->block : kernel->block;
  return kdl_opencl_fail(kernel->device->ordinal, error,
                         "clEnqueueNDRangeKernel \"%s\" with grid %ux%ux%u, block %ux%ux%u, %u "
                         "bytes of dynamic group memory",
                         kernel->name, desc->grid[0], desc->grid[1], desc->grid[2], block[0],
                         block[1], block[2], desc->shared);
}

static void set_shape(const kdl_opencl_kernel *kernel, kdl_opencl_instance *instance,
                      const kdl_launch_desc *desc) {
  const uint32_t *block = desc->block[0] ? desc->block : kernel->block;
  for (int i = 0; i < dimensions; ++i) {
    instance->local[i] = block[i];
    instance->global[i] = (size_t)desc->grid[i] * block[i];
  }
  memcpy(instance->shape, desc->grid, sizeof instance->shape);
}

static kdl_status launch_on(kdl_opencl_kernel *kernel, kdl_opencl_instance *instance,
                            const kdl_launch_desc *desc, const kdl_args *args, void *queue) {
  if (desc->flags || desc->cluster[0])
    return kdl_opencl_host->fail(KDL_UNSUPPORTED, 0,
                                 "opencl:%u: OpenCL has neither cooperative launches nor clusters",
                                 kernel->device->ordinal);
  kdl_status status = kdl_opencl_arguments_set(kernel, instance, desc, args);
  if (status != KDL_OK)
    return status;
  set_shape(kernel, instance, desc);
  int32_t error = kernel->launch(((kdl_opencl_queue *)queue)->queue, instance->kernel, dimensions,
                                 NULL, instance->global, instance->local, 0, NULL, NULL);
  return error == KDL_CL_SUCCESS ? KDL_OK : refused(kernel, desc, error);
}

kdl_status kdl_opencl_launch_changed(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                     const kdl_args *args, void *queue) {
  kdl_opencl_kernel *kernel = head->context;
  return launch_on(kernel, kernel->first, desc, args, queue);
}

/* ------------------------------------------------------------------------------------------ */
/* Threads                                                                                      */

/* This thread's instance: the one it had, one that nobody has yet, or a new one; NULL where there
 * are too many, with status KDL_OK. An instance of a thread that is no more goes to the next one
 * with its address. */
static kdl_opencl_instance *find_instance(kdl_opencl_kernel *kernel, kdl_status *out_status) {
  uintptr_t self = this_thread();
  kdl_opencl_instance *instance = atomic_load_explicit(&kernel->instances, memory_order_acquire);
  *out_status = KDL_OK;
  for (; instance; instance = instance->next) {
    if (atomic_load_explicit(&instance->owner, memory_order_relaxed) == self)
      return instance;
  }
  pthread_mutex_lock(&kernel->lock);
  if (atomic_load_explicit(&kernel->first->owner, memory_order_relaxed) == 0) {
    instance = kernel->first;
  } else if (kernel->instance_count < most_instances) {
    instance = kdl_opencl_instance_create(kernel, out_status);
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

/* The arguments of an instance that several use are somebody else's by the time of the next
 * launch, so it is made anew. */
static kdl_status launch_shared(kdl_opencl_kernel *kernel, const kdl_launch_desc *desc,
                                const kdl_args *args, void *queue) {
  kdl_status status;
  kdl_opencl_instance *instance = kdl_opencl_instance_create(kernel, &status);
  if (!instance)
    return status;
  status = launch_on(kernel, instance, desc, args, queue);
  kdl_opencl_instance_free(kernel, instance);
  return status;
}

static kdl_status flush(const kdl_opencl_kernel *kernel, void *queue) {
  int32_t error = kdl_opencl.flush(((kdl_opencl_queue *)queue)->queue);
  return error == KDL_CL_SUCCESS ? KDL_OK
                                 : kdl_opencl_fail(kernel->device->ordinal, error, "clFlush");
}

kdl_status kdl_opencl_launch_elsewhere(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                       const kdl_args *args, void *queue) {
  kdl_opencl_kernel *kernel = head->context;
  kdl_status status;
  kdl_opencl_instance *instance = find_instance(kernel, &status);
  if (status == KDL_OK)
    status = instance ? launch_on(kernel, instance, desc, args, queue)
                      : launch_shared(kernel, desc, args, queue);
  return status == KDL_OK && queue == head->queue ? flush(kernel, queue) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* The usual launch                                                                             */

/* Zero where nothing differs from the last launch of this instance. */
static inline __attribute__((always_inline)) uint64_t
difference(const kdl_opencl_kernel *kernel, const kdl_opencl_instance *instance,
           const kdl_launch_desc *desc, const kdl_args *args) {
  enum { at_grid = offsetof(kdl_launch_desc, grid), at_shared = offsetof(kdl_launch_desc, shared) };
  _Static_assert(offsetof(kdl_launch_desc, block) == at_grid + 12 && at_shared == at_grid + 24 &&
                     offsetof(kdl_launch_desc, flags) == at_shared + 4 &&
                     offsetof(kdl_launch_desc, cluster) == at_shared + 8,
                 "neighbours");
  uint64_t differs = (kdl_word_at(desc, at_grid) ^ instance->shape[0]) |
                     (kdl_word_at(desc, at_grid + 8) ^ instance->shape[1]) |
                     (kdl_word_at(desc, at_grid + 16) ^ instance->shape[2]) |
                     kdl_word_at(desc, at_shared) | kdl_word_at(desc, at_shared + 8) |
                     (args->count ^ kernel->param_count) | kernel->slots.has_others;
  differs |= instance->generation ^
             atomic_load_explicit(&kernel->device->generation, memory_order_relaxed);
  if (unlikely(differs))
    return differs;
  return kdl_slots_differ(&kernel->slots, instance->values, args->pointers);
}

kdl_status kdl_opencl_launch(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                             const kdl_args *args, void *queue) {
  const kdl_opencl_kernel *kernel = head->context;
  kdl_opencl_instance *instance = kernel->first;
  if (unlikely(atomic_load_explicit(&instance->owner, memory_order_relaxed) != this_thread() ||
               queue == head->queue))
    return kdl_opencl_launch_elsewhere(head, desc, args, queue);
  if (unlikely(difference(kernel, instance, desc, args)))
    return kdl_opencl_launch_changed(head, desc, args, queue);
  int32_t error = kernel->launch(((kdl_opencl_queue *)queue)->queue, instance->kernel, dimensions,
                                 NULL, instance->global, instance->local, 0, NULL, NULL);
  return unlikely(error != KDL_CL_SUCCESS) ? refused(kernel, desc, error) : KDL_OK;
}
