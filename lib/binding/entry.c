/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A handle's entries: first the resolver, then a chain of interceptors (kernel.h). */
#include "lib/binding/capture.h"
#include "lib/binding/kernel.h"
#include "lib/binding/specialize.h"
#include "lib/hooks.h"
#include "lib/inspect/images.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/system/environment.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* The resolver                                                                                 */

/* Loading would break a capture that the program has begun on the queue. */
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
  KDL_TRY(refuse_capture(kernel, queue));
  return kdl_kernel_bind(kernel);
}

kdl_status kdl_entry_resolve(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                             const kdl_args *args, void *queue) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  KDL_TRY(kdl_entry_prepare(kernel, queue));
  kdl_launch_entry *entry = __atomic_load_n(&head->entry, __ATOMIC_ACQUIRE);
  return entry(head, desc, args, queue ? queue : kernel->runtime->queue.head.queue);
}

kdl_status kdl_entry_resolve_items(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                   const kdl_args *args) {
  KDL_TRY(kdl_entry_prepare(kernel, kdl_kernel_queue(kernel, queue)));
  return atomic_load_explicit(&kernel->items_entry, memory_order_acquire)(kernel, queue, items,
                                                                          args);
}

/* ------------------------------------------------------------------------------------------ */
/* Refuses explicit grids, whose meaning differs between images                                 */

static kdl_status refuse_grid(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                              const kdl_args *args, void *queue) {
  (void)queue, (void)desc, (void)args;
  const kdl_kernel *kernel = kdl_kernel_of(head);
  return kdl_fail(KDL_BAD_CALL, "%s: %s", kernel->name, kernel->geometry_conflict);
}

/* ------------------------------------------------------------------------------------------ */
/* The first launch of a loaded image: sets `launched` for the backend                          */

static kdl_status launch_first(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                               const kdl_args *args, void *queue) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  __atomic_store_n(kernel->loaded.launched, 1, __ATOMIC_RELAXED);
  kdl_entry_update(kernel);
  return kdl_launch_next(KDL_INTERCEPT_FIRST, head, desc, args, queue);
}

/* ------------------------------------------------------------------------------------------ */
/* KDL_TRACE                                                                                    */

static kdl_status launch_traced(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                const kdl_args *args, void *queue) {
  const kdl_kernel *kernel = kdl_kernel_of(head);
  kdl_trace_mark mark;
  kdl_tracing->begin(kernel->runtime->handle, queue, &mark);
  kdl_status status = kdl_launch_next(KDL_INTERCEPT_TRACE, head, desc, args, queue);
  kdl_tracing->end_launch(kernel->trace_subject, &mark, desc->grid,
                          desc->block[0] ? desc->block : kernel->block, queue, status);
  return status;
}

/* The end of the chain: the recorded phase includes counting the groups. */
static kdl_status launch_items_traced(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                      const kdl_args *args) {
  kdl_trace_mark mark;
  kdl_launch_desc desc;
  kdl_tracing->begin(NULL, NULL, &mark);
  KDL_TRY(kdl_items_check(kernel, queue, items, args, &desc));
  kdl_tracing->end_arguments(kernel->trace_subject, &mark);
  return kdl_items_enqueue(kernel, queue, &desc, args);
}

/* ------------------------------------------------------------------------------------------ */
/* KDL_DEBUG=launch                                                                             */

