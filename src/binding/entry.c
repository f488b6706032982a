/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a handle's entry can be. First the resolver; then, as a rule, the backend's own function;
 * and where a launch needs more than that, one of the functions here that do it and go on.
 */
#include "base/cancel.h"
#include "base/error.h"
#include "binding/capture.h"
#include "binding/kernel.h"
#include "library/image_name.h"
#include "system/environment.h"
#include "system/lock.h"
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
  KDL_TRY(kdl_runtime_usable(runtime));
  KDL_TRY(runtime->table->queue_capturing(runtime->handle, queue, &capturing));
  if (capturing)
    return kdl_fail(KDL_BAD_CALL,
                    "%s: its first launch would load it, which breaks the capture on this "
                    "queue; call kdl_prefetch before the capture begins",
                    kernel->name);
  return KDL_OK;
}

kdl_status kdl_entry_prepare(kdl_kernel *kernel, void *queue) {
  KDL_NOT_CANCELLED;
  kdl_status status = refuse_capture(kernel, queue);
  return status == KDL_OK ? kdl_kernel_bind(kernel) : status;
}

/* Binds, and launches by what the kernel's entry, or the one that counts, is from then on. */
static kdl_status resolve(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                          const kdl_args *args, void *queue, bool counts) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  KDL_TRY(kdl_entry_prepare(kernel, queue));
  kdl_launch_entry *entry = counts ? atomic_load_explicit(&kernel->counted, memory_order_acquire)
                                   : __atomic_load_n(&head->entry, __ATOMIC_ACQUIRE);
  return entry(head, desc, args, queue ? queue : kernel->runtime->queue.head.queue);
}

kdl_status kdl_entry_resolve(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                             const kdl_args *args, void *queue) {
  return resolve(head, desc, args, queue, false);
}

kdl_status kdl_entry_resolve_counted(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                     const kdl_args *args, void *queue) {
  return resolve(head, desc, args, queue, true);
}

/* ------------------------------------------------------------------------------------------ */
/* After                                                                                        */

/* What the image declares of every launch, as Triton's compiler leaves it to its launcher: scratch
 * pointers behind the parameters of the source, and dynamic group memory, of which a launch may ask
 * for more. */
static kdl_status launch_as_declared(const kdl_kernel_head *head, const kdl_launch_desc *desc,
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
  kdl_launch_desc declared = {.shared = 0};
  if (desc->shared < kernel->key.shared) {
    memcpy(&declared, desc, desc->size < sizeof declared ? desc->size : sizeof declared);
    declared.shared = (uint32_t)kernel->key.shared;
    desc = &declared;
  }
  return kernel->loaded.launch(head, desc, &all, queue);
}

static kdl_launch_entry *plain_entry(const kdl_kernel *kernel) {
  bool is_declared = kernel->key.hidden || kernel->key.shared;
  return is_declared ? launch_as_declared : kernel->loaded.launch;
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

/* ------------------------------------------------------------------------------------------ */
/* While a queue is captured                                                                    */

static pthread_mutex_t captures_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_capture *captures;

static kdl_capture *capture_of(const kdl_runtime *runtime, const void *queue) {
  kdl_lock(&captures_lock);
  kdl_capture *found = captures;
  while (found && (found->runtime != runtime || found->queue != queue))
    found = found->next;
  kdl_unlock(&captures_lock);
  return found;
}

static kdl_status capture(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                          const kdl_args *args, void *queue) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  kdl_capture *found = capture_of(kernel->runtime, queue);
  if (found)
    return found->calls->launch(found, kernel, desc, args);
  return __atomic_load_n(&kernel->usual, __ATOMIC_RELAXED)(head, desc, args, queue);
}

/* Launches whose groups libkdl counts are recorded before they come here. */
static kdl_status capture_counted(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                  const kdl_args *args, void *queue) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  return __atomic_load_n(&kernel->usual_counted, __ATOMIC_RELAXED)(head, desc, args, queue);
}

static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;

/* Called with the lock held, or where there is no other thread. */
static void apply(kdl_kernel *kernel) {
  bool is_captured = kernel->runtime->captures > 0;
  kdl_bound_state bound = kernel->traced || is_captured ? KDL_TRACED : KDL_BOUND;
  atomic_store_explicit(&kernel->counted, is_captured ? capture_counted : kernel->usual_counted,
                        memory_order_release);
  __atomic_store_n(&kernel->head.entry, is_captured ? capture : kernel->usual, __ATOMIC_RELEASE);
  atomic_store_explicit(&kernel->binding, bound, memory_order_release);
}

static void set_entries(kdl_kernel *kernel, kdl_launch_entry *entry, kdl_launch_entry *counted) {
  kdl_lock(&entries_lock);
  __atomic_store_n(&kernel->usual, entry, __ATOMIC_RELAXED);
  __atomic_store_n(&kernel->usual_counted, counted, __ATOMIC_RELAXED);
  apply(kernel);
  kdl_unlock(&entries_lock);
}

static void apply_of(kdl_fork_link *link, void *runtime) {
  kdl_kernel *kernel = (kdl_kernel *)((char *)link - offsetof(kdl_kernel, fork));
  if (kernel->runtime == runtime && kernel->usual) /* else it is about to be bound */
    apply(kernel);
}

/* One queue of the device more, or less, is captured. */
static void count_captures(const kdl_runtime *shared, int more) {
  kdl_runtime *runtime = (kdl_runtime *)(uintptr_t)shared;
  kdl_lock(&entries_lock);
  runtime->captures += more;
  kdl_fork_visit(apply_of, runtime);
  kdl_unlock(&entries_lock);
}

void kdl_capture_add(kdl_capture *added) {
  kdl_lock(&captures_lock);
  added->next = captures;
  captures = added;
  kdl_unlock(&captures_lock);
  count_captures(added->runtime, 1);
}

void kdl_capture_remove(kdl_capture *removed) {
  kdl_lock(&captures_lock);
  kdl_capture **link = &captures;
  while (*link != removed)
    link = &(*link)->next;
  *link = removed->next;
  kdl_unlock(&captures_lock);
  count_captures(removed->runtime, -1);
}

/* In the child of a fork, or at the end of the process. */
void kdl_entry_disable(kdl_kernel *kernel, kdl_launch_entry *refuse) {
  __atomic_store_n(&kernel->usual, refuse, __ATOMIC_RELAXED);
  __atomic_store_n(&kernel->usual_counted, refuse, __ATOMIC_RELAXED);
  __atomic_store_n(&kernel->head.entry, refuse, __ATOMIC_RELEASE);
  atomic_store_explicit(&kernel->counted, refuse, memory_order_release);
}

/* ------------------------------------------------------------------------------------------ */
/* From the first launch on                                                                     */

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
