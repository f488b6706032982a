/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices people know by name, and whatever else a user may write for a device. */
#ifndef KDL_DEVICE_NAMED_H
#define KDL_DEVICE_NAMED_H

#include "device/spec.h"

typedef struct kdl_named_device {
  const char *name; /* "h200" */
  const char *line; /* its spec */
} kdl_named_device;

/* The rows of the table, NULL behind the last. */
const kdl_named_device *kdl_named_device_at(size_t index);

/* NULL where there is none; upper and lower case are the same. */
const kdl_named_device *kdl_named_device_find(kdl_string name);

/* Reads what a user wrote for a device: a spec, which needs no backend where its architecture has
 * but one ("sm_90"), `NAME [KEY=VALUE]...` where the keys replace what the named device says, or `@FILE` or `@FILE#INDEX` for a file that `kdl devices --json` wrote. No
 * driver is loaded. */
kdl_status kdl_device_spec_resolve(const char *text, kdl_device_spec *out_spec);

#endif
