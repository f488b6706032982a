/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/spec.h"

#include <string.h>

/* Each OpenCL platform counts as a driver. */
static bool same_driver(const kdl_device_spec *a, const kdl_device_spec *b) {
  return a->backend == b->backend && strcmp(a->platform, b->platform) == 0;
}

static bool same_uuid(const kdl_device_spec *a, const kdl_device_spec *b) {
  return a->uuid.known && b->uuid.known && memcmp(a->uuid.bytes, b->uuid.bytes, 16) == 0;
}

static bool same_pci(const kdl_device_spec *a, const kdl_device_spec *b) {
  return a->pci.domain == b->pci.domain && a->pci.bus == b->pci.bus &&
         a->pci.device == b->pci.device && a->pci.function == b->pci.function;
}

static bool same_device(const kdl_device_spec *a, const kdl_device_spec *b) {
  /* One driver lists the parts of a partitioned GPU, which share a PCI address, as several
   * devices. */
  if (same_driver(a, b))
    return false;
  if (same_uuid(a, b))
    return true;
  return a->pci.known && b->pci.known && same_pci(a, b);
}

/* A device has at most one route per driver; among parts with one address, the UUID decides. */
static bool lacks_driver_route(const kdl_device_spec *const *specs, size_t count,
                               const size_t *first, size_t device) {
  for (size_t i = 0; i < count; ++i) {
    if (first[i] == device && same_driver(specs[i], specs[count]))
      return false;
  }
  return true;
}

static size_t find_same_device(const kdl_device_spec *const *specs, size_t count,
                               const size_t *first) {
  size_t by_address = count;
  for (size_t i = 0; i < count; ++i) {
    if (!same_device(specs[i], specs[count]) || !lacks_driver_route(specs, count, first, first[i]))
      continue;
    if (same_uuid(specs[i], specs[count]))
      return first[i];
    if (by_address == count)
      by_address = first[i];
  }
  return by_address;
}

void kdl_group_routes(const kdl_device_spec *const *specs, size_t count, size_t *out_first) {
  for (size_t i = 0; i < count; ++i)
    out_first[i] = find_same_device(specs, i, out_first);
}

bool kdl_device_spec_is_same_device(const kdl_device_spec *known, const kdl_device_spec *found) {
  if (!same_driver(known, found) || known->ordinal.value != found->ordinal.value ||
      strcmp(known->arch, found->arch) != 0 || strcmp(known->name, found->name) != 0)
    return false;
  if (known->uuid.known && found->uuid.known)
    return same_uuid(known, found);
  return !known->pci.known || !found->pci.known || same_pci(known, found);
}

static int compare_unsigned(unsigned a, unsigned b) {
  return (a > b) - (a < b);
}

int kdl_device_spec_compare(const kdl_device_spec *a, const kdl_device_spec *b) {
  int classes = compare_unsigned(kdl_device_spec_class(a), kdl_device_spec_class(b));
  int backends = compare_unsigned(a->backend, b->backend);
  return classes    ? classes
         : backends ? backends
                    : compare_unsigned(a->ordinal.value, b->ordinal.value);
}
