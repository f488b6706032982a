/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the CPU families have in common: an image names a set of features, and runs where all of
 * them are. */
#ifndef KDL_TARGET_FAMILIES_CPU_H
#define KDL_TARGET_FAMILIES_CPU_H

#include "target/target.h"

/* Reads an arch into a set: kdl_x86_parse, kdl_aarch64_parse. */
typedef bool kdl_cpu_parse(kdl_string text, kdl_feature_set *out_set, kdl_parse_error *out_error);

void kdl_cpu_image(const kdl_image_desc *desc, kdl_target_family family, kdl_cpu_parse *parse,
                   kdl_image_rule *rule);

bool kdl_cpu_device(const kdl_device_desc *desc, kdl_target_family family, kdl_cpu_parse *parse,
                    kdl_device_rule *rule, kdl_feature_set *has, kdl_parse_error *out_error);

#endif
