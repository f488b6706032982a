/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Intel GPUs through the Level Zero loader, which is opened at the first query for devices, never
 * linked, never closed. */
#include "lib/backends/common/built_in.h"
#include "lib/backends/level_zero/objects.h"

static const kdl_backend_table ze_table = {
    .size = sizeof ze_table,
    .abi = KDL_BACKEND_ABI,
    .flags = KDL_BACKEND_READS_NO_PAIRS | KDL_BACKEND_BINDS_SEQUENCES,
    .name = "level_zero",
#define KDL_BACKEND_FUNCTION(result, slot, parameters) .slot = kdl_ze_##slot,
#include "lib/backends/common/functions.def"
};

static const kdl_variable limits[] = {KDL_VARIABLE_ZE_AFFINITY_MASK,
                                      KDL_VARIABLE_ZE_FLAT_DEVICE_HIERARCHY};

const kdl_built_in kdl_built_in_level_zero = {
    .table = &ze_table,
    .driver = &kdl_ze_driver,
    .variables = limits,
    .variable_count = sizeof limits / sizeof *limits,
    .list = kdl_ze_list,
};
