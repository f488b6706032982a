/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Putting what a driver says into a spec, so that whatever it says, the spec prints and parses. */
#ifndef KDL_DEVICE_SPEC_FILL_H
#define KDL_DEVICE_SPEC_FILL_H

#include "device/spec.h"

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
