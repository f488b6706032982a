/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A device in a few words, for messages: a spec's full line is for programs. */
#ifndef KDL_DEVICE_SPEC_LABEL_H
#define KDL_DEVICE_SPEC_LABEL_H

#include "device/spec.h"

/* "cuda:sm_90", "hip:gfx90a:sramecc+:xnack-", "host:x86-64-v4": the backend, and the arch without
 * the features that a CPU's has behind it. */
void kdl_device_spec_place(const kdl_device_spec *spec, kdl_out *out);

/* The same with the name, where it is known: "cuda:sm_90 (NVIDIA H200)". */
void kdl_device_spec_label(const kdl_device_spec *spec, kdl_out *out);

/* The same with its number among the backend's devices, where it has one: "cuda:0 sm_90 (NVIDIA
 * H200)". */
void kdl_device_spec_name(const kdl_device_spec *spec, kdl_out *out);

#endif
