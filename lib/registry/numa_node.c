/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/registry/device.h"
#include "support/base/cancel.h"
#include "support/base/error.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int kdl_device_numa_node(const kdl_device *device) {
  KDL_NOT_CANCELLED;
  char path[64], text[16] = "", *end;
  if (KDL_GIVEN(device) != KDL_OK || !kdl_device_route(device, 0)->spec.pci.known)
    return -1;
  const kdl_spec_pci *pci = &kdl_device_route(device, 0)->spec.pci;
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%x/numa_node",
           (unsigned)pci->domain, (unsigned)pci->bus, (unsigned)pci->device,
           (unsigned)pci->function);
  FILE *file = fopen(path, "re");
  if (!file)
    return -1;
  if (!fgets(text, sizeof text, file))
    text[0] = '\0';
  fclose(file);
  long node = strtol(text, &end, 10);
  return end != text && node >= 0 && node <= INT_MAX ? (int)node : -1;
}
