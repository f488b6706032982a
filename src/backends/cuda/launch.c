/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launching.
 *
 * The usual launch is one call of the driver: no lock, no look-up, and no question which context is
 * current. The driver takes the context from the stream where the kernel is a CUkernel and the
 * stream a real one (cuLaunchKernel's manual), so that a thread that never saw CUDA, or that has
 * another context current, launches as well as any. Remembering per thread which context is current
 * would not do: frameworks change it behind our back.
 *
 * What is left takes the longer way. The context is made current first where the stream stands for
 * "whichever context is current" (NULL, as PyTorch's default is), since the driver would launch
 * elsewhere, and where kernels are bound to a context (drivers before CUDA 12), since it would
 * refuse. Group memory, clusters and cooperation are settled before they are asked for.
 */
#include "backends/cuda/objects.h"

#include <stdatomic.h>
#include <string.h>

enum { portable_cluster = 8 };

static int launch_with_attributes(const kdl_cuda_kernel *kernel, const kdl_cuda_queue *queue,
                                  const kdl_launch_desc *desc, const uint32_t *block,
                                  const kdl_args *args) {
  kdl_cuda_launch_attribute attributes[2];
  kdl_cuda_launch_config config = {
      .shared = desc->shared, .stream = queue->stream, .attributes = attributes};
  memcpy(config.grid, desc->grid, sizeof config.grid);
  memcpy(config.block, block, sizeof config.block);
  memset(attributes, 0, sizeof attributes);
  if (desc->flags & KDL_LAUNCH_COOPERATIVE) {
    kdl_cuda_launch_attribute *added = &attributes[config.attribute_count++];
    added->id = KDL_CUDA_LAUNCH_COOPERATIVE;
    added->value.cooperative = 1;
  }
  if (desc->cluster[0]) {
    kdl_cuda_launch_attribute *added = &attributes[config.attribute_count++];
    added->id = KDL_CUDA_LAUNCH_CLUSTER_DIMENSION;
    for (int i = 0; i < 3; ++i)
      added->value.cluster[i] = desc->cluster[i] ? desc->cluster[i] : 1;
  }
  return kdl_cuda.launch_ex(&config, kernel->head.function, kdl_launch_pointers(args), NULL);
}

/* Whatever must be settled before a launch of this shape. */
static kdl_status prepare(kdl_cuda_kernel *kernel, const kdl_launch_desc *desc) {
  uint32_t ordinal = kernel->device->ordinal;
  if (desc->flags & ~(uint32_t)KDL_LAUNCH_COOPERATIVE)
    return kdl_cuda_host->fail(KDL_UNSUPPORTED, 0,
                               "cuda:%u: found launch flags 0x%x, expected KDL_LAUNCH_COOPERATIVE "
                               "or none",
                               ordinal, desc->flags);
  if ((desc->flags || desc->cluster[0]) && !kdl_cuda.launch_ex)
    return kdl_cuda_host->fail(KDL_UNSUPPORTED, 0,
                               "cuda:%u: cooperative and cluster launches need cuLaunchKernelEx, "
                               "which drivers have from CUDA 11.6 on",
                               ordinal);
  if (desc->shared > atomic_load_explicit(&kernel->shared_ready, memory_order_relaxed)) {
    kdl_status status = kdl_cuda_kernel_allow_shared(kernel, desc->shared);
    if (status != KDL_OK)
      return status;
  }
  uint64_t cluster = desc->cluster[0];
  cluster *= desc->cluster[1] ? desc->cluster[1] : 1;
  if (cluster <= portable_cluster)
    cluster *= desc->cluster[2] ? desc->cluster[2] : 1;
  return cluster > portable_cluster ? kdl_cuda_kernel_allow_wide_clusters(kernel) : KDL_OK;
}

__attribute__((noinline, cold)) static kdl_status
refused(const kdl_cuda_kernel *kernel, const kdl_launch_desc *desc, int error, const char *call) {
  const uint32_t *block = kdl_launch_block(&kernel->head, desc);
  return kdl_cuda_fail(kernel->device->ordinal, error,
                       "%s with grid %ux%ux%u, block %ux%ux%u, %u bytes of dynamic group memory",
                       call, desc->grid[0], desc->grid[1], desc->grid[2], block[0], block[1],
                       block[2], desc->shared);
}

static kdl_status launch_now(const kdl_cuda_kernel *kernel, const kdl_cuda_queue *queue,
                             const kdl_launch_desc *desc, const kdl_args *args) {
  const uint32_t *block = kdl_launch_block(&kernel->head, desc);
  bool extended = desc->flags || desc->cluster[0];
  int error = extended
                  ? launch_with_attributes(kernel, queue, desc, block, args)
                  : kdl_launch_plain(&kernel->head, queue->stream, desc, block, desc->shared, args);
  if (error == KDL_CUDA_SUCCESS)
    return KDL_OK;
  return refused(kernel, desc, error, extended ? "cuLaunchKernelEx" : "cuLaunchKernel");
}

static kdl_status prepare_and_launch(kdl_cuda_kernel *kernel, const kdl_cuda_queue *queue,
                                     const kdl_launch_desc *desc, const kdl_args *args) {
  kdl_status status = prepare(kernel, desc);
  return status == KDL_OK ? launch_now(kernel, queue, desc, args) : status;
}

kdl_status kdl_cuda_launch_unusual(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                   const kdl_args *args, void *queue_handle) {
  kdl_cuda_kernel *kernel = head->context;
  const kdl_cuda_queue *queue = queue_handle;
  if (!queue->make_current)
    return prepare_and_launch(kernel, queue, desc, args);
  kdl_cuda_scope scope;
  kdl_status status = kdl_cuda_enter(kernel->device, queue->context, &scope);
  if (status != KDL_OK)
    return status;
  status = prepare_and_launch(kernel, queue, desc, args);
  kdl_cuda_leave(&scope);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The usual launch                                                                             */

/* Two values live across the driver's call, so that a refusal can be told; each more would cost
 * every launch three instructions. */
static inline __attribute__((always_inline)) kdl_status launch_usual(const kdl_cuda_kernel *kernel,
                                                                     const kdl_cuda_queue *queue,
                                                                     const kdl_launch_desc *desc,
                                                                     const uint32_t *block,
                                                                     const kdl_args *args) {
  int error = kdl_launch_plain(&kernel->head, queue->stream, desc, block, 0, args);
  return kdl_unlikely(error != KDL_CUDA_SUCCESS) ? refused(kernel, desc, error, "cuLaunchKernel")
                                                 : KDL_OK;
}

kdl_status kdl_cuda_launch_own_block(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                     const kdl_args *args, void *queue) {
  const kdl_cuda_kernel *kernel = head->context;
  return launch_usual(kernel, queue, desc, kernel->head.block, args);
}

kdl_status kdl_cuda_launch_given_block(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                       const kdl_args *args, void *queue) {
  return launch_usual(head->context, queue, desc, desc->block, args);
}

/* Ends in a jump whichever way it goes, so that it needs no frame of its own. That the three are
 * not static keeps compilers from moving their loads and saves here. */
kdl_status kdl_cuda_launch(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                           const kdl_args *args, void *queue_handle) {
  const kdl_cuda_queue *queue = queue_handle;
  if (kdl_unlikely(kdl_launch_extras_and_shared(desc) | queue->make_current))
    return kdl_cuda_launch_unusual(head, desc, args, queue_handle);
  return desc->block[0] ? kdl_cuda_launch_given_block(head, desc, args, queue_handle)
                        : kdl_cuda_launch_own_block(head, desc, args, queue_handle);
}
