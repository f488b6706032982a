/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The devices of this machine.
 *
 * A driver is asked when a device that it may show is first wanted, and not again of itself:
 * starting one takes from milliseconds to seconds, and a program for one vendor's GPU should not
 * pay for the others. Each device that a driver shows becomes a kdl_device, which stays what it is
 * whatever is asked later. Where two drivers show one GPU, the device of its vendor's own driver
 * gets the other's route as a further one, and stands for the GPU in the list of all devices; the
 * other's device remains for those who name that driver.
 *
 * Asked again on request, drivers may show more, and less. A device that is not shown any more
 * leaves the list and stays what it is for those who have it.
 */
#ifndef KDL_REGISTRY_REGISTRY_H
#define KDL_REGISTRY_REGISTRY_H

#include "lib/registry/device.h"

/* Asks those drivers that were not asked yet. A driver that does not answer in time is left behind,
 * unless `no_timeout`: then it is asked by this thread, and waited for. */
kdl_status kdl_registry_enumerate(unsigned backends, bool no_timeout);

/* Asks those drivers once more, or for the first time. */
kdl_status kdl_registry_refresh(unsigned backends, size_t *out_new);

/* The first of the devices known so far, those that are gone among them; kdl_device_next leads on.
 * They come in the default order, those that backends of KDL_BACKEND_PATH bring before all others,
 * and more may come between. */
kdl_device *kdl_registry_first(void);

#endif
