/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launching.
 *
 * The fast path is one call of the driver: no lock, no lookup, and no check of the current context.
 * A thread nearly always has the right context; if not, the driver refuses the CUfunction and does
 * nothing else. From then on the queue launches the kernel as a CUkernel, which the driver runs in
 * the context of the stream (cuLaunchKernel's manual). If code was loaded into the context, there
 * is no CUkernel, and the context is made current first. A cache of the current context per thread
 * would be wrong, because frameworks change it without libkdl.
 *
 * Everything else takes the slow path. If the stream means "the current context" (NULL, as
 * PyTorch's default) and a function was refused, the context is made current first, because the
 * driver would launch a CUkernel in another one. Group memory, clusters and cooperative launches
 * are prepared first.
 */
#include "lib/backends/cuda/objects.h"

#include <stdatomic.h>
#include <string.h>

enum { portable_cluster = 8 };

/* The parameters of a launch. */
typedef struct {
  const kdl_kernel_head *head;
  const kdl_launch_desc *desc;
  const kdl_args *args;
  kdl_cuda_queue *queue;
} launch_call;

static kdl_cuda_kernel *cuda_kernel_of_call(const launch_call *call) {
  return call->head->context;
}

static const uint32_t *cuda_block_of_call(const launch_call *call) {
  return kdl_launch_block(&cuda_kernel_of_call(call)->head, call->desc);
}

/* ------------------------------------------------------------------------------------------ */
/* The driver's three functions                                                                 */

static int cuda_launch_ex(const launch_call *call, void *function) {
  const kdl_launch_desc *desc = call->desc;
  kdl_cuda_launch_attribute attributes[2];
  kdl_cuda_launch_config config = {
      .shared = desc->shared, .stream = call->queue->stream, .attributes = attributes};
  memcpy(config.grid, desc->grid, sizeof config.grid);
  memcpy(config.block, cuda_block_of_call(call), sizeof config.block);
  memset(attributes, 0, sizeof attributes);
  if (desc->flags & KDL_LAUNCH_COOPERATIVE) {
    kdl_cuda_launch_attribute *added = &attributes[config.attribute_count++];
    added->id = KDL_CUDA_LAUNCH_COOPERATIVE;
    added->value.cooperative = 1;
  }
  if (desc->flags & KDL_LAUNCH_EARLY) {
    kdl_cuda_launch_attribute *added = &attributes[config.attribute_count++];
    added->id = KDL_CUDA_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION;
    added->value.is_early = 1;
  }
  if (desc->cluster[0]) {
    kdl_cuda_launch_attribute *added = &attributes[config.attribute_count++];
    added->id = KDL_CUDA_LAUNCH_CLUSTER_DIMENSION;
    for (int i = 0; i < 3; ++i)
      added->value.cluster[i] = desc->cluster[i] ? desc->cluster[i] : 1;
  }
  return kdl_cuda.launch_ex(&config, function, kdl_launch_pointers(call->args), NULL);
}

/* For drivers before CUDA 11.6. */
static int cuda_launch_cooperative(const launch_call *call, void *function) {
  const uint32_t *grid = call->desc->grid, *block = cuda_block_of_call(call);
  return kdl_cuda.launch_cooperative(function, grid[0], grid[1], grid[2], block[0], block[1],
                                     block[2], call->desc->shared, call->queue->stream,
                                     kdl_launch_pointers(call->args));
}

static int cuda_launch_kernel(const launch_call *call, void *function) {
  const uint32_t *grid = call->desc->grid, *block = cuda_block_of_call(call);
  return kdl_cuda.launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                         call->desc->shared, call->queue->stream, kdl_launch_pointers(call->args),
                         NULL);
}

typedef struct {
  int (*launch)(const launch_call *call, void *function);
  const char *name;
} launch_method;

static launch_method cuda_launch_method(const kdl_launch_desc *desc) {
  const bool is_early = desc->flags == KDL_LAUNCH_EARLY && kdl_cuda.launch_ex;
  if (!is_early && !(desc->flags & KDL_LAUNCH_COOPERATIVE) && !desc->cluster[0])
    return (launch_method){cuda_launch_kernel, "cuLaunchKernel"};
  if (kdl_cuda.launch_ex)
    return (launch_method){cuda_launch_ex, "cuLaunchKernelEx"};
  return (launch_method){cuda_launch_cooperative, "cuLaunchCooperativeKernel"};
}

static kdl_status cuda_launch_failed(const launch_call *call, int error) {
  const kdl_launch_desc *desc = call->desc;
  const uint32_t *block = cuda_block_of_call(call);
  return kdl_cuda_fail(cuda_kernel_of_call(call)->device->ordinal, error,
                       "%s with grid %ux%ux%u, block %ux%ux%u, %u bytes of dynamic group memory",
                       cuda_launch_method(desc).name, desc->grid[0], desc->grid[1], desc->grid[2],
                       block[0], block[1], block[2], desc->shared);
}

/* ------------------------------------------------------------------------------------------ */
/* In another context                                                                           */

static kdl_status cuda_launch_in_stream_context(const launch_call *call) {
  int error = cuda_launch_method(call->desc).launch(call, cuda_kernel_of_call(call)->free);
  return error == KDL_CUDA_SUCCESS ? KDL_OK : cuda_launch_failed(call, error);
}

static kdl_status cuda_launch_in_queue_context(const launch_call *call) {
  const kdl_cuda_kernel *kernel = cuda_kernel_of_call(call);
  kdl_cuda_scope scope;
  KDL_TRY(kdl_cuda_enter(kernel->device, call->queue->context, &scope));
  int error = cuda_launch_method(call->desc).launch(call, kernel->head.function);
  (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "cuLaunchKernel");
  return error == KDL_CUDA_SUCCESS ? KDL_OK : cuda_launch_failed(call, error);
}

/* A CUfunction was refused: because its context is not current, or for another reason. */
static __attribute__((noinline, cold)) kdl_status cuda_retry_launch(const launch_call *call,
                                                                    int error) {
  const kdl_cuda_kernel *kernel = cuda_kernel_of_call(call);
  const kdl_cuda_device *device = kernel->device;
  void *current = NULL;
  int unknown = kdl_cuda.context_current(&current);
  if (unknown != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(device->ordinal, unknown, "cuCtxGetCurrent");
  if (current == device->context)
    return cuda_launch_failed(call, error);
  bool will_be_current = !current && device->keeps_context;
  bool stream_knows = kernel->free && !kdl_cuda_is_special(call->queue->stream);
  uint64_t from = stream_knows      ? KDL_CUDA_FROM_STREAM
                  : will_be_current ? KDL_CUDA_FROM_THREAD
                                    : KDL_CUDA_FROM_QUEUE;
  atomic_store_explicit(&call->queue->context_from, from, memory_order_relaxed);
  return stream_knows ? cuda_launch_in_stream_context(call) : cuda_launch_in_queue_context(call);
}

/* ------------------------------------------------------------------------------------------ */
/* The slow path                                                                                */

/* Prepares the kernel for a launch of this shape. */
kdl_status kdl_cuda_kernel_prepare(kdl_cuda_kernel *kernel, const kdl_launch_desc *desc) {
  uint32_t ordinal = kernel->device->ordinal;
  uint32_t flags = desc->flags == KDL_LAUNCH_EARLY ? 0 : desc->flags;
  kdl_status status = kdl_driver_check_flags(&kdl_cuda_errors, ordinal, flags);
  if (status != KDL_OK)
    return status;
  if (desc->cluster[0] && !kdl_cuda.launch_ex)
    return kdl_core_services.fail(
        KDL_UNSUPPORTED, 0,
        "cuda:%u: cluster launches need cuLaunchKernelEx, which drivers have "
        "from CUDA 11.6 on",
        ordinal);
  if (flags && !kdl_cuda.launch_ex && !kdl_cuda.launch_cooperative)
    return kdl_core_services.fail(
        KDL_UNSUPPORTED, 0,
        "cuda:%u: cooperative launches need cuLaunchCooperativeKernel, which "
        "drivers have from CUDA 9 on",
        ordinal);
  if (desc->shared > atomic_load_explicit(&kernel->shared_ready, memory_order_relaxed)) {
    status = kdl_cuda_kernel_allow_shared(kernel, desc->shared);
    if (status != KDL_OK)
      return status;
  }
  uint64_t cluster = desc->cluster[0];
  cluster *= desc->cluster[1] ? desc->cluster[1] : 1;
  if (cluster <= portable_cluster)
    cluster *= desc->cluster[2] ? desc->cluster[2] : 1;
  return cluster > portable_cluster ? kdl_cuda_kernel_allow_wide_clusters(kernel) : KDL_OK;
}

kdl_status kdl_cuda_launch_slow(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                const kdl_args *args, void *queue) {
  const launch_call call = {head, desc, args, queue};
  kdl_cuda_kernel *kernel = cuda_kernel_of_call(&call);
  KDL_TRY(kdl_cuda_kernel_prepare(kernel, desc));
  uint64_t from = atomic_load_explicit(&call.queue->context_from, memory_order_relaxed);
  if (from != KDL_CUDA_FROM_THREAD)
    return from == KDL_CUDA_FROM_STREAM ? cuda_launch_in_stream_context(&call)
                                        : cuda_launch_in_queue_context(&call);
  int error = cuda_launch_method(desc).launch(&call, kernel->head.function);
  return error == KDL_CUDA_SUCCESS ? KDL_OK : cuda_retry_launch(&call, error);
}

/* ------------------------------------------------------------------------------------------ */
/* The fast path                                                                                */

/* Values for a second attempt are stored on the stack now, which the empty asm statement forces:
 * keeping a value in a register across the driver's call costs every launch three instructions
 * instead of one. A CUresult is never negative, and success is KDL_OK, so it is returned
 * unchanged. */
static inline __attribute__((always_inline)) kdl_status
cuda_launch_fast(const kdl_kernel_head *head, const kdl_launch_desc *desc, const uint32_t *block,
                 const kdl_args *args, kdl_cuda_queue *queue) {
  const kdl_cuda_kernel *kernel = head->context;
  launch_call call = {head, desc, args, queue};
  __asm__ volatile("" : "+m"(call));
  int error = kdl_launch_plain(&kernel->head, queue->stream, desc, block, 0, args);
  return kdl_unlikely(error > KDL_CUDA_SUCCESS) ? cuda_retry_launch(&call, error)
                                                : (kdl_status)error;
}

kdl_status kdl_cuda_launch_kernel_block(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                        const kdl_args *args, void *queue) {
  const kdl_cuda_kernel *kernel = head->context;
  return cuda_launch_fast(head, desc, kernel->head.block, args, queue);
}

kdl_status kdl_cuda_launch_desc_block(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                      const kdl_args *args, void *queue) {
  return cuda_launch_fast(head, desc, desc->block, args, queue);
}

/* Zero for the fast path: the thread's context, no group memory, flags or cluster. The empty asm
 * statement lets gcc combine the loads. */
static inline uint64_t cuda_needs_slow_path(const kdl_launch_desc *desc, uint64_t from) {
  _Static_assert(offsetof(kdl_launch_desc, flags) == offsetof(kdl_launch_desc, shared) + 4,
                 "neighbours");
  from |= kdl_launch_pair(desc, offsetof(kdl_launch_desc, shared));
  __asm__("" : "+r"(from));
  return from | kdl_launch_pair(desc, offsetof(kdl_launch_desc, cluster));
}

/* Ends in a tail call on every path, so that it needs no stack frame. The three functions are not
 * static, so that compilers do not move their loads and saves here. */
kdl_status kdl_cuda_launch(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                           const kdl_args *args, void *queue_handle) {
  const kdl_cuda_queue *queue = queue_handle;
  uint64_t from = atomic_load_explicit(&queue->context_from, memory_order_relaxed);
  if (kdl_unlikely(cuda_needs_slow_path(desc, from)))
    return kdl_cuda_launch_slow(head, desc, args, queue_handle);
  return desc->block[0] ? kdl_cuda_launch_desc_block(head, desc, args, queue_handle)
                        : kdl_cuda_launch_kernel_block(head, desc, args, queue_handle);
}
