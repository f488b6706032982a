/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "device/level_zero_list.h"

#include "base/layer.h"

#include <stdatomic.h>
#include <stdlib.h>

const char *const kdl_ze_libraries[] = {"libze_loader.so.1", NULL};

enum { most_drivers = 16, most_devices = 256 };

/* The two ways are not to be mixed, so the second is for loaders and drivers that do not know the
 * first. */
static int init_drivers(const kdl_ze_lister *ze, void **drivers, uint32_t *out_count,
                        const char **out_call) {
  /* Once zeInit has failed, zeInitDrivers of the loader 1.20 (Debian 13) reads through NULL. */
  static atomic_bool init_failed;
  kdl_ze_init_driver_type gpus = {.type = KDL_ZE_INIT_DRIVER_TYPE, .flags = KDL_ZE_INIT_GPU};
  *out_count = most_drivers;
  if (ze->init_drivers && !atomic_load(&init_failed) &&
      ze->init_drivers(out_count, drivers, &gpus) == KDL_ZE_SUCCESS && *out_count)
    return KDL_ZE_SUCCESS;
  *out_call = "zeInit";
  int error = ze->init(KDL_ZE_INIT_GPU);
  atomic_store(&init_failed, error != KDL_ZE_SUCCESS);
  if (error != KDL_ZE_SUCCESS)
    return error;
  *out_count = most_drivers;
  *out_call = "zeDriverGet";
  return ze->driver_get(out_count, drivers);
}

int kdl_ze_list(const kdl_ze_lister *ze, kdl_ze_visit_device *visit, void *user,
                const char **out_call) {
  void *drivers[most_drivers];
  uint32_t driver_count, ordinal = 0;
  kdl_layer_enter(KDL_LAYER_INIT);
  int error = init_drivers(ze, drivers, &driver_count, out_call);
  kdl_layer_leave(KDL_LAYER_INIT, &(kdl_layer_about){.driver = kdl_ze_libraries[0],
                                                     .failed = error != KDL_ZE_SUCCESS});
  void **devices = error == KDL_ZE_SUCCESS ? calloc(most_devices, sizeof *devices) : NULL;
  for (uint32_t i = 0; devices && i < driver_count && i < most_drivers; ++i) {
    uint32_t count = most_devices;
    if (ze->device_get(drivers[i], &count, devices) != KDL_ZE_SUCCESS)
      continue;
    bool goes_on = true;
    for (uint32_t k = 0; goes_on && k < count && k < most_devices; ++k)
      goes_on = visit(user, ordinal++, drivers[i], devices[k]);
    if (!goes_on)
      break;
  }
  free(devices);
  return error;
}
