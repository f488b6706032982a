/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launching.
 *
 * The fast path is one call of the runtime, which takes the device from the stream. The slow path
 * makes the device current first, if the stream means "the current device" (NULL, as PyTorch's
 * default), because the runtime would launch on another one. Group memory needs no preparation, but
 * the fast path is one instruction shorter without it.
 */
#include "lib/backends/hip/objects.h"

#include <stdio.h>

__attribute__((noinline, cold)) static kdl_status hip_launch_failed(const kdl_hip_kernel *kernel,
                                                                    const kdl_launch_desc *desc,
                                                                    int error, const char *call) {
  const uint32_t *block = kdl_launch_block(&kernel->head, desc);
  uint32_t most = kernel->limits.max_block;
  char limit[96] = "";
  if (most && (uint64_t)block[0] * block[1] * block[2] > most)
    snprintf(limit, sizeof limit, " (compiled for at most %u work-items in a group)", most);
  return kdl_hip_fail(kernel->device->ordinal, error,
                      "%s with grid %ux%ux%u, block %ux%ux%u%s, %u bytes of dynamic group memory",
                      call, desc->grid[0], desc->grid[1], desc->grid[2], block[0], block[1],
                      block[2], limit, desc->shared);
}

/* ------------------------------------------------------------------------------------------ */
/* The slow path                                                                                */

static kdl_status hip_check_launch(const kdl_hip_kernel *kernel, const kdl_launch_desc *desc) {
  uint32_t ordinal = kernel->device->ordinal;
  KDL_TRY(kdl_driver_check_shape(&kdl_hip_errors, ordinal, desc));
  if (desc->flags && !kdl_hip.launch_cooperative)
    return kdl_core_services.fail(
        KDL_UNSUPPORTED, 0,
        "hip:%u: cooperative launches need hipModuleLaunchCooperativeKernel, "
        "which ROCm has from 5.5 on",
        ordinal);
  if (desc->flags && !kernel->device->is_cooperative)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                  "hip:%u: the device has no cooperative launches", ordinal);
  return KDL_OK;
}

static int hip_launch_cooperative(const kdl_launch_head *kernel, void *stream,
                                  const kdl_launch_desc *desc, const uint32_t *block,
                                  const kdl_args *args) {
  return kdl_hip.launch_cooperative(kernel->function, desc->grid[0], desc->grid[1], desc->grid[2],
                                    block[0], block[1], block[2], desc->shared, stream,
                                    kdl_launch_pointers(args));
}

static kdl_status hip_launch_kernel(const kdl_hip_kernel *kernel, const kdl_hip_queue *queue,
                                    const kdl_launch_desc *desc, const kdl_args *args) {
  const uint32_t *block = kdl_launch_block(&kernel->head, desc);
  bool cooperative = desc->flags & KDL_LAUNCH_COOPERATIVE;
  int error = cooperative
                  ? hip_launch_cooperative(&kernel->head, queue->stream, desc, block, args)
                  : kdl_launch_plain(&kernel->head, queue->stream, desc, block, desc->shared, args);
  if (error == KDL_HIP_SUCCESS)
    return KDL_OK;
  return hip_launch_failed(kernel, desc, error,
                           cooperative ? "hipModuleLaunchCooperativeKernel"
                                       : "hipModuleLaunchKernel");
}

kdl_status kdl_hip_launch_slow(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                               const kdl_args *args, void *queue_handle) {
  const kdl_hip_kernel *kernel = head->context;
  const kdl_hip_queue *queue = queue_handle;
  kdl_status status = hip_check_launch(kernel, desc);
  if (status != KDL_OK || !queue->make_current)
    return status == KDL_OK ? hip_launch_kernel(kernel, queue, desc, args) : status;
  kdl_hip_scope scope;
  status = kdl_hip_enter(kernel->device, &scope);
  if (status != KDL_OK)
    return status;
  status = hip_launch_kernel(kernel, queue, desc, args);
  (void)kdl_hip_leave(&scope, KDL_HIP_SUCCESS, "hipModuleLaunchKernel");
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The fast path                                                                                */

/* A hipError_t is never negative, and success is KDL_OK, so it is returned unchanged. */
static inline __attribute__((always_inline)) kdl_status
hip_launch_fast(const kdl_hip_kernel *kernel, const kdl_hip_queue *queue,
                const kdl_launch_desc *desc, const uint32_t *block, const kdl_args *args) {
  int error = kdl_launch_plain(&kernel->head, queue->stream, desc, block, 0, args);
  return kdl_unlikely(error > KDL_HIP_SUCCESS)
             ? hip_launch_failed(kernel, desc, error, "hipModuleLaunchKernel")
             : (kdl_status)error;
}

kdl_status kdl_hip_launch_kernel_block(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                       const kdl_args *args, void *queue) {
  const kdl_hip_kernel *kernel = head->context;
  return hip_launch_fast(kernel, queue, desc, kernel->head.block, args);
}

kdl_status kdl_hip_launch_desc_block(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                     const kdl_args *args, void *queue) {
  return hip_launch_fast(head->context, queue, desc, desc->block, args);
}

/* Ends in a tail call on every path, as kdl_cuda_launch does. */
kdl_status kdl_hip_launch(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                          const kdl_args *args, void *queue_handle) {
  const kdl_hip_queue *queue = queue_handle;
  if (kdl_unlikely(kdl_launch_extras(desc) | queue->make_current))
    return kdl_hip_launch_slow(head, desc, args, queue_handle);
  return desc->block[0] ? kdl_hip_launch_desc_block(head, desc, args, queue_handle)
                        : kdl_hip_launch_kernel_block(head, desc, args, queue_handle);
}
