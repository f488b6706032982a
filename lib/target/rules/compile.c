/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiles descriptions into rules: finds the family, lets it read the arch, and adds the
 * metadata. */
#include "lib/inspect/targets.h"
#include "lib/target/families/cpu.h"
#include "lib/target/families/gpu.h"
#include "lib/target/requirements.h"
#include "lib/target/rules/metadata.h"

/* ------------------------------------------------------------------------------------------ */
/* Families                                                                                     */

static void unknown_image(const kdl_image_desc *desc, kdl_image_rule *rule) {
  (void)desc;
  kdl_rule_fault(rule, KDL_REASON(UNKNOWN_ARCH));
}

static bool unknown_device(const kdl_device_desc *desc, kdl_device_rule *rule, kdl_feature_set *has,
                           kdl_parse_error *out_error) {
  (void)desc, (void)rule, (void)has;
  return kdl_parse_fail(out_error, 0, "the architecture of a known family of devices");
}

/* Bitcode of the form that docs/portable.md describes: the range covers all devices, and whether
 * one takes bitcode decides. */
static void portable_image(const kdl_image_desc *desc, kdl_image_rule *rule) {
  if (!kdl_rule_kind(rule, KDL_IMAGE_BITCODE, true))
    return;
  kdl_feature_set needs;
  for (size_t i = 0; i < desc->pair_count; ++i) {
    if (!kdl_text_is(desc->pairs[i].key, KDL_NEEDS_KEY))
      continue;
    if (kdl_feature_parse(KDL_CLASS_GPU, desc->pairs[i].value, &needs, NULL))
      rule->lowering_needs = (uint32_t)needs.word[0];
    else
      kdl_rule_fault(rule, KDL_REASON(UNKNOWN_FEATURE));
  }
  rule->form = KDL_FORM_PORTABLE;
  kdl_rule_arch(rule, 0, UINT32_MAX);
  kdl_rule_rank(rule, KDL_TIER_PORTABLE, 0);
}

const kdl_family_row kdl_families[KDL_FAMILY_COUNT] = {
    [KDL_FAMILY_NONE] = {"unknown device", KDL_CLASS_GPU},
    [KDL_FAMILY_NVPTX] = {"NVIDIA GPU", KDL_CLASS_GPU},
    [KDL_FAMILY_AMDGCN] = {"AMD GPU", KDL_CLASS_GPU},
    [KDL_FAMILY_SPIRV] = {"SPIR-V device", KDL_CLASS_GPU},
    [KDL_FAMILY_INTEL] = {"Intel GPU", KDL_CLASS_GPU},
    [KDL_FAMILY_X86_64] = {"x86-64 CPU", KDL_CLASS_X86},
    [KDL_FAMILY_AARCH64] = {"AArch64 CPU", KDL_CLASS_AARCH64},
    [KDL_FAMILY_RISCV] = {"RISC-V CPU", KDL_CLASS_RISCV},
    [KDL_FAMILY_PORTABLE] = {"any device", KDL_CLASS_GPU},
};

/* Read the arch of an image and of a device. */
static const struct {
  kdl_family_image *image;
  kdl_family_device *device;
} readers[KDL_FAMILY_COUNT] = {
    [KDL_FAMILY_NONE] = {unknown_image, unknown_device},
    [KDL_FAMILY_NVPTX] = {kdl_nvptx_image, kdl_nvptx_device},
    [KDL_FAMILY_AMDGCN] = {kdl_amdgcn_image, kdl_amdgcn_device},
    [KDL_FAMILY_SPIRV] = {kdl_spirv_image, kdl_spirv_device},
    [KDL_FAMILY_INTEL] = {kdl_intel_image, kdl_intel_device},
    [KDL_FAMILY_X86_64] = {kdl_x86_image, kdl_x86_device},
    [KDL_FAMILY_AARCH64] = {kdl_aarch64_image, kdl_aarch64_device},
    [KDL_FAMILY_RISCV] = {kdl_riscv_image, kdl_riscv_device},
    [KDL_FAMILY_PORTABLE] = {portable_image, unknown_device},
};

