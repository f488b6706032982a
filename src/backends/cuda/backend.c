/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NVIDIA GPUs, through libcuda: opened when it is first asked for devices, never linked, never
 * closed. */
#include "backends/common/built_in.h"
#include "backends/cuda/objects.h"

static const kdl_backend_table table = {
    .size = sizeof table,
    .abi = KDL_BACKEND_ABI,
    .flags = KDL_BACKEND_READS_NO_PAIRS | KDL_BACKEND_BINDS_SEQUENCES,
    .name = "cuda",
#define KDL_BACKEND_FUNCTION(result, slot, parameters) .slot = kdl_cuda_##slot,
#include "backends/common/functions.def"
    .queue_capturing = kdl_cuda_queue_capturing,
    .memory_info = kdl_cuda_memory_info,
    .sequence_create = kdl_cuda_sequence_create,
    .sequence_destroy = kdl_cuda_sequence_destroy,
    .sequence_run = kdl_cuda_sequence_run,
};

const kdl_built_in kdl_built_in_cuda = {
    .table = &table,
    .driver = &kdl_cuda_driver,
    .variables = (const char *const[]){"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", NULL},
    .list = kdl_cuda_list,
};
