/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AMD GPUs through libamdhip64 of ROCm 5 to 7, which is opened at the first query for devices,
 * never linked, never closed. */
#include "lib/backends/common/built_in.h"
#include "lib/backends/hip/objects.h"

static const kdl_backend_table hip_table = {
    .size = sizeof hip_table,
    .abi = KDL_BACKEND_ABI,
    .flags = KDL_BACKEND_READS_NO_PAIRS | KDL_BACKEND_BINDS_SEQUENCES,
    .name = "hip",
#define KDL_BACKEND_FUNCTION(result, slot, parameters) .slot = kdl_hip_##slot,
#define KDL_BACKEND_STREAMS KDL_BACKEND_FUNCTION
#include "lib/backends/common/functions.def"
};

static const kdl_variable limits[] = {KDL_VARIABLE_ROCR_VISIBLE_DEVICES,
                                      KDL_VARIABLE_HIP_VISIBLE_DEVICES,
                                      KDL_VARIABLE_CUDA_VISIBLE_DEVICES,
                                      KDL_VARIABLE_GPU_DEVICE_ORDINAL,
                                      KDL_VARIABLE_HSA_XNACK,
                                      KDL_VARIABLE_HSA_OVERRIDE_GFX_VERSION};

const kdl_built_in kdl_built_in_hip = {
    .table = &hip_table,
    .driver = &kdl_hip_driver,
    .variables = limits,
    .variable_count = sizeof limits / sizeof *limits,
    .list = kdl_hip_list,
};
