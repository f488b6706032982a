/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whether a device can launch a kernel with the properties of its key (lib/inspect/metadata.h). */
#ifndef KDL_LIB_TARGET_KERNEL_KEY_H
#define KDL_LIB_TARGET_KERNEL_KEY_H

#include "lib/inspect/metadata.h"
#include "lib/target/target.h"

/* The launch limits of a device; 0 = unknown, not checked. */
typedef struct kdl_device_limits {
  uint32_t threads;  /* in a group */
  uint32_t block[3]; /* in each direction */
  uint64_t shared;   /* bytes of shared memory a group may have */
  uint32_t cluster;  /* groups in a cluster */
  uint64_t memory;   /* bytes */
} kdl_device_limits;

/* KDL_REASON bits; 0 = the kernel can be launched. */
uint64_t kdl_kernel_reasons(const kdl_kernel_key *key, const kdl_device_rule *device,
                            const kdl_device_limits *limits);

/* "block=1024x2x1 is 2048 work-items; the device has groups of at most 1024" */
size_t kdl_kernel_reason_words(const kdl_kernel_key *key, const kdl_device_limits *limits,
                               unsigned reason, char *buffer, size_t size);

#endif
