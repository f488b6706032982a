/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whether a device can launch a kernel the way its key says. */
#include "target/kernel_key.h"

static uint64_t product(const uint32_t extent[3]) {
  uint64_t area = (uint64_t)extent[0] * extent[1];
  return area && extent[2] > UINT64_MAX / area ? UINT64_MAX : area * extent[2];
}

static bool is_block_too_large(const kdl_kernel_key *key, const kdl_device_limits *limits) {
  if (limits->threads && product(key->block) > limits->threads)
    return true;
  for (int i = 0; i < 3; ++i) {
    if (limits->block[i] && key->block[i] > limits->block[i])
      return true;
  }
  return false;
}

static bool device_has(const kdl_device_rule *device, unsigned gpu_feature) {
  return kdl_family_class((kdl_target_family)device->family) == KDL_CLASS_GPU &&
         !kdl_feature_has(device->lacks, gpu_feature);
}

static bool has_subgroup(const kdl_device_rule *device, uint32_t size) {
  static const struct {
    uint32_t size;
    unsigned feature;
  } sizes[] = {{8, KDL_GPU_SUBGROUP_SIZE_8},
               {16, KDL_GPU_SUBGROUP_SIZE_16},
               {32, KDL_GPU_SUBGROUP_SIZE_32},
               {64, KDL_GPU_SUBGROUP_SIZE_64}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    if (sizes[i].size == size)
      return device_has(device, sizes[i].feature);
  }
  return false;
}

uint64_t kdl_kernel_fit(const kdl_kernel_key *key, const kdl_device_rule *device,
                        const kdl_device_limits *limits) {
  uint64_t reasons = 0;
  if (is_block_too_large(key, limits))
    reasons |= KDL_REASON(BLOCK_TOO_LARGE);
  if (limits->shared && key->shared > limits->shared)
    reasons |= KDL_REASON(SHARED_TOO_LARGE);
  if (key->coop && !device_has(device, KDL_GPU_COOPERATIVE_LAUNCH))
    reasons |= KDL_REASON(NO_COOPERATIVE_LAUNCH);
  uint64_t cluster = product(key->cluster);
  if (cluster > 1 &&
      (!device_has(device, KDL_GPU_CLUSTERS) || (limits->cluster && cluster > limits->cluster)))
    reasons |= KDL_REASON(NO_CLUSTERS);
  if (key->subgroup && !has_subgroup(device, key->subgroup))
    reasons |= KDL_REASON(SUBGROUP_SIZE);
  if (limits->memory && key->min_memory > limits->memory)
    reasons |= KDL_REASON(TOO_LITTLE_MEMORY);
  return reasons;
}

size_t kdl_kernel_reason_words(const kdl_kernel_key *key, const kdl_device_limits *limits,
                               unsigned reason, char *buffer, size_t size) {
  kdl_out out = {buffer, size, 0};
  if (size)
    buffer[0] = '\0';
  switch (reason) {
  case KDL_REASON_BLOCK_TOO_LARGE:
    kdl_out_format(&out, "block=%ux%ux%u is %llu work-items", key->block[0], key->block[1],
                   key->block[2], (unsigned long long)product(key->block));
    kdl_out_format(&out, "; the device has groups of at most %u (%ux%ux%u)", limits->threads,
                   limits->block[0], limits->block[1], limits->block[2]);
    break;
  case KDL_REASON_SHARED_TOO_LARGE:
    kdl_out_format(&out, "shared=%llu; a group on the device has at most %llu bytes",
                   (unsigned long long)key->shared, (unsigned long long)limits->shared);
    break;
  case KDL_REASON_NO_COOPERATIVE_LAUNCH:
    kdl_out_format(&out, "coop=1; the device has no cooperative launch");
    break;
  case KDL_REASON_NO_CLUSTERS:
    kdl_out_format(&out, "cluster=%ux%ux%u; the device has clusters of at most %u groups",
                   key->cluster[0], key->cluster[1], key->cluster[2],
                   limits->cluster ? limits->cluster : 1);
    break;
  case KDL_REASON_SUBGROUP_SIZE:
    kdl_out_format(&out, "subgroup=%u; the device has no subgroups of that size", key->subgroup);
    break;
  case KDL_REASON_TOO_LITTLE_MEMORY:
    kdl_out_format(&out, "min_memory=%llu; the device has %llu bytes",
                   (unsigned long long)key->min_memory, (unsigned long long)limits->memory);
    break;
  default:
    break;
  }
  return out.used;
}
