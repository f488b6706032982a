/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The policy `adaptive`: ext/adaptive chooses one of a kernel's variants for each launch and
 * measures some launches (lib/hooks.h); this file is its place in the entry of a handle.
 *
 * Which variants may replace the best one, by their keys: those with the same parameters, revision
 * and effects. They are tried only if each declares that a trial is safe: a launch that fails in
 * one is repeated with another, which is right if the kernel is idempotent, or if its author
 * declares it (trial=safe). If the best one declares numerics=exact, so must the others.
 */
#ifndef KDL_LIB_BINDING_ADAPTIVE_H
#define KDL_LIB_BINDING_ADAPTIVE_H

#include "lib/binding/kernel.h"

/* Prepares a handle with variants whose policy is adaptive; false where ranks select. */
bool kdl_adaptive_create(kdl_kernel *kernel);
void kdl_adaptive_destroy(kdl_kernel *kernel);

/* Kernel and device as text, by which a table of times is found: "WHAT=NAME device=...". */
struct kdl_out;
void kdl_adaptive_identify(const kdl_kernel *kernel, const char *what, struct kdl_out *out);

/* Of a subject: NULL where a launch has one thread, or none of the host. */
unsigned (*kdl_adaptive_wake_threads(const kdl_device_info *info))(unsigned count);

/* The bound handle that a launch would use now; the launch is not measured. */
kdl_status kdl_adaptive_select(const kdl_kernel *kernel, void *queue, const kdl_extent *items,
                               const kdl_args *args, kdl_kernel **out_kernel);

#endif
