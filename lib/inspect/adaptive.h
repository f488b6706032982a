/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What identifies variants and devices in tables of measured times (docs/adaptive.md). */
#ifndef KDL_LIB_INSPECT_ADAPTIVE_H
#define KDL_LIB_INSPECT_ADAPTIVE_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdint.h>

/* The key of the table that a library carries for a kernel, before its name. */
#define KDL_TUNED_PREFIX "kdl.tuned."

/* Of an image's bytes and the value of its key for a kernel; never 0. Reads the image where its
 * metadata has no digest. */
uint64_t kdl_adaptive_variant_id(kdl_library *lib, uint32_t image, kdl_string key);

/* Whether a launch of these items uses a variant for good; true where nothing is measured. */
bool kdl_kernel_is_decided(const kdl_kernel *kernel, const kdl_extent *items, const kdl_args *args);

#endif
