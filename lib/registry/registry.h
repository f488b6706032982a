/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The devices of this machine.
 *
 * A driver is queried when a device that it may list is first needed, and not again unless
 * requested: starting a driver takes milliseconds to seconds, and a program for one vendor's GPU
 * should not pay for the others. Each device that a driver lists becomes a kdl_device, which later
 * queries do not change. If two drivers list one GPU, the device of the vendor's own driver is the
 * primary device: it gets the other's route as a further one and represents the GPU in the list of
 * all devices. The other device remains for programs that name its driver.
 *
 * On request, drivers are queried again and may list more or fewer devices. A device that is no
 * longer listed leaves the list; its users keep it unchanged.
 */
#ifndef KDL_LIB_REGISTRY_REGISTRY_H
#define KDL_LIB_REGISTRY_REGISTRY_H

#include "lib/registry/device.h"

/* Queries those drivers that were not queried yet. Gives up on a driver that does not answer in
 * time, unless `no_timeout`: then this thread queries it and waits. */
kdl_status kdl_registry_enumerate(unsigned backends, bool no_timeout);

/* Queries those drivers again, or for the first time. */
kdl_status kdl_registry_refresh(unsigned backends, size_t *out_new);

/* The first known device, lost ones included; kdl_device_next gives the others. Devices of plug-ins
 * are first, then the others in the default order. More may be inserted anywhere. */
kdl_device *kdl_registry_first(void);

#endif
