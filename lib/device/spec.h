/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How specs (lib/inspect/devices.h) are read, compiled and filled in. */
#ifndef KDL_DEVICE_SPEC_H
#define KDL_DEVICE_SPEC_H

#include "lib/inspect/devices.h"
#include "lib/target/target.h"

/* Backends in a word: 1 << KDL_BACKEND_x, added up. */
#define KDL_BACKENDS_ALL ((1u << KDL_BACKEND_COUNT) - 1)

/* Those whose devices may run images of a family. */
unsigned kdl_family_backends(kdl_target_family family);

/* False where no backend has that name. */
bool kdl_backend_parse(kdl_string name, kdl_backend *out_backend);

enum { KDL_DEVICE_CLASS_COUNT = KDL_DEVICE_CPU + 1 };

/* Reads a line. Fails with KDL_BAD_CALL and a message that names the offset, what was found there,
 * what was expected, the nearest known word, and the grammar. The arch and every feature token are
 * checked, so that a spec that was parsed compiles. */
kdl_status kdl_device_spec_parse(const char *line, kdl_device_spec *out_spec);

/* Reads specs with " | " between them. After a failure, here and below, what is in the routes has
 * no meaning. */
kdl_status kdl_device_routes_parse(const char *line, kdl_device_routes *out_routes);

/* Reads `KEY=VALUE ... [| spec]...` from `at` in the line on into a device whose first spec already
 * has its backend and arch: a key that was read is taken from the line, the others stay, and routes
 * that were read take the place of the further ones. */
kdl_status kdl_device_routes_parse_keys(const char *line, size_t at, kdl_device_routes *routes);

/* The class, or where it is not said, what the backend suggests. */
kdl_device_class kdl_device_spec_class(const kdl_device_spec *spec);

/* The device's side of every match. Fails with KDL_BAD_CALL where arch or tokens are wrong, which
 * parsing and discovery rule out. */
kdl_status kdl_device_spec_compile(const kdl_device_spec *spec, kdl_device_rule *out_rule);

/* As kdl_device_spec_label, with its number among the backend's devices, where it has one: "cuda:0
 * sm_90 (NVIDIA H200)". */
void kdl_device_spec_name(const kdl_device_spec *spec, kdl_out *out);

/* ------------------------------------------------------------------------------------------ */
/* What a driver says                                                                           */

/* Put into a spec so that, whatever it is, the spec prints and parses. */

/* Copies a driver's text: what is not UTF-8 or is a control character becomes '?', blanks at the
 * ends go, what is too long is cut. */
void kdl_spec_set_text(char *field, size_t size, const char *text, size_t length);

/* Adds a token to a list joined by '+', where there is room. */
void kdl_spec_add_token(char *field, size_t size, const char *token);

/* A UUID or a PCI address of all zeros is none: drivers fill in what they do not know. */
void kdl_spec_set_uuid(kdl_spec_uuid *field, const void *bytes);
void kdl_spec_set_pci(kdl_spec_pci *field, uint32_t domain, uint32_t bus, uint32_t device,
                      uint32_t function);

#endif
