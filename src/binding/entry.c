/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a handle's entry can be. First the resolver; then, as a rule, the backend's own function;
 * and where a launch needs more than that, one of the functions here that do it and go on.
 */
#include "base/error.h"
#include "binding/kernel.h"
#include "library/image_name.h"
#include "system/environment.h"
#include "trace/trace.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Before                                                                                       */

/* Loading would break a capture that is under way on the queue. */
static kdl_status refuse_capture(const kdl_kernel *kernel, void *queue) {
  const kdl_runtime *runtime = kernel->runtime;
  int capturing = 0;
  if (!queue || !runtime->table->queue_capturing || kdl_kernel_is_bound(kernel))
    return KDL_OK;
  kdl_status status = kdl_runtime_usable(runtime);
  if (status == KDL_OK)
    status = runtime->table->queue_capturing(runtime->handle, queue, &capturing);
  if (status == KDL_OK && capturing)
    status = kdl_fail(KDL_BAD_CALL,
                      "%s: its first launch would load it, which breaks the capture on this "
                      "queue; call kdl_prefetch before the capture begins",
                      kernel->name);
  return status;
}

kdl_status kdl_entry_prepare(kdl_kernel *kernel, void *queue) {
  kdl_status status = refuse_capture(kernel, queue);
  return status == KDL_OK ? kdl_kernel_bind(kernel) : status;
}

kdl_status kdl_entry_resolve(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                             const kdl_args *args, void *queue) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  kdl_status status = kdl_entry_prepare(kernel, queue);
  if (status != KDL_OK)
    return status;
  kdl_launch_entry *entry = __atomic_load_n(&head->entry, __ATOMIC_ACQUIRE);
  return entry(head, desc, args, queue ? queue : kernel->runtime->queue.head.queue);
}

kdl_status kdl_entry_resolve_counted(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                     const kdl_args *args, void *queue) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  kdl_status status = kdl_entry_prepare(kernel, queue);
  if (status != KDL_OK)
    return status;
  kdl_launch_entry *entry = atomic_load_explicit(&kernel->counted, memory_order_acquire);
  return entry(head, desc, args, queue ? queue : kernel->runtime->queue.head.queue);
}

/* ------------------------------------------------------------------------------------------ */
/* After                                                                                        */

/* Kernels compiled by Triton take scratch pointers behind those of their source. */
static kdl_status add_hidden(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                             const kdl_args *args, void *queue) {
  const kdl_kernel *kernel = kdl_kernel_of(head);
  static void *const nothing = NULL;
  const void *pointers[KDL_LIMIT_ARGS];
  if (args->count + kernel->key.hidden > KDL_LIMIT_ARGS)
    return kdl_fail(KDL_BAD_CALL, "%s: found %zu arguments, expected at most %d", kernel->name,
                    args->count, KDL_LIMIT_ARGS);
  memcpy(pointers, args->pointers, args->count * sizeof *pointers);
  for (uint32_t i = 0; i < kernel->key.hidden; ++i)
    pointers[args->count + i] = &nothing;
  kdl_args all = {args->count + kernel->key.hidden, pointers, NULL};
  return kernel->loaded.launch(head, desc, &all, queue);
}

static kdl_launch_entry *plain_entry(const kdl_kernel *kernel) {
  return kernel->key.hidden ? add_hidden : kernel->loaded.launch;
}

/* For KDL_CHECK and KDL_DEBUG=launch. */
static kdl_status observe(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                          const kdl_args *args, void *queue) {
  const kdl_kernel *kernel = kdl_kernel_of(head);
  kdl_status status = kernel->is_checked ? kdl_arguments_check(kernel, args) : KDL_OK;
  if (status == KDL_OK)
    status = plain_entry(kernel)(head, desc, args, queue);
  kdl_debug(KDL_DEBUG_LAUNCH, "%s: image %u, grid %ux%ux%u, block %ux%ux%u, %zu arguments: %s",
            kernel->name, (unsigned)kdl_kernel_image(kernel), desc->grid[0], desc->grid[1],
            desc->grid[2], desc->block[0] ? desc->block[0] : kernel->block[0],
            desc->block[0] ? desc->block[1] : kernel->block[1],
            desc->block[0] ? desc->block[2] : kernel->block[2], args->count,
            status == KDL_OK ? "given" : kdl_error_message());
  return status;
}

static kdl_launch_entry *untraced_entry(const kdl_kernel *kernel) {
  bool is_observed = kernel->is_checked || kdl_debug_on(KDL_DEBUG_LAUNCH);
  return is_observed ? observe : plain_entry(kernel);
}

