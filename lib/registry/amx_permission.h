/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * AMX is there, enabled in XCR0, and still kills a process at its first use unless the process has
 * asked Linux for the permission; and Linux may say no, for instance where a signal stack is too
 * small for the larger frame. So the permission is asked for when an image that needs AMX would be
 * chosen on this machine's CPU, and not before; a refusal becomes a reason like any other.
 */
#ifndef KDL_REGISTRY_PERMISSION_H
#define KDL_REGISTRY_PERMISSION_H

#include "lib/registry/device.h"

/* Whether the device may run an image that its route admits. Asks the operating system at most once
 * per process. On refusal, kdl_device_route gives from then on a route that lacks what was refused,
 * and the caller chooses anew. */
bool kdl_device_permit(kdl_device *device, size_t route, const kdl_candidate *candidate);

/* Asks for the permission to use AMX tiles; true where it is granted. Tests put their own here. */
extern bool (*kdl_request_amx)(void);

#endif
