/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launch functions that are not inline. */
#include "lib/launch/launch.h"

#include "lib/binding/variants.h"
#include "lib/inspect/launches.h"
#include "support/base/error.h"

static inline __attribute__((always_inline)) kdl_status call_entry(const kdl_kernel *kernel,
                                                                   const kdl_queue *queue,
                                                                   const kdl_launch_desc *desc,
                                                                   const kdl_args *args) {
  kdl_launch_entry *entry = __atomic_load_n(&kernel->head.entry, __ATOMIC_ACQUIRE);
  return entry(&kernel->head, desc, args, kdl_kernel_queue(kernel, queue));
}

/* Keeps the search for the NULL pointer off the hot path. */
static bool are_not_null(const kdl_kernel *kernel, const void *shape, const kdl_args *args) {
  return __builtin_expect(kernel && shape && args, true);
}

kdl_status kdl_launch_call(kdl_kernel *kernel, kdl_queue *queue, const kdl_launch_desc *desc,
                           const kdl_args *args) {
  if (!are_not_null(kernel, desc, args))
    return KDL_GIVEN(kernel, desc, args);
  return call_entry(kernel, queue, desc, args);
}

/* ------------------------------------------------------------------------------------------ */
/* Checks                                                                                       */

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
  if (kernel->geometry_conflict)
    return kdl_fail(KDL_BAD_CALL, "%s: %s", kernel->name, kernel->geometry_conflict);
  return check_desc(kernel, desc);
}

/* Binds first, because the parameters are known only then. A trace records the time spent on the
 * arguments. */
static inline kdl_status begin_argument_phase(kdl_kernel *kernel, const kdl_queue *queue,
                                              kdl_trace_mark *out_mark) {
  if (!kdl_kernel_is_bound(kernel))
    KDL_TRY(kdl_entry_prepare(kernel, kdl_kernel_queue(kernel, queue)));
  if (kernel->trace_subject)
    kdl_tracing->begin(NULL, NULL, out_mark);
  return KDL_OK;
}

static inline void end_argument_phase(const kdl_kernel *kernel, const kdl_trace_mark *mark) {
  if (kernel->trace_subject)
    kdl_tracing->end_arguments(kernel->trace_subject, mark);
}

kdl_status kdl_launch_checked(kdl_kernel *kernel, kdl_queue *queue, const kdl_launch_desc *desc,
                              const kdl_args *args) {
  kdl_trace_mark mark;
  if (!are_not_null(kernel, desc, args))
    return KDL_GIVEN(kernel, desc, args);
  KDL_TRY(kdl_kernel_check_queue(kernel, queue));
  kdl_kernel *given = kernel;
  KDL_TRY(kdl_kernel_for_launch(&kernel, queue, NULL, args));
  KDL_TRY(begin_argument_phase(kernel, queue, &mark));
  KDL_TRY(check_desc(kernel, desc));
  KDL_TRY(kdl_kernel_args_check(kernel, args));
  end_argument_phase(kernel, &mark);
  return call_entry(kdl_kernel_is_adaptive(given) ? given : kernel, queue, desc, args);
}

/* ------------------------------------------------------------------------------------------ */
/* Items                                                                                        */

kdl_status kdl_launch_items_shared(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                   uint32_t shared, const kdl_args *args) {
  kdl_trace_mark mark;
  kdl_launch_desc desc;
  KDL_TRY(kdl_kernel_for_launch(&kernel, queue, items, args));
  KDL_TRY(begin_argument_phase(kernel, queue, &mark));
  KDL_TRY(kdl_items_check(kernel, queue, items, args, &desc));
  if (shared)
    desc.shared = shared;
  end_argument_phase(kernel, &mark);
  return kdl_items_enqueue(kernel, queue, &desc, args);
}