/* For KDL_TRACE. */
static inline kdl_status trace_from(uint64_t begin, const kdl_kernel_head *head,
                                    const kdl_launch_desc *desc, const kdl_args *args,
                                    void *queue) {
  const kdl_kernel *kernel = kdl_kernel_of(head);
  kdl_status status = kernel->untraced(head, desc, args, queue);
  kdl_trace_launch(kernel->traced, begin, desc->grid, desc->block[0] ? desc->block : kernel->block,
                   queue, status);
  return status;
}

static kdl_status trace(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                        const kdl_args *args, void *queue) {
  return trace_from(kdl_trace_ticks(), head, desc, args, queue);
}

/* The same with the time that the device takes, which on the host is the launch's. */
static kdl_status trace_with_device(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                    const kdl_args *args, void *queue) {
  const kdl_kernel *kernel = kdl_kernel_of(head);
  const kdl_trace_device *device = kernel->runtime->traced;
  kdl_trace_timer *timer = kdl_trace_times_devices ? device->timer : NULL;
  kdl_trace_pair *span = timer ? kdl_trace_timer_begin(timer, queue) : NULL;
  uint64_t begin_ns = device->works_here ? kdl_trace_ns() : 0;
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = trace_from(begin, head, desc, args, queue);
  if (timer)
    kdl_trace_timer_end(timer, span, kernel->traced, queue, begin, status);
  else if (device->works_here && status == KDL_OK)
    kdl_trace_device_time(kernel->traced, begin_ns, kdl_trace_ns(), begin, queue);
  return status;
}

static kdl_status refuse_grid(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                              const kdl_args *args, void *queue) {
  (void)queue, (void)desc, (void)args;
  const kdl_kernel *kernel = kdl_kernel_of(head);
  return kdl_fail(KDL_BAD_CALL, "%s: %s", kernel->name, kernel->disagreement);
}

static void set_entries(kdl_kernel *kernel, kdl_launch_entry *entry, kdl_launch_entry *counted) {
  atomic_store_explicit(&kernel->counted, counted, memory_order_release);
  __atomic_store_n(&kernel->head.entry, entry, __ATOMIC_RELEASE);
}

/* The entries from the first launch on. */
static kdl_launch_entry *lasting_counted(const kdl_kernel *kernel) {
  if (!kernel->traced)
    return untraced_entry(kernel);
  return kdl_trace_times_devices ? trace_with_device : trace;
}

static kdl_launch_entry *lasting(const kdl_kernel *kernel) {
  return kernel->disagreement ? refuse_grid : lasting_counted(kernel);
}

static void begin_launching(kdl_kernel *kernel) {
  __atomic_store_n(kernel->loaded.launched, 1, __ATOMIC_RELAXED);
  set_entries(kernel, lasting(kernel), lasting_counted(kernel));
}

static kdl_status launch_first(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                               const kdl_args *args, void *queue) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  begin_launching(kernel);
  return lasting(kernel)(head, desc, args, queue);
}

static kdl_status launch_first_counted(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                       const kdl_args *args, void *queue) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  begin_launching(kernel);
  return lasting_counted(kernel)(head, desc, args, queue);
}

static void begin_tracing(kdl_kernel *kernel) {
  uint32_t image = kdl_kernel_image(kernel);
  kernel->traced = kdl_trace_subject_of(
      &(kdl_layer_about){.library = kernel->lib->container->name,
                         .kernel = kernel->name,
                         .device = kernel->runtime->name,
                         .target = kernel->lib->container->images[image].arch.data,
                         .kind = kdl_image_kind_name(kernel->module->kind),
                         .variant = kdl_image_variant_tag(kernel->lib, image),
                         .has_image = true,
                         .image = image});
  kernel->untraced = untraced_entry(kernel);
}

void kdl_entry_publish(kdl_kernel *kernel) {
  kernel->is_checked = kdl_environment_lasting(KDL_LASTING_CHECK) != NULL;
  if (kernel->runtime->traced)
    begin_tracing(kernel);
  kernel->head.context = kernel->loaded.context;
  __atomic_store_n(&kernel->head.queue, kernel->runtime->queue.head.queue, __ATOMIC_RELAXED);
  if (kernel->loaded.launched)
    set_entries(kernel, launch_first, launch_first_counted);
  else
    set_entries(kernel, lasting(kernel), lasting_counted(kernel));
}