static kdl_status launch_debugged(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                  const kdl_args *args, void *queue) {
  const kdl_kernel *kernel = kdl_kernel_of(head);
  const uint32_t *block = desc->block[0] ? desc->block : kernel->block;
  kdl_status status = kdl_launch_next(KDL_INTERCEPT_DEBUG, head, desc, args, queue);
  kdl_debug(KDL_DEBUG_LAUNCH, "%s: image %u, grid %ux%ux%u, block %ux%ux%u, %zu arguments: %s",
            kernel->name, (unsigned)kdl_kernel_image(kernel), desc->grid[0], desc->grid[1],
            desc->grid[2], block[0], block[1], block[2], args->count,
            status == KDL_OK ? "given" : kdl_error_message());
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* KDL_CHECK                                                                                    */

static kdl_status launch_checked(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                 const kdl_args *args, void *queue) {
  KDL_TRY(kdl_kernel_args_check(kdl_kernel_of(head), args));
  return kdl_launch_next(KDL_INTERCEPT_CHECK, head, desc, args, queue);
}

/* ------------------------------------------------------------------------------------------ */
/* What the image requires of every launch                                                      */

/* Triton's compiler leaves this to its launcher: scratch pointers after the parameters of the
 * source, and dynamic group memory, of which a launch may use more. */
static kdl_status launch_declared(const kdl_kernel_head *head, const kdl_launch_desc *desc,
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
  return kdl_launch_next(KDL_INTERCEPT_DECLARED, head, desc, &all, queue);
}

/* ------------------------------------------------------------------------------------------ */
/* The chain                                                                                    */

static inline kdl_launch_entry *intercept(kdl_kernel *kernel, kdl_interceptor_id id,
                                          kdl_launch_entry *next, kdl_launch_entry *launch) {
  atomic_store_explicit(&kernel->interceptors[id].next, next, memory_order_release);
  return launch;
}

static inline kdl_items_entry *intercept_items(kdl_kernel *kernel, kdl_interceptor_id id,
                                               kdl_items_entry *next, kdl_items_entry *launch) {
  atomic_store_explicit(&kernel->interceptors[id].next_items, next, memory_order_release);
  return launch;
}

/* Builds from the backend's function outwards. Other threads may launch meanwhile: an entry is
 * stored only after everything that it calls. */
static inline void build_chain(kdl_kernel *kernel) {
  kdl_launch_entry *entry = kernel->loaded.launch;
  kdl_items_entry *items = kdl_items_launch;
  if (kernel->key.hidden || kernel->key.shared)
    entry = intercept(kernel, KDL_INTERCEPT_DECLARED, entry, launch_declared);
  if (kdl_environment_cached(KDL_CACHED_VARIABLE_CHECK))
    entry = intercept(kernel, KDL_INTERCEPT_CHECK, entry, launch_checked);
  if (kdl_debug_on(KDL_DEBUG_LAUNCH))
    entry = intercept(kernel, KDL_INTERCEPT_DEBUG, entry, launch_debugged);
  if (kernel->trace_subject) {
    entry = intercept(kernel, KDL_INTERCEPT_TRACE, entry, launch_traced);
    items = launch_items_traced;
  }
  if (kernel->loaded.launched && !__atomic_load_n(kernel->loaded.launched, __ATOMIC_RELAXED))
    entry = intercept(kernel, KDL_INTERCEPT_FIRST, entry, launch_first);
  if (kernel->specialized && kdl_specialized_is_needed(kernel->specialized))
    entry = intercept(kernel, KDL_INTERCEPT_SPECIALIZE, entry, kdl_specialized_launch);
  atomic_store_explicit(&kernel->grid_entry, entry, memory_order_release);
  /* These apply to explicit grids, and to items before their groups are counted. */
  if (kernel->geometry_conflict)
    entry = refuse_grid;
  if (kdl_capture_lookup(kernel->runtime, NULL)) {
    entry = intercept(kernel, KDL_INTERCEPT_CAPTURE, entry, kdl_capture_launch);
    items = intercept_items(kernel, KDL_INTERCEPT_CAPTURE, items, kdl_capture_launch_items);
  }
  atomic_store_explicit(&kernel->items_entry, items, memory_order_release);
  __atomic_store_n(&kernel->head.entry, entry, __ATOMIC_RELEASE);
}

static kdl_status launch_disabled(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                  const kdl_args *args, void *queue) {
  (void)queue, (void)desc, (void)args;
  const kdl_runtime *runtime = kdl_kernel_of(head)->runtime;
  KDL_TRY(kdl_runtime_usable(runtime));
  return kdl_fail_forked(runtime->label, "opened");
}

void kdl_entry_disable(kdl_kernel *kernel) {
  kernel->is_disabled = true;
  atomic_store_explicit(&kernel->grid_entry, launch_disabled, memory_order_release);
  __atomic_store_n(&kernel->head.entry, launch_disabled, __ATOMIC_RELEASE);
}

/* Called with the lock of the fork links held. */
static void update_kernel_entries(kdl_fork_link *link, void *runtime) {
  kdl_kernel *kernel = (kdl_kernel *)((char *)link - offsetof(kdl_kernel, fork));
  if (kernel->runtime != runtime || kernel->is_disabled)
    return;
  build_chain(kernel);
  atomic_store_explicit(&kernel->bind_state, KDL_BOUND, memory_order_release);
}

void kdl_entry_update(kdl_kernel *kernel) {
  kdl_fork_add(&kernel->fork, update_kernel_entries, (void *)(uintptr_t)kernel->runtime);
}

void kdl_entry_update_all(const kdl_runtime *runtime) {
  kdl_fork_visit(update_kernel_entries, (void *)(uintptr_t)runtime);
}

static const kdl_trace_subject *make_trace_subject(const kdl_kernel *kernel) {
  uint32_t image = kdl_kernel_image(kernel);
  return kdl_tracing->subject_of(&(kdl_trace_phase_info){
      .library = kernel->lib->container->name,
      .kernel = kernel->name,
      .device = kernel->runtime->name,
      .target = kernel->lib->container->images[image].arch.data,
      .kind = kdl_image_kind_name(kernel->loaded_image->kind),
      .variant = kernel->values ? kernel->values : kdl_image_variant_tag(kernel->lib, image),
      .has_image = true,
      .image = image});
}

void kdl_entry_publish(kdl_kernel *kernel) {
  if (kdl_tracing)
    kernel->trace_subject = make_trace_subject(kernel);
  kernel->head.context = kernel->loaded.context;
  __atomic_store_n(&kernel->head.queue, kernel->runtime->queue.head.queue, __ATOMIC_RELAXED);
  kdl_entry_update(kernel);
}
