/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* 64-bit RISC-V by extensions or profile: rv64gc, rv64gcv_zba_zbb, rva22u64+rvv. */
#ifndef KDL_TARGET_FAMILIES_RISCV_H
#define KDL_TARGET_FAMILIES_RISCV_H

#include "lib/target/features/feature.h"

/* "rv64gc" or "rv64gcv" and extensions as -march takes them, or a profile, then (+feature)*;
 * "riscv64", "generic" and "" are rv64gc. The set is what such a CPU has beyond rv64gc. */
bool kdl_riscv_parse(kdl_string text, kdl_feature_set *out_set, kdl_parse_error *out_error);

/* "rv64gcv_zba_zbb", as -march takes it. */
void kdl_out_riscv(kdl_out *out, kdl_feature_set set);

#endif
