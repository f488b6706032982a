/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the CPU families: an image requires a set of features, and runs where all exist. */
#ifndef KDL_LIB_TARGET_FAMILIES_CPU_H
#define KDL_LIB_TARGET_FAMILIES_CPU_H

#include "lib/target/target.h"

/* kdl_cpu_parse and kdl_out_cpu of each class. */
typedef bool kdl_cpu_parser(kdl_string text, kdl_feature_set *out_set, kdl_parse_error *out_error);
kdl_cpu_parser kdl_x86_parse, kdl_aarch64_parse, kdl_riscv_parse;
void kdl_out_x86(kdl_out *out, kdl_feature_set set);
void kdl_out_aarch64(kdl_out *out, kdl_feature_set set);
void kdl_out_riscv(kdl_out *out, kdl_feature_set set);

/* The features of a name. */
typedef struct kdl_cpu_base {
  const char *name;
  kdl_feature_set set;
} kdl_cpu_base;

/* The syntax of an arch: a base, then features. */
typedef struct kdl_cpu_syntax {
  kdl_feature_class features;
  const kdl_cpu_base *bases;
  size_t base_count;
  const char *marks; /* characters that begin a feature */
  /* For names that are not features; false for an unknown name. */
  bool (*add_other)(kdl_string name, kdl_feature_set *set);
  const char *expected_base;
  const char *expected_feature;
} kdl_cpu_syntax;

bool kdl_cpu_read(const kdl_cpu_syntax *syntax, kdl_string text, kdl_feature_set *out_set,
                  kdl_parse_error *out_error);

void kdl_cpu_image(const kdl_image_desc *desc, kdl_target_family family, kdl_cpu_parser *parse,
                   kdl_image_rule *rule);

bool kdl_cpu_device(const kdl_device_desc *desc, kdl_target_family family, kdl_cpu_parser *parse,
                    kdl_device_rule *rule, kdl_feature_set *has, kdl_parse_error *out_error);

/* x86-64's levels */

/* Whether the set has AMX features, which need Linux's permission. */
bool kdl_x86_needs_amx(kdl_feature_set set);

/* The highest level of which the set has all members: 1 to 4, or 0. */
unsigned kdl_x86_level(kdl_feature_set set);

/* The members of a level, those of lower levels included. */
kdl_feature_set kdl_x86_level_set(unsigned level);

/* All names of CPUs, for AArch64 of architectures too; NULL after the last. For tests and listings.
 */
const char *kdl_x86_cpu_at(size_t index);
const char *kdl_aarch64_base_at(size_t index);

#endif