const char *kdl_arch_at(kdl_target_family family, size_t index) {
  const kdl_amdgcn_processor *amd = family == KDL_FAMILY_AMDGCN ? kdl_amdgcn_at(index) : NULL;
  return amd                            ? amd->name
         : family == KDL_FAMILY_INTEL   ? kdl_intel_acronym_at(index)
         : family == KDL_FAMILY_AARCH64 ? kdl_aarch64_base_at(index)
                                        : NULL;
}

/* First match wins. SPIR-V for HIP is AMD's; "spir64_gen" is native Intel code under SYCL's name.
 */
static const struct {
  kdl_string prefix;
  kdl_target_family family;
} triples[] = {
    {KDL_TEXT_ROW("nvptx"), KDL_FAMILY_NVPTX},
    {KDL_TEXT_ROW("amdgcn"), KDL_FAMILY_AMDGCN},
    {KDL_TEXT_ROW("x86_64"), KDL_FAMILY_X86_64},
    {KDL_TEXT_ROW("spirv64-amd-"), KDL_FAMILY_AMDGCN},
    {KDL_TEXT_ROW("spirv"), KDL_FAMILY_SPIRV},
    {KDL_TEXT_ROW("aarch64_be"), KDL_FAMILY_NONE},
    {KDL_TEXT_ROW("aarch64"), KDL_FAMILY_AARCH64},
    {KDL_TEXT_ROW("arm64"), KDL_FAMILY_AARCH64},
    {KDL_TEXT_ROW("riscv64be"), KDL_FAMILY_NONE},
    {KDL_TEXT_ROW("riscv64"), KDL_FAMILY_RISCV},
    {KDL_TEXT_ROW("amdgpu"), KDL_FAMILY_AMDGCN},
    {KDL_TEXT_ROW("amd64"), KDL_FAMILY_X86_64},
    {KDL_TEXT_ROW("spir64_gen"), KDL_FAMILY_INTEL},
    {KDL_TEXT_ROW("spir64_x86_64"), KDL_FAMILY_NONE},
    {KDL_TEXT_ROW("spir64_fpga"), KDL_FAMILY_NONE},
    {KDL_TEXT_ROW("spir"), KDL_FAMILY_SPIRV},
    {KDL_TEXT_ROW(KDL_PORTABLE_TRIPLE), KDL_FAMILY_PORTABLE},
};

kdl_target_family kdl_family_of_triple(kdl_string triple) {
  for (size_t i = 0; i < sizeof triples / sizeof *triples; ++i) {
    if (kdl_text_has_prefix(triple, triples[i].prefix))
      return triples[i].family;
  }
  return KDL_FAMILY_NONE;
}

/* For images whose container names no triple. CPU names have no prefix in common. */
static const struct {
  kdl_string prefix;
  kdl_target_family family;
} arches[] = {
    {KDL_TEXT_ROW("sm_"), KDL_FAMILY_NVPTX},     {KDL_TEXT_ROW("compute_"), KDL_FAMILY_NVPTX},
    {KDL_TEXT_ROW("gfx"), KDL_FAMILY_AMDGCN},    {KDL_TEXT_ROW("amdgcn"), KDL_FAMILY_AMDGCN},
    {KDL_TEXT_ROW("x86-64"), KDL_FAMILY_X86_64}, {KDL_TEXT_ROW("armv8"), KDL_FAMILY_AARCH64},
    {KDL_TEXT_ROW("armv9"), KDL_FAMILY_AARCH64}, {KDL_TEXT_ROW("aarch64"), KDL_FAMILY_AARCH64},
    {KDL_TEXT_ROW("spirv"), KDL_FAMILY_SPIRV},   {KDL_TEXT_ROW("intel_gpu_"), KDL_FAMILY_INTEL},
    {KDL_TEXT_ROW("rv64"), KDL_FAMILY_RISCV},    {KDL_TEXT_ROW("rva2"), KDL_FAMILY_RISCV},
};

