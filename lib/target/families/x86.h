/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* x86-64 by psABI level, CPU name and named features: x86-64-v3+avx_vnni, znver4. */
#ifndef KDL_TARGET_FAMILIES_X86_H
#define KDL_TARGET_FAMILIES_X86_H

#include "lib/target/features/feature.h"

/* base(+feature)*; the base is a level, a CPU, or "generic" (level v1, as is ""). The set is what
 * such a CPU has and what code built for it may use. */
bool kdl_x86_parse(kdl_string text, kdl_feature_set *out_set, kdl_parse_error *out_error);

/* The highest level whose members are all there: 1 to 4, or 0. */
unsigned kdl_x86_level(kdl_feature_set set);

/* The members of a level, those of lower levels included. */
kdl_feature_set kdl_x86_level_set(unsigned level);

/* "x86-64-v3+avx_vnni": the level and what is there beyond it. */
void kdl_out_x86(kdl_out *out, kdl_feature_set set);

/* Whether the set has a part of AMX, whose use needs the kernel's permission. */
bool kdl_x86_needs_amx(kdl_feature_set set);

/* All CPU names, NULL behind the last: for tests and listings. */
const char *kdl_x86_cpu_at(size_t index);

#endif
