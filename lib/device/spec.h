/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parsing, compiling and filling in specs (lib/inspect/devices.h). */
#ifndef KDL_LIB_DEVICE_SPEC_H
#define KDL_LIB_DEVICE_SPEC_H

#include "lib/device/backends.h"
#include "lib/target/target.h"

#include <stdio.h>

enum { KDL_DEVICE_CLASS_COUNT = KDL_DEVICE_CPU + 1 };

/* Parses a line. Fails with KDL_BAD_CALL and a message with the offset, what was found and expected
 * there, the nearest known word, and the grammar. Checks the arch and every feature token, so that
 * a parsed spec always compiles. */
kdl_status kdl_device_spec_parse(const char *line, kdl_device_spec *out_spec);

/* Parses specs separated by " | ". After a failure, here and below, the routes are undefined. */
kdl_status kdl_device_routes_parse(const char *line, kdl_device_routes *out_routes);

/* Parses `KEY=VALUE ... [| spec]...` at offset `at` of the line, for a device whose first spec has
 * its backend and arch. Keys in the line replace the spec's, and routes in the line replace the
 * further routes. */
kdl_status kdl_device_routes_parse_keys(const char *line, size_t at, kdl_device_routes *routes);

/* The preferred route alone of kdl_device_routes_resolve. */
kdl_status kdl_device_spec_resolve(const char *text, kdl_device_spec *out_spec);

/* The class, or the backend's default. */
kdl_device_class kdl_device_spec_class(const kdl_device_spec *spec);

/* Compiles the device's rule. Fails with KDL_BAD_CALL where arch or tokens are wrong, which parsing
 * and discovery exclude. */
kdl_status kdl_device_spec_compile(const kdl_device_spec *spec, kdl_device_rule *out_rule);

/* As kdl_device_spec_label, with the device's ordinal if it has one: "cuda:0 sm_90 (NVIDIA
 * H200)". */
void kdl_device_spec_name(const kdl_device_spec *spec, kdl_out *out);

/* ------------------------------------------------------------------------------------------ */
/* Values from drivers                                                                          */

/* Each function makes any value valid in a spec, so that the spec prints and parses. */

/* Copies a driver's text: replaces invalid UTF-8 and control characters by '?', trims blanks at
 * both ends, and truncates. */
void kdl_spec_set_text(char *field, size_t size, const char *text, size_t length);

/* Adds a token to a list joined by '+', if there is room. */
void kdl_spec_add_token(char *field, size_t size, const char *token);

/* Ignore a UUID or a PCI address of zeros: drivers report zeros for unknown values. */
void kdl_spec_set_uuid(kdl_spec_uuid *field, const void *bytes);
void kdl_spec_set_pci(kdl_spec_pci *field, uint32_t domain, uint32_t bus, uint32_t device,
                      uint32_t function);

/* ------------------------------------------------------------------------------------------ */
/* Devices of several drivers                                                                   */

/* Groups specs into devices: specs of different drivers with the same UUID, or else the same PCI
 * address, are one device. The specs are in the order of their backends. Writes for each spec the
 * index of the first route of its device. */
void kdl_group_routes(const kdl_device_spec *const *specs, size_t count, size_t *out_first);

/* Whether two queries of a driver list the same device: the same number of the same driver, and no
 * known identity (UUID, PCI address) differs. Other properties may have changed. */
bool kdl_device_spec_is_same_device(const kdl_device_spec *known, const kdl_device_spec *found);

/* The default order of devices, as for qsort: discrete GPUs, integrated ones, accelerators, CPUs;
 * within a class by backend, then by number. */
int kdl_device_spec_compare(const kdl_device_spec *a, const kdl_device_spec *b);

/* ------------------------------------------------------------------------------------------ */
/* JSON                                                                                         */

/* Device specs as JSON: the output of `kdl devices --json` on one machine describes its devices on
 * another. docs/devices.md has the format. */

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
