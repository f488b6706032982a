/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/target/families/cpu.h"

#include "lib/target/requirements.h"

bool kdl_cpu_parse(kdl_feature_class which, kdl_string text, kdl_feature_set *out_set,
                   kdl_parse_error *out_error) {
  static kdl_cpu_parser *const parsers[] = {[KDL_CLASS_X86] = kdl_x86_parse,
                                            [KDL_CLASS_AARCH64] = kdl_aarch64_parse,
                                            [KDL_CLASS_RISCV] = kdl_riscv_parse};
  return parsers[which](text, out_set, out_error);
}

void kdl_out_cpu(kdl_out *out, kdl_feature_class which, kdl_feature_set set) {
  static void (*const printers[])(kdl_out *,
                                  kdl_feature_set) = {[KDL_CLASS_X86] = kdl_out_x86,
                                                      [KDL_CLASS_AARCH64] = kdl_out_aarch64,
                                                      [KDL_CLASS_RISCV] = kdl_out_riscv};
  printers[which](out, set);
}

bool kdl_cpu_read(const kdl_cpu_syntax *syntax, kdl_string text, kdl_feature_set *out_set,
                  kdl_parse_error *out_error) {
  size_t end = kdl_text_find(text, 0, syntax->marks);
  kdl_string base = {text.data, end};
  size_t row = 0;
  while (row < syntax->base_count && !kdl_text_is(base, syntax->bases[row].name))
    ++row;
  if (row == syntax->base_count)
    return kdl_parse_fail(out_error, 0, syntax->expected_base);
  kdl_feature_set set = syntax->bases[row].set;
  while (end < text.length) {
    size_t at = end + 1;
    end = kdl_text_find(text, at, syntax->marks);
    kdl_string name = {text.data + at, end - at};
    int bit = kdl_feature_bit(syntax->features, name);
    if (bit >= 0)
      kdl_feature_add(&set, (unsigned)bit);
    else if (!syntax->add_other(name, &set))
      return kdl_parse_fail(out_error, at, syntax->expected_feature);
  }
  kdl_feature_close(syntax->features, &set);
  *out_set = set;
  return true;
}

void kdl_cpu_image(const kdl_image_desc *desc, kdl_target_family family, kdl_cpu_parser *parse,
                   kdl_image_rule *rule) {
  kdl_feature_set set;
  if (!parse(desc->arch, &set, NULL)) {
    kdl_rule_fault(rule, KDL_REASON(UNKNOWN_ARCH));
    return;
  }
  if (rule->kind == KDL_IMAGE_UNKNOWN)
    rule->kind = KDL_IMAGE_OBJECT;
  if (rule->kind != KDL_IMAGE_OBJECT && rule->kind != KDL_IMAGE_BITCODE) {
    kdl_rule_fault(rule, KDL_REASON(KIND_MISMATCH));
    return;
  }
  if (rule->kind == KDL_IMAGE_OBJECT && desc->arch.length == 0)
    kdl_rule_fault(rule, KDL_REASON(UNKNOWN_LEVEL));
  rule->form = rule->kind == KDL_IMAGE_BITCODE ? KDL_FORM_BITCODE : KDL_FORM_HOST;
  kdl_rule_arch(rule, KDL_ARCH(family, 0), KDL_ARCH(family, 0));
  kdl_feature_join(&rule->needs, set);
}

bool kdl_cpu_device(const kdl_device_desc *desc, kdl_target_family family, kdl_cpu_parser *parse,
                    kdl_device_rule *rule, kdl_feature_set *has, kdl_parse_error *out_error) {
  kdl_feature_set set;
  if (!parse(desc->arch, &set, out_error))
    return false;
  rule->arch = KDL_ARCH(family, 0);
  kdl_feature_join(has, set);
  return true;
}