static kdl_target_family family_of_arch(kdl_string arch) {
  for (size_t i = 0; i < sizeof arches / sizeof *arches; ++i) {
    if (kdl_text_has_prefix(arch, arches[i].prefix))
      return arches[i].family;
  }
  kdl_feature_set set;
  if (arch.length == 0 || kdl_text_is(arch, "generic"))
    return KDL_FAMILY_NONE;
  return kdl_x86_parse(arch, &set, NULL)       ? KDL_FAMILY_X86_64
         : kdl_aarch64_parse(arch, &set, NULL) ? KDL_FAMILY_AARCH64
                                               : KDL_FAMILY_NONE;
}

/* The kind is more reliable than the triple, because it comes from the image's first bytes, and the
 * triple more than the arch. Two kinds are ambiguous: SPIR-V may be AMD's, and native Intel code is
 * packed under the triple of SPIR-V. */
static kdl_target_family family_of(const kdl_image_desc *desc, kdl_image_rule *rule) {
  kdl_target_family by_kind = (kdl_target_family)kdl_image_kind_get(desc->kind)->family;
  kdl_target_family by_triple = kdl_family_of_triple(desc->triple);
  if (by_triple == KDL_FAMILY_NONE)
    by_triple = family_of_arch(desc->arch);
  if (by_kind == KDL_FAMILY_SPIRV && by_triple == KDL_FAMILY_AMDGCN)
    return KDL_FAMILY_AMDGCN;
  if (by_kind == KDL_FAMILY_INTEL && by_triple == KDL_FAMILY_SPIRV)
    return KDL_FAMILY_INTEL;
  if (by_kind == KDL_FAMILY_NONE) {
    kdl_intel_ip ip;
    bool native = by_triple == KDL_FAMILY_SPIRV && desc->kind != KDL_IMAGE_BITCODE &&
                  kdl_intel_parse(desc->arch, &ip, NULL);
    return native ? KDL_FAMILY_INTEL : by_triple;
  }
  if (by_triple != KDL_FAMILY_NONE && by_triple != by_kind)
    kdl_rule_fault(rule, KDL_REASON(KIND_MISMATCH));
  return by_kind;
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

unsigned kdl_need_kind(kdl_image_kind kind) {
  static const uint8_t numbers[KDL_IMAGE_KIND_COUNT] = {
#define KDL_IMAGE_KIND(id, name, llvm, first_bytes, holds, ...)                                    \
  [KDL_IMAGE_##id] = KDL_HOLDS_##holds < KDL_HOLDS_MACHINE_CODE ? KDL_CODE_NONE : KDL_CODE_##id,
#include "lib/inspect/kinds.def"
#undef KDL_IMAGE_KIND
  };
  return KDL_NEED_KIND + numbers[(unsigned)kind < KDL_IMAGE_KIND_COUNT ? kind : KDL_IMAGE_UNKNOWN];
}

/* Returns the features that the metadata requires. */
static kdl_feature_set add_metadata(const kdl_image_desc *desc, kdl_image_rule *rule,
                                    uint32_t *min_hi) {
  kdl_metadata metadata;
  kdl_metadata_read(desc->pairs, desc->pair_count, kdl_families[rule->family].features, &metadata);
  for (int key = 0; metadata.malformed >> key; ++key) {
    if (metadata.malformed & 1u << key && kdl_keys[key].must_check)
      kdl_rule_fault(rule, KDL_REASON(MALFORMED_KEY));
  }
  if (metadata.requires_unknown)
    kdl_rule_fault(rule, KDL_REASON(UNKNOWN_FEATURE));
  if (rule->family == KDL_FAMILY_NVPTX && metadata.min_sm_major)
    rule->min_lo = KDL_ARCH(KDL_FAMILY_NVPTX, metadata.min_sm_major << 8 | metadata.min_sm_minor);
  if (rule->family == KDL_FAMILY_AMDGCN && metadata.min_gfx)
    kdl_amdgcn_min_range(metadata.min_gfx, &rule->min_lo, min_hi);
  if (rule->family == KDL_FAMILY_PORTABLE || rule->family == KDL_FAMILY_SPIRV)
    rule->lowering_needs |= (uint32_t)metadata.required.word[0];
  if (rule->family != KDL_FAMILY_PORTABLE) /* tokens are those of a family */
    kdl_feature_join(&rule->needs, metadata.required);
  rule->priority = metadata.priority;
  return metadata.required;
}

static void finish_rank(kdl_image_rule *rule, kdl_feature_set required) {
  kdl_tier tier = rule->form == KDL_FORM_BITCODE ? KDL_TIER_BITCODE : KDL_TIER_HOST;
  if (rule->family == KDL_FAMILY_X86_64) /* the members of level v1 are the same everywhere */
    rule->rank = (uint64_t)tier << KDL_TIER_SHIFT | rule->needs.word[0] >> KDL_X86_CMPXCHG16B;
  else if (rule->family == KDL_FAMILY_AARCH64 || rule->family == KDL_FAMILY_RISCV)
    rule->rank = (uint64_t)tier << KDL_TIER_SHIFT | rule->needs.word[0];
  else
    rule->rank |= kdl_count_bits(required.word[0]) & KDL_RANK_TOKENS;
}

_Static_assert(KDL_X86_FIRST_BLOCK_END - KDL_X86_CMPXCHG16B <= KDL_TIER_SHIFT,
               "the rank overflows");
_Static_assert(KDL_AARCH64_FIRST_BLOCK_END + 0 <= KDL_TIER_SHIFT, "the rank overflows");

static void finish_range(kdl_image_rule *rule, uint32_t min_hi) {
  uint32_t lo = rule->arch_lo > rule->min_lo ? rule->arch_lo : rule->min_lo;
  uint32_t hi = rule->arch_hi < min_hi ? rule->arch_hi : min_hi;
  bool possible = lo <= hi && !rule->faults;
  if (!possible) {
    kdl_feature_add(&rule->needs, KDL_NEED_IMPOSSIBLE);
    rule->lowering_needs |= 1u << KDL_LOWERING_IMPOSSIBLE;
  }
  rule->lo = possible ? lo : rule->arch_lo;
  rule->span = possible ? hi - lo : 0;
}

void kdl_image_compile(const kdl_image_desc *desc, kdl_image_rule *out_rule) {
  uint32_t min_hi = UINT32_MAX;
  kdl_image_rule rule = {.kind = (uint8_t)desc->kind, .rank = 1};
  rule.family = (uint8_t)family_of(desc, &rule);
  if (kdl_image_kind_get(desc->kind)->holds == KDL_HOLDS_IMAGES)
    kdl_rule_fault(&rule, KDL_REASON(CONTAINER));
  else if (kdl_image_kind_get(desc->kind)->holds == KDL_HOLDS_SEQUENCE)
    kdl_rule_fault(&rule, KDL_REASON(SEQUENCE));
  else if (desc->is_unknown_kind)
    kdl_rule_fault(&rule, KDL_REASON(UNKNOWN_KIND));
  else
    readers[rule.family].image(desc, &rule);
  if (desc->is_link_input)
    kdl_rule_fault(&rule, KDL_REASON(RELOCATABLE));
  kdl_feature_set required = {{0, 0}};
  if (desc->pair_count)
    required = add_metadata(desc, &rule, &min_hi);
  kdl_feature_add(&rule.needs, kdl_need_kind((kdl_image_kind)rule.kind));
  finish_rank(&rule, required);
  finish_range(&rule, min_hi);
  *out_rule = rule;
}

bool kdl_match_may_run(kdl_image_kind kind, kdl_string arch, const kdl_device_rule *device) {
  if (kind == KDL_IMAGE_UNKNOWN || kind == KDL_IMAGE_OBJECT) /* made precise by the rule */
    return true;
  if (kind == KDL_IMAGE_SPIRV && !(device->lowering_lacks >> KDL_LOWERING_TRANSLATOR & 1))
    return true;
  if (kdl_feature_has(device->lacks, kdl_need_kind(kind)))
    return false;
  return kind != KDL_IMAGE_CUBIN || kdl_nvptx_may_run(arch, device->arch);
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

static bool device_fail(kdl_device_error *out_error, const char *field, kdl_string text,
                        kdl_parse_error parse) {
  if (out_error)
    *out_error = (kdl_device_error){field, text, parse};
  return false;
}

/* CPUs compute what code for GPUs may need: by functions where they have no instruction. Textures
 * are not lowered. */
static uint32_t find_lowering_lacks(kdl_feature_class which, bool is_known, kdl_feature_set has) {
  static const unsigned of_cpus[] = {
      KDL_GPU_FP16,          KDL_GPU_BF16,      KDL_GPU_FP64,           KDL_GPU_INT64,
      KDL_GPU_INT64_ATOMICS, KDL_GPU_SUBGROUPS, KDL_GPU_GENERIC_POINTER};
  const uint32_t all = ((uint32_t)1 << KDL_GPU_FEATURE_COUNT) - 1;
  uint32_t supported = is_known ? (uint32_t)has.word[0] : all;
  if (which != KDL_CLASS_GPU) {
    supported = 0;
    for (size_t i = 0; i < sizeof of_cpus / sizeof *of_cpus; ++i)
      supported |= 1u << of_cpus[i];
  }
  return (all & ~supported) | 1u << KDL_GPU_IMAGES | 1u << KDL_LOWERING_TRANSLATOR |
         1u << KDL_LOWERING_IMPOSSIBLE;
}

bool kdl_device_compile(const kdl_device_desc *desc, kdl_device_rule *out_rule,
                        kdl_device_error *out_error) {
  kdl_device_rule rule = {.family = (uint32_t)desc->family,
                          .driver = desc->driver,
                          .ptx = desc->ptx,
                          .spirv = desc->spirv};
  kdl_feature_class which = kdl_families[desc->family].features;
  kdl_feature_set has = {{0, 0}};
  kdl_feature_set more;
  kdl_parse_error parse;
  kdl_target_family family = desc->family < KDL_FAMILY_COUNT ? desc->family : KDL_FAMILY_NONE;
  if (!readers[family].device(desc, &rule, &has, &parse))
    return device_fail(out_error, "arch", desc->arch, parse);
  if (!kdl_feature_parse(which, desc->features, &more, &parse))
    return device_fail(out_error, "features", desc->features, parse);
  kdl_feature_close(which, &more);
  kdl_feature_join(&has, more);
  if (!kdl_feature_parse(which, desc->os_off, &rule.os_off, &parse))
    return device_fail(out_error, "os_off", desc->os_off, parse);
  if (!kdl_feature_parse(which, desc->refused, &rule.refused, &parse))
    return device_fail(out_error, "refused", desc->refused, parse);
  /* A driver without known features is assumed to have all that a module requires. */
  bool is_known = family != KDL_FAMILY_SPIRV || desc->features.length;
  if (family == KDL_FAMILY_INTEL || family == KDL_FAMILY_SPIRV)
    kdl_feature_join(&has, kdl_capabilities(is_known ? has.word[0] : UINT64_MAX));
  rule.lowering_lacks = find_lowering_lacks(which, is_known, has);
  for (unsigned kind = 0; kind < KDL_IMAGE_KIND_COUNT; ++kind) {
    bool is_loaded = kdl_image_kinds[kind].loaded_by >> family & 1 || desc->loads >> kind & 1;
    if (is_loaded && !(desc->refuses >> kind & 1))
      kdl_feature_add(&has, kdl_need_kind((kdl_image_kind)kind));
  }
  for (int i = 0; i < 2; ++i)
    rule.lacks.word[i] = ~has.word[i] | rule.os_off.word[i] | rule.refused.word[i];
  *out_rule = rule;
  return true;
}
