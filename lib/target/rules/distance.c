/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The distance of images that do not run on a device. */
#include "lib/target/families/gpu.h"
#include "lib/target/requirements.h"

enum { reason_shift = 32 };

static uint32_t apart(uint32_t a, uint32_t b) {
  return a > b ? a - b : b - a;
}

/* The distance to the nearest member of a generic processor. */
static uint32_t from_generic(const kdl_image_rule *image, const kdl_device_rule *device) {
  uint32_t nearest = UINT32_MAX;
  const kdl_amdgcn_processor *row;
  for (size_t i = 0; (row = kdl_amdgcn_at(i)) && !kdl_amdgcn_is_generic(row); ++i) {
    uint32_t distance = apart(kdl_amdgcn_arch(row), device->arch);
    if (row->generic != KDL_AMDGCN_NO_GENERIC &&
        kdl_feature_has(image->needs, KDL_NEED_GENERIC + (unsigned)row->generic) &&
        distance < nearest)
      nearest = distance;
  }
  return nearest;
}

/* Architectures of a family are numbers in order: a compute capability, the line of an AMD
 * processor and its version, an IP version. */
static uint32_t arch_distance(const kdl_image_rule *image, const kdl_device_rule *device,
                              uint64_t reasons) {
  if (image->family != device->family)
    return UINT32_MAX;
  if (reasons & (KDL_REASON(MIN_SM) | KDL_REASON(MIN_GFX_OLDER)))
    return apart(device->arch, image->min_lo > image->arch_lo ? image->min_lo : image->arch_lo);
  if (image->form == KDL_FORM_GENERIC)
    return from_generic(image, device);
  return apart(device->arch, image->arch_lo);
}

static uint32_t missing_features(const kdl_image_rule *image, const kdl_device_rule *device) {
  kdl_feature_set missing = kdl_missing_tokens(image, device);
  uint32_t count = 0;
  for (int i = 0; i < 2; ++i) {
    for (uint64_t word = missing.word[i]; word; word &= word - 1)
      ++count;
  }
  return count;
}

uint64_t kdl_match_distance(const kdl_image_rule *image, const kdl_device_rule *device,
                            uint64_t reasons) {
  const uint64_t by_arch = KDL_REASON(WRONG_ARCH) | KDL_REASON(OTHER_MAJOR) |
                           KDL_REASON(NEWER_MINOR) | KDL_REASON(ARCH_SPECIFIC_EXACT) |
                           KDL_REASON(FAMILY_MISMATCH) | KDL_REASON(TEGRA_EXACT) |
                           KDL_REASON(PTX_TOO_NEW_ARCH) | KDL_REASON(NOT_IN_GENERIC) |
                           KDL_REASON(IP_VERSION) | KDL_REASON(MIN_SM) | KDL_REASON(MIN_GFX_OLDER);
  uint64_t distance = (uint64_t)kdl_reasons_distance(reasons) << reason_shift;
  if (reasons & by_arch)
    return distance | arch_distance(image, device, reasons);
  if (reasons & KDL_REASON(MISSING_FEATURES))
    return distance | missing_features(image, device);
  return distance;
}
