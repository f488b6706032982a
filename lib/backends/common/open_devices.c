/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/open_devices.h"

#include <stdlib.h>

struct kdl_open_device {
  uint32_t ordinal;
  void *context; /* of kdl_device_adopt; NULL: none */
  const void *identity;
  void *device;
  kdl_open_device *next;
};

static kdl_open_device *find_open_device(const kdl_open_devices *devices,
                                         const kdl_backend_device *desc) {
  kdl_open_device *at = devices->first;
  while (at && (at->ordinal != desc->ordinal || at->context != desc->native_context ||
                at->identity != desc->identity))
    at = at->next;
  return at;
}

static kdl_status open_new_device(kdl_open_devices *devices, const kdl_backend_device *desc,
                                  void **out_device) {
  kdl_open_device *made = malloc(sizeof *made);
  void *device = calloc(1, devices->size);
  kdl_status status = made && device ? devices->open(device, desc)
                                     : kdl_driver_errors_no_memory(devices->errors, desc->ordinal);
  if (status != KDL_OK) {
    free(device);
    free(made);
    return status;
  }
  *made = (kdl_open_device){.ordinal = desc->ordinal,
                            .context = desc->native_context,
                            .identity = desc->identity,
                            .device = device,
                            .next = devices->first};
  devices->first = made;
  *out_device = device;
  return KDL_OK;
}

kdl_status kdl_open_devices_get(kdl_open_devices *devices, const kdl_backend_device *desc,
                                void **out_device) {
  kdl_status status = devices->load();
  if (status != KDL_OK)
    return status;
  pthread_mutex_lock(&devices->lock);
  const kdl_open_device *found = find_open_device(devices, desc);
  if (found)
    *out_device = found->device;
  else
    status = open_new_device(devices, desc, out_device);
  pthread_mutex_unlock(&devices->lock);
  return status;
}

void kdl_open_devices_remove(kdl_open_devices *devices, const void *device) {
  pthread_mutex_lock(&devices->lock);
  kdl_open_device **at = &devices->first;
  while (*at && (*at)->device != device)
    at = &(*at)->next;
  kdl_open_device *found = *at;
  if (found)
    *at = found->next;
  pthread_mutex_unlock(&devices->lock);
  free(found);
}
