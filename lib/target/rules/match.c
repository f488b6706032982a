/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Derives the reasons from the comparisons that failed. */
#include "lib/target/requirements.h"

#include <string.h>

const kdl_reason_row kdl_reasons[KDL_REASON_COUNT] = {
#define KDL_REASON_ROW(id, code, distance, cause, words, fix)                                      \
  {code, words, fix, distance, KDL_CAUSE_##cause},
#include "lib/target/reasons.def"
#undef KDL_REASON_ROW
};

_Static_assert(KDL_REASON_COUNT <= 64, "reasons are bits of a 64-bit word");

/* `min_sm` of an image for a later architecture repeats what its architecture says. */
#define REASONS_NVIDIA_ARCH                                                                        \
  (KDL_REASON(OTHER_MAJOR) | KDL_REASON(NEWER_MINOR) | KDL_REASON(ARCH_SPECIFIC_EXACT) |           \
   KDL_REASON(FAMILY_MISMATCH) | KDL_REASON(TEGRA_EXACT) | KDL_REASON(PTX_TOO_NEW_ARCH))

uint64_t kdl_reasons_if_unresolved(uint64_t reasons) {
  return reasons & KDL_REASON(WRONG_VENDOR) ? reasons : reasons | KDL_REASON(RELOCATABLE);
}

unsigned kdl_reasons_distance(uint64_t reasons) {
  unsigned distance = 0;
  if (reasons & REASONS_NVIDIA_ARCH)
    reasons &= ~KDL_REASON(MIN_SM);
  for (unsigned bit = 0; bit < KDL_REASON_COUNT; ++bit)
    distance += reasons >> bit & 1 ? kdl_reasons[bit].distance : 0;
  return distance;
}

/* What can be done about them does not help on another vendor's devices. */
#define REASONS_IN_FAMILY                                                                          \
  (KDL_REASON(RELOCATABLE) | KDL_REASON(MALFORMED_KEY) | KDL_REASON(UNKNOWN_FEATURE))

static bool is_host_family(uint32_t family) {
  return family == KDL_FAMILY_X86_64 || family == KDL_FAMILY_AARCH64 || family == KDL_FAMILY_RISCV;
}

static bool takes_spirv(uint32_t family) {
  return family == KDL_FAMILY_SPIRV || family == KDL_FAMILY_INTEL;
}

static bool is_same_family(const kdl_image_rule *image, const kdl_device_rule *device) {
  return image->family == device->family ||
         (image->family == KDL_FAMILY_SPIRV && device->family == KDL_FAMILY_INTEL) ||
         image->form == KDL_FORM_CL || image->form == KDL_FORM_PORTABLE;
}

/* Whether kdl-ld makes images for the device out of bitcode; some OpenCL drivers take sources
 * alone. */
static bool is_linked(const kdl_device_rule *device) {
  uint32_t family = device->family;
  return is_host_family(family) || family == KDL_FAMILY_NVPTX || family == KDL_FAMILY_AMDGCN ||
         family == KDL_FAMILY_INTEL || (family == KDL_FAMILY_SPIRV && device->spirv);
}

void kdl_device_accept_bitcode(kdl_device_rule *rule) {
  if (is_linked(rule))
    kdl_feature_remove(&rule->lacks, kdl_need_kind(KDL_IMAGE_BITCODE));
}

void kdl_device_accept_spirv(kdl_device_rule *rule) {
  if (is_linked(rule) && !takes_spirv(rule->family))
    rule->lowering_lacks &= ~(1u << KDL_LOWERING_TRANSLATOR);
}

/* Whether a bit of [first, last] is set. */
static bool has_any(kdl_feature_set set, unsigned first, unsigned last) {
  for (unsigned bit = first; bit <= last; ++bit) {
    if (kdl_feature_has(set, bit))
      return true;
  }
  return false;
}

static uint64_t nvptx_arch(const kdl_image_rule *image, uint32_t arch) {
  bool other_major = arch >> 8 != image->arch_lo >> 8;
  if (image->suffix == 'a')
    return KDL_REASON(ARCH_SPECIFIC_EXACT);
  if (image->suffix == 'f' && other_major)
    return KDL_REASON(FAMILY_MISMATCH);
  if (image->form != KDL_FORM_CUBIN && image->suffix != 'f')
    return KDL_REASON(PTX_TOO_NEW_ARCH);
  if (other_major)
    return KDL_REASON(OTHER_MAJOR);
  return arch < image->arch_lo ? KDL_REASON(NEWER_MINOR) : KDL_REASON(TEGRA_EXACT);
}

static uint64_t nvptx_reasons(const kdl_image_rule *image, const kdl_device_rule *device,
                              bool in_range, kdl_feature_set missing) {
  uint64_t reasons = 0;
  if (!in_range || kdl_feature_has(missing, KDL_NEED_DESKTOP))
    reasons |= nvptx_arch(image, device->arch);
  if (has_any(missing, KDL_NEED_PTX, KDL_NEED_PTX_LAST))
    reasons |= KDL_REASON(PTX_ISA_UNKNOWN);
  if (in_range && has_any(missing, KDL_NEED_TILE_IR, KDL_NEED_TILE_IR_LAST))
    reasons |= KDL_REASON(TILE_IR_UNKNOWN);
  if (device->arch < image->min_lo)
    reasons |= KDL_REASON(MIN_SM);
  return reasons;
}

static uint64_t amdgcn_reasons(const kdl_image_rule *image, const kdl_device_rule *device,
                               bool in_range, kdl_feature_set missing) {
  uint64_t reasons = 0;
  if (has_any(missing, KDL_NEED_GENERIC, KDL_NEED_XNACK_ON - 1))
    reasons |= KDL_REASON(NOT_IN_GENERIC);
  if (!in_range)
    reasons |= KDL_REASON(WRONG_ARCH);
  if (!reasons) { /* settings and versions matter only on the right processor */
    if (has_any(missing, KDL_NEED_XNACK_ON, KDL_NEED_XNACK_OFF))
      reasons |= KDL_REASON(XNACK_MISMATCH);
    if (has_any(missing, KDL_NEED_SRAMECC_ON, KDL_NEED_SRAMECC_OFF))
      reasons |= KDL_REASON(SRAMECC_MISMATCH);
    if (has_any(missing, KDL_NEED_GENERIC_VERSION, KDL_NEED_GENERIC_LOADER - 1))
      reasons |= KDL_REASON(GENERIC_VERSION_OLD);
  }
  if (has_any(missing, KDL_NEED_GENERIC_LOADER, KDL_NEED_SPIRV_COMPILER))
    reasons |= KDL_REASON(DRIVER_TOO_OLD);
  if (device->arch >> 20 != image->min_lo >> 20 && image->min_lo)
    reasons |= KDL_REASON(MIN_GFX_FAMILY);
  else if (device->arch < image->min_lo)
    reasons |= KDL_REASON(MIN_GFX_OLDER);
  return reasons;
}

static uint64_t spirv_reasons(bool in_range, kdl_feature_set missing) {
  uint64_t reasons = in_range ? 0 : KDL_REASON(IP_VERSION);
  if (has_any(missing, KDL_NEED_SPIRV, KDL_NEED_ADDRESS_32 - 1))
    reasons |= KDL_REASON(SPIRV_VERSION);
  if (has_any(missing, KDL_NEED_ADDRESS_32, KDL_NEED_SHADER))
    reasons |= KDL_REASON(SPIRV_ENVIRONMENT);
  return reasons;
}

/* Whether the device runs it only as kdl-ld lowers it. */
static bool is_lowered(const kdl_image_rule *image, const kdl_device_rule *device) {
  return image->form == KDL_FORM_PORTABLE ||
         (image->form == KDL_FORM_SPIRV && !takes_spirv(device->family));
}

kdl_feature_class kdl_missing_class(const kdl_image_rule *image, const kdl_device_rule *device) {
  return is_lowered(image, device) ? KDL_CLASS_GPU : kdl_families[device->family].features;
}

kdl_feature_set kdl_missing_tokens(const kdl_image_rule *image, const kdl_device_rule *device) {
  if (is_lowered(image, device))
    return (kdl_feature_set){{image->lowering_needs & device->lowering_lacks &
                                  (((uint32_t)1 << KDL_GPU_FEATURE_COUNT) - 1),
                              0}};
  kdl_feature_set missing = kdl_feature_common(image->needs, device->lacks);
  if (takes_spirv(device->family))
    missing.word[0] |=
        (missing.word[1] & kdl_capabilities(UINT64_MAX).word[1]) >> (KDL_NEED_CAPABILITY - 64);
  return kdl_feature_tokens(kdl_families[device->family].features, missing);
}

static uint64_t token_reasons(const kdl_device_rule *device, kdl_feature_set tokens) {
  kdl_feature_set off = kdl_feature_common(tokens, device->os_off);
  kdl_feature_set refused = kdl_feature_common(tokens, device->refused);
  uint64_t reasons = 0;
  if (kdl_feature_any(off))
    reasons |= KDL_REASON(OS_DISABLED);
  if (kdl_feature_any(refused))
    reasons |= KDL_REASON(AMX_PERMISSION);
  for (int i = 0; i < 2; ++i) {
    if (tokens.word[i] & ~off.word[i] & ~refused.word[i])
      reasons |= KDL_REASON(MISSING_FEATURES);
  }
  return reasons;
}

bool kdl_match_would_translate(const kdl_image_rule *image, const kdl_device_rule *device) {
  uint32_t needs = image->lowering_needs & ~(1u << KDL_LOWERING_TRANSLATOR);
  return image->form == KDL_FORM_SPIRV && !(needs & device->lowering_lacks) &&
         !kdl_feature_has(device->lacks, kdl_need_kind(KDL_IMAGE_BITCODE));
}

uint64_t kdl_match_reasons(const kdl_image_rule *image, const kdl_device_rule *device) {
  uint64_t reasons = image->faults;
  if (image->family == KDL_FAMILY_NONE)
    return reasons;
  /* Source code has no vendor: it runs if the driver has a compiler for it. */
  if (image->form == KDL_FORM_CL && kdl_feature_has(device->lacks, kdl_need_kind(KDL_IMAGE_CL)))
    return reasons | KDL_REASON(KIND_NOT_LOADABLE);
  uint32_t lacking = is_lowered(image, device) ? image->lowering_needs & device->lowering_lacks : 0;
  if (image->form == KDL_FORM_SPIRV && lacking && !(lacking >> KDL_LOWERING_TRANSLATOR & 1))
    return reasons                                  ? reasons
           : lacking >> KDL_LOWERING_IMPOSSIBLE & 1 ? KDL_REASON(SPIRV_ENVIRONMENT)
                                                    : KDL_REASON(MISSING_FEATURES);
  if (!is_same_family(image, device))
    return (reasons & ~REASONS_IN_FAMILY) |
           (is_host_family(image->family) && is_host_family(device->family)
                ? KDL_REASON(WRONG_ARCH)
                : KDL_REASON(WRONG_VENDOR));
  /* An arch that cannot be read has nothing to compare. */
  if (image->form == KDL_FORM_NONE)
    return reasons;
  bool in_range = device->arch >= image->arch_lo && device->arch <= image->arch_hi;
  kdl_feature_set missing = kdl_feature_common(image->needs, device->lacks);
  switch ((kdl_target_family)device->family) {
  case KDL_FAMILY_NVPTX:
    reasons |= nvptx_reasons(image, device, in_range, missing);
    break;
  case KDL_FAMILY_AMDGCN:
    reasons |= amdgcn_reasons(image, device, in_range, missing);
    break;
  case KDL_FAMILY_SPIRV:
  case KDL_FAMILY_INTEL:
    reasons |= spirv_reasons(in_range, missing);
    break;
  default:
    break;
  }
  if (has_any(missing, KDL_NEED_KIND, KDL_NEED_KIND + KDL_CODE_COUNT - 1))
    reasons |= image->kind == KDL_IMAGE_BITCODE && is_linked(device)
                   ? KDL_REASON(LINKER_MISSING)
                   : KDL_REASON(KIND_NOT_LOADABLE);
  if (is_lowered(image, device))
    return reasons |
           (kdl_feature_any(kdl_missing_tokens(image, device)) ? KDL_REASON(MISSING_FEATURES) : 0);
  return reasons | token_reasons(device, kdl_missing_tokens(image, device));
}

const char *kdl_match_fit(const kdl_image_rule *image, const kdl_device_rule *device) {
  if (kdl_match_translates(image, device))
    return "translated";
  switch (kdl_rank_tier(image->rank)) {
  case KDL_TIER_ARCH_SPECIFIC:
    return "arch-specific";
  case KDL_TIER_FAMILY:
    return "family";
  case KDL_TIER_NATIVE:
    return device->arch == image->arch_lo ? "exact" : "lower minor";
  case KDL_TIER_GENERIC:
    return "generic";
  case KDL_TIER_DRIVER_IR:
    return kdl_image_kind_get((kdl_image_kind)image->kind)->is_unverified ? "driver IR, unverified"
                                                                          : "driver IR";
  case KDL_TIER_PORTABLE_IR:
    return "portable IR";
  case KDL_TIER_SOURCE:
    return "source";
  case KDL_TIER_HOST:
    return "host";
  case KDL_TIER_BITCODE:
    return "bitcode";
  case KDL_TIER_PORTABLE:
    return "portable";
  case KDL_TIER_NONE:
    break;
  }
  return "none";
}
