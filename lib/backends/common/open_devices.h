/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The open devices of a backend. libkdl opens a device again if it could not create a queue on
 * it. */
#ifndef KDL_LIB_BACKENDS_COMMON_OPEN_DEVICES_H
#define KDL_LIB_BACKENDS_COMMON_OPEN_DEVICES_H

#include "lib/backends/common/driver.h"

#include <pthread.h>

typedef struct kdl_open_device kdl_open_device;

typedef struct kdl_open_devices {
  const kdl_driver_errors *errors;
  kdl_status (*load)(void); /* prepares the driver */
  size_t size;              /* of a device, which is zeroed before it is opened */
  /* Opens a device; called by one thread at a time. */
  kdl_status (*open)(void *device, const kdl_backend_device *desc);
  pthread_mutex_t lock;
  kdl_open_device *first;
} kdl_open_devices;

/* Returns the device of this number, context and identity, and opens it if needed. */
kdl_status kdl_open_devices_get(kdl_open_devices *devices, const kdl_backend_device *desc,
                                void **out_device);

/* Removes a closed device. */
void kdl_open_devices_remove(kdl_open_devices *devices, const void *device);

/* The result of device_native, of the two handles that a driver may have for a device. */
static inline void *kdl_select_native(kdl_native which, void *device, void *context) {
  return which == KDL_NATIVE_DEVICE ? device : which == KDL_NATIVE_CONTEXT ? context : NULL;
}

#endif
