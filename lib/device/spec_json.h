/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device specs as JSON: the output of `kdl devices --json` on one machine describes its devices on
 * another. docs/devices.md has the format. */
#ifndef KDL_LIB_DEVICE_SPEC_JSON_H
#define KDL_LIB_DEVICE_SPEC_JSON_H

#include "lib/device/spec.h"

#include <stdio.h>

/* Writes an object at the current column, indented by `indent`, without a final newline. */
void kdl_device_spec_write_json(const kdl_device_spec *spec, int indent, FILE *file);

/* Writes the members alone, one per line, without a comma or newline after the last. */
void kdl_device_spec_write_members(const kdl_device_spec *spec, int indent, FILE *file);

/* Reads a device: an object with "backend" and "arch", whose array "routes" may have further specs;
 * or element `index` of an array of them, or of the array "devices" of an object. Ignores members
 * that are not keys of a spec. *out_count is the number of devices. `name` is for messages, which
 * have line and column. */
kdl_status kdl_device_routes_read_json(const char *name, const void *data, size_t size,
                                       size_t index, kdl_device_routes *out_routes,
                                       size_t *out_count);

#endif
