/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AArch64 by architecture version, CPU name and named features: armv8.2-a+sve, neoverse-v1. */
#ifndef KDL_TARGET_FAMILIES_AARCH64_H
#define KDL_TARGET_FAMILIES_AARCH64_H

#include "lib/target/features/feature.h"

/* base(+feature)*, as -march and -mcpu take it; the base may also be "aarch64" or "generic", which
 * are armv8-a, as is "". The set is what such a CPU has and what code built for it may use. */
bool kdl_aarch64_parse(kdl_string text, kdl_feature_set *out_set, kdl_parse_error *out_error);

/* "armv8-a+lse+dotprod": the base and what is there beyond it. */
void kdl_out_aarch64(kdl_out *out, kdl_feature_set set);

/* All architecture and CPU names, NULL behind the last: for tests and listings. */
const char *kdl_aarch64_base_at(size_t index);

#endif
