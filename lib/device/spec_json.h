/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device specs as JSON: what `kdl devices --json` prints on one machine describes its devices on
 * another. The form is in docs/devices.md. */
#ifndef KDL_DEVICE_SPEC_JSON_H
#define KDL_DEVICE_SPEC_JSON_H

#include "lib/device/spec.h"

#include <stdio.h>

/* Writes an object that starts where the line stands, is indented by `indent`, and has no newline
 * behind it. */
void kdl_device_spec_write_json(const kdl_device_spec *spec, int indent, FILE *file);

/* The members alone, each on its line, without a comma or newline behind the last. */
void kdl_device_spec_write_members(const kdl_device_spec *spec, int indent, FILE *file);

/* Reads a device: an object with "backend" and "arch", whose array "routes" may have further specs,
 * or the one with that index in an array of them or in the array "devices" of an object. Members
 * that are not keys of a spec are ignored. *out_count is how many devices there are. `name` is for
 * messages, which carry line and column. */
kdl_status kdl_device_routes_read_json(const char *name, const void *data, size_t size,
                                       size_t index, kdl_device_routes *out_routes,
                                       size_t *out_count);

#endif
