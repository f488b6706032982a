/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the CPU families have in common: an image names a set of features, and runs where all of
 * them are. */
#ifndef KDL_TARGET_FAMILIES_CPU_H
#define KDL_TARGET_FAMILIES_CPU_H

#include "lib/target/target.h"

/* What a name stands for. */
typedef struct kdl_cpu_base {
  const char *name;
  kdl_feature_set set;
} kdl_cpu_base;

/* How an arch is written: a base, and features behind it. */
typedef struct kdl_cpu_syntax {
  kdl_feature_class features;
  const kdl_cpu_base *bases;
  size_t base_count;
  const char *marks; /* any of them begins a feature */
  /* For names that are no features: false where they mean nothing. */
  bool (*add_other)(kdl_string name, kdl_feature_set *set);
  const char *expected_base;
  const char *expected_feature;
} kdl_cpu_syntax;

bool kdl_cpu_read(const kdl_cpu_syntax *syntax, kdl_string text, kdl_feature_set *out_set,
                  kdl_parse_error *out_error);

void kdl_cpu_image(const kdl_image_desc *desc, kdl_target_family family, kdl_cpu_parse *parse,
                   kdl_image_rule *rule);

bool kdl_cpu_device(const kdl_device_desc *desc, kdl_target_family family, kdl_cpu_parse *parse,
                    kdl_device_rule *rule, kdl_feature_set *has, kdl_parse_error *out_error);

/* x86-64's levels */

/* The highest level whose members are all there: 1 to 4, or 0. */
unsigned kdl_x86_level(kdl_feature_set set);

/* The members of a level, those of lower levels included. */
kdl_feature_set kdl_x86_level_set(unsigned level);

/* All CPU names, NULL behind the last: for tests and listings. */
const char *kdl_x86_cpu_at(size_t index);

#endif
