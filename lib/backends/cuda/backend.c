/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NVIDIA GPUs through libcuda, which is opened at the first query for devices, never linked, never
 * closed. */
#include "lib/backends/common/built_in.h"
#include "lib/backends/cuda/objects.h"

static const kdl_backend_table cuda_table = {
    .size = sizeof cuda_table,
    .abi = KDL_BACKEND_ABI,
    .flags = KDL_BACKEND_READS_NO_PAIRS | KDL_BACKEND_BINDS_SEQUENCES,
    .name = "cuda",
#define KDL_BACKEND_FUNCTION(result, slot, parameters) .slot = kdl_cuda_##slot,
#define KDL_BACKEND_STREAMS KDL_BACKEND_FUNCTION
#include "lib/backends/common/functions.def"
};

static const kdl_variable limits[] = {KDL_VARIABLE_CUDA_VISIBLE_DEVICES,
                                      KDL_VARIABLE_CUDA_DEVICE_ORDER};

const kdl_built_in kdl_built_in_cuda = {
    .table = &cuda_table,
    .driver = &kdl_cuda_driver,
    .variables = limits,
    .variable_count = sizeof limits / sizeof *limits,
    .list = kdl_cuda_list,
};
