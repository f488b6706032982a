/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * SPIR-V, for any driver that takes it: matched by version, addressing model, and tokens for
 * capabilities. Also OpenCL C. Sources: docs/targets.md, section SPIR-V.
 */
#include "lib/target/requirements.h"

enum { newest_minor = 15 };

/* Runs on any device whose driver compiles it: the range covers all, the kind decides. */
static void source_image(kdl_image_rule *rule) {
  rule->form = KDL_FORM_CL;
  kdl_rule_arch(rule, 0, UINT32_MAX);
  kdl_rule_rank_kind(rule, 0);
}

/* Without features in the metadata, the module's capabilities count. */
static void add_capabilities(const kdl_image_desc *desc, kdl_image_rule *rule) {
  for (size_t i = 0; i < desc->pair_count; ++i) {
    if (kdl_text_is(desc->pairs[i].key, "requires_features"))
      return;
  }
  kdl_feature_join(&rule->needs, kdl_capabilities(desc->capabilities));
  rule->rank |= kdl_count_bits(desc->capabilities);
}

void kdl_spirv_image(const kdl_image_desc *desc, kdl_image_rule *rule) {
  if (rule->kind == KDL_IMAGE_CL) {
    source_image(rule);
    return;
  }
  if (!kdl_rule_kind(rule, KDL_IMAGE_SPIRV, true))
    return;
  /* The next family takes SPIR-V too; see kdl_target_family. */
  kdl_rule_arch(rule, KDL_ARCH(KDL_FAMILY_SPIRV, 0), KDL_ARCH(KDL_FAMILY_INTEL, KDL_ARCH_DETAIL));
  kdl_string triple = desc->triple;
  kdl_string arch = desc->arch;
  rule->lowering_needs = 1u << KDL_LOWERING_TRANSLATOR | desc->capabilities;
  if (kdl_text_contains(triple, "vulkan") || kdl_text_contains(triple, "shadermodel"))
    kdl_feature_add(&rule->needs, KDL_NEED_SHADER);
  else if (kdl_text_starts(triple, "spirv32") || kdl_text_starts(triple, "spir-") ||
           kdl_text_is(arch, "spirv32"))
    kdl_feature_add(&rule->needs, KDL_NEED_ADDRESS_32);
  else
    kdl_feature_add(&rule->needs, KDL_NEED_ADDRESS_64);
  if (!kdl_feature_has(rule->needs, KDL_NEED_ADDRESS_64))
    rule->lowering_needs |= 1u << KDL_LOWERING_IMPOSSIBLE;
  if (rule->kind == KDL_IMAGE_BITCODE) {
    rule->form = KDL_FORM_BITCODE;
    kdl_rule_rank_kind(rule, 0);
    return;
  }
  rule->form = KDL_FORM_SPIRV;
  unsigned minor = desc->version_major > 1              ? newest_minor
                   : desc->version_minor < newest_minor ? desc->version_minor
                                                        : newest_minor;
  kdl_feature_add(&rule->needs, KDL_NEED_SPIRV + minor);
  kdl_rule_rank_kind(rule, minor);
  if (desc->capabilities)
    add_capabilities(desc, rule);
}

bool kdl_spirv_device(const kdl_device_desc *desc, kdl_device_rule *rule, kdl_feature_set *has,
                      kdl_parse_error *out_error) {
  rule->arch = KDL_ARCH(KDL_FAMILY_SPIRV, 0);
  if (kdl_text_is(desc->arch, "spirv64") || kdl_text_is(desc->arch, "spirv"))
    kdl_feature_add(has, KDL_NEED_ADDRESS_64);
  else if (kdl_text_is(desc->arch, "spirv32"))
    kdl_feature_add(has, KDL_NEED_ADDRESS_32);
  else
    return kdl_parse_fail(out_error, 0, "spirv64 or spirv32");
  if (desc->spirv) {
    uint32_t newest = desc->spirv >> 16 > 1 ? newest_minor : desc->spirv & 0xffff;
    for (uint32_t minor = 0; minor <= newest && minor <= newest_minor; ++minor)
      kdl_feature_add(has, KDL_NEED_SPIRV + minor);
  }
  return true;
}
