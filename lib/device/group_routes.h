/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Specs of several drivers: which are of one device, and which device comes first. */
#ifndef KDL_DEVICE_GROUP_ROUTES_H
#define KDL_DEVICE_GROUP_ROUTES_H

#include "lib/device/spec.h"

/* The device that each spec is a route of: same UUID, or same PCI address, in another driver. The
 * specs stand in the order of their backends; for each the index of the first route of the same
 * device is written, its own where it is the first. */
void kdl_group_routes(const kdl_device_spec *const *specs, size_t count, size_t *out_first);

/* Whether a driver that is asked twice means the same device by both: the same number of the same
 * driver, and nothing that both tell of its identity differs. What it offers may have changed. */
bool kdl_device_spec_is_same_device(const kdl_device_spec *known, const kdl_device_spec *found);

/* The default order of devices, as for qsort: discrete GPUs, integrated ones, accelerators, CPUs;
 * within a class by backend, then by number. */
int kdl_device_spec_compare(const kdl_device_spec *a, const kdl_device_spec *b);

#endif
