/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/error.h"
#include "base/sized.h"
#include "registry/device.h"

#include <limits.h>
#include <string.h>

static int ordinal_of(const kdl_device_spec *spec) {
  return spec->ordinal.known && spec->ordinal.value <= INT_MAX ? (int)spec->ordinal.value : -1;
}

/* A route stays as it was found, so its texts can be handed out. */
static kdl_device_info describe(const kdl_device *device, size_t route) {
  const kdl_device_spec *spec = &device->routes[route]->spec;
  kdl_device_info info = {
      .size = sizeof info,
      .backend = kdl_backend_name(spec->backend),
      .arch = spec->arch,
      .features = spec->features,
      .label = device->labels[route],
      .name = spec->name,
      .platform = spec->platform,
      .driver = spec->driver,
      .device_class = kdl_device_spec_class(spec),
      .is_here = device->here && !kdl_device_is_gone(device),
      .is_host = spec->backend == KDL_BACKEND_HOST,
      .ordinal = ordinal_of(spec),
      .units = spec->units,
      .subgroups = spec->subgroups,
      .max_block = spec->max_block,
      .memory = spec->memory,
      .shared = spec->shared,
      .shared_optin = spec->shared_optin,
      .has_pci = spec->pci.known,
      .pci_domain = spec->pci.domain,
      .pci_bus = spec->pci.bus,
      .pci_device = spec->pci.device,
      .pci_function = spec->pci.function,
      .has_uuid = spec->uuid.known,
      .route_count = kdl_device_route_count(device),
  };
  memcpy(info.uuid, spec->uuid.bytes, sizeof info.uuid);
  return info;
}

static kdl_status get(const char *call, const kdl_device *device, size_t route,
                      kdl_device_info *out_info) {
  const kdl_sized what = {call, "info", sizeof *out_info, sizeof *out_info};
  kdl_status status = kdl_sized_check(what, out_info);
  if (status != KDL_OK)
    return status;
  kdl_device_info info = describe(device, route);
  kdl_sized_write(what, &info, out_info);
  return KDL_OK;
}

kdl_status kdl_device_get(const kdl_device *device, kdl_device_info *out_info) {
  kdl_status status = KDL_GIVEN(device, out_info);
  return status == KDL_OK ? get("kdl_device_get", device, 0, out_info) : status;
}

kdl_status kdl_device_route_get(const kdl_device *device, size_t route, kdl_device_info *out_info) {
  kdl_status status = KDL_GIVEN(device, out_info);
  if (status == KDL_OK && route >= kdl_device_route_count(device))
    status =
        kdl_fail(KDL_BAD_CALL, "kdl_device_route_get: %s: found route %zu, expected less than %zu",
                 device->labels[0], route, kdl_device_route_count(device));
  return status == KDL_OK ? get("kdl_device_route_get", device, route, out_info) : status;
}
