/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All OpenCL platforms through the loader, which is opened at the first query for devices, never
 * linked, never closed. */
#include "lib/backends/common/built_in.h"
#include "lib/backends/opencl/objects.h"

static const kdl_backend_table opencl_table = {
    .size = sizeof opencl_table,
    .abi = KDL_BACKEND_ABI,
    .flags = KDL_BACKEND_BINDS_SEQUENCES,
    .name = "opencl",
#define KDL_BACKEND_FUNCTION(result, slot, parameters) .slot = kdl_opencl_##slot,
#define KDL_BACKEND_ADDRESSES(result, name, parameters)
#include "lib/backends/common/functions.def"
    .address_at = kdl_opencl_address_at,
};

static const kdl_variable limits[] = {KDL_VARIABLE_OCL_ICD_VENDORS, KDL_VARIABLE_OCL_ICD_FILENAMES,
                                      KDL_VARIABLE_POCL_DEVICES, KDL_VARIABLE_CUDA_VISIBLE_DEVICES,
                                      KDL_VARIABLE_GPU_DEVICE_ORDINAL};

const kdl_built_in kdl_built_in_opencl = {
    .table = &opencl_table,
    .driver = &kdl_opencl_driver,
    .variables = limits,
    .variable_count = sizeof limits / sizeof *limits,
    .enumerate_last = true, /* PoCL calls setenv when it is loaded */
    .open_dependencies = kdl_opencl_open_platforms,
    .list = kdl_opencl_list,
};
