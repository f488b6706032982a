/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The devices that a backend has open. libkdl may ask again for one that it could make no queue
 * on. */
#ifndef KDL_BACKENDS_COMMON_OPEN_DEVICES_H
#define KDL_BACKENDS_COMMON_OPEN_DEVICES_H

#include "lib/backends/common/driver_errors.h"

#include <pthread.h>

typedef struct kdl_open_device kdl_open_device;

typedef struct kdl_open_devices {
  const kdl_driver_errors *errors;
  kdl_status (*load)(void); /* makes the driver ready */
  size_t size;              /* of a device, which is zeros before it is opened */
  /* Opens one that is not open; called by one thread at a time. */
  kdl_status (*open)(void *device, const kdl_backend_device *desc);
  pthread_mutex_t lock;
  kdl_open_device *first;
} kdl_open_devices;

/* The device of this number, context and identity, opened where it is not. */
kdl_status kdl_open_devices_get(kdl_open_devices *devices, const kdl_backend_device *desc,
                                void **out_device);

/* Forgets one that is closed. */
void kdl_open_devices_remove(kdl_open_devices *devices, const void *device);

/* What device_native answers, of the two handles that a driver may have for a device. */
static inline void *kdl_select_native(kdl_native which, void *device, void *context) {
  return which == KDL_NATIVE_DEVICE ? device : which == KDL_NATIVE_CONTEXT ? context : NULL;
}

#endif
