/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Linux kills a process at its first use of AMX, even where XCR0 enables it, unless the process has
 * requested the permission. Linux may refuse it, for instance where a signal stack is too small for
 * the larger frame. So libkdl requests the permission when it is about to select an image that
 * needs AMX on this machine's CPU. A refusal becomes a reason like any other.
 */
#ifndef KDL_LIB_REGISTRY_AMX_PERMISSION_H
#define KDL_LIB_REGISTRY_AMX_PERMISSION_H

#include "lib/registry/device.h"

/* Whether the device may run an image that its route admits. Asks the operating system at most once
 * per process. After a refusal, kdl_device_route gives a route without AMX, and the caller ranks
 * again. */
bool kdl_device_permit(kdl_device *device, size_t route, const kdl_candidate *candidate);

/* Requests the permission for AMX tiles; true if granted. Tests replace it. */
extern bool (*kdl_request_amx)(void);

#endif
