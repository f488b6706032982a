/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Specs of several drivers: which describe one device, and the order of devices. */
#ifndef KDL_LIB_DEVICE_GROUP_ROUTES_H
#define KDL_LIB_DEVICE_GROUP_ROUTES_H

#include "lib/device/spec.h"

/* Groups specs into devices: specs of different drivers with the same UUID, or else the same PCI
 * address, are one device. The specs are in the order of their backends. Writes for each spec the
 * index of the first route of its device. */
void kdl_group_routes(const kdl_device_spec *const *specs, size_t count, size_t *out_first);

/* Whether two queries of a driver list the same device: the same number of the same driver, and no
 * known identity (UUID, PCI address) differs. Other properties may have changed. */
bool kdl_device_spec_is_same_device(const kdl_device_spec *known, const kdl_device_spec *found);

/* The default order of devices, as for qsort: discrete GPUs, integrated ones, accelerators, CPUs;
 * within a class by backend, then by number. */
int kdl_device_spec_compare(const kdl_device_spec *a, const kdl_device_spec *b);

#endif
