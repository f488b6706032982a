/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How much of a library runs on one route of a device, and what does not. lib/inspect/selection.h
 * explains the terms. */
#ifndef KDL_LIB_SELECT_COVERAGE_H
#define KDL_LIB_SELECT_COVERAGE_H

#include "lib/select/ranking.h"

kdl_status kdl_inventory_cover(const kdl_inventory *inventory, const kdl_select_device *device,
                               kdl_coverage *out_coverage);

kdl_status kdl_inventory_shortfalls(const kdl_inventory *inventory, const kdl_select_device *device,
                                    kdl_visit_shortfall *visit, void *user);

#endif
