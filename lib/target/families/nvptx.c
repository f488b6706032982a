/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * NVIDIA. A cubin runs on its own compute capability and on later minors of the same major; with
 * the suffix 'a' on its own only, with 'f' in its family. PTX runs on everything later, if the
 * driver knows its version. Sources: docs/targets.md, section NVIDIA.
 */
#include "lib/target/families/gpu.h"

#include "lib/target/requirements.h"

/* Compute capability as a number that orders: 9.0 is 0x0900. */
#define CC(major, minor) ((uint32_t)(major) << 8 | (uint32_t)(minor))
#define PTX(major, minor) KDL_VERSION_OF(major, minor)

/* A version as lib/inspect/nvptx.def has it: 78 is 7.8. */
#define VERSION(number) KDL_VERSION_OF((number) / 10u, (number) % 10u)

/* Of a multiprocessor's KiB all that a group may ask for (CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"): less 1 KiB from 8.0 on; before 7.0, 48 KiB. */
#define GROUP(sm, kib) ((sm) < 70 || !(kib) ? 48 : (kib) - ((sm) >= 80 && (kib) > 0))

const kdl_nvptx_processor kdl_nvptx_processors[KDL_NVPTX_COUNT] = {
#define KDL_NVPTX(sm, plain, a, f, tile_ir, part, warps, groups, kib, partitions, offered)         \
  {sm, kib, plain, a, f, tile_ir, KDL_NVPTX_##part, warps, groups, partitions, GROUP(sm, kib)},
#include "lib/inspect/nvptx.def"
};

/* By number, the index in that table plus 1; 0 where there is no row. */
enum {
#define KDL_NVPTX(number, ...) index_##number,
#include "lib/inspect/nvptx.def"
};
static const uint8_t index_after[] = {
#define KDL_NVPTX(number, ...) [number] = index_##number + 1,
#include "lib/inspect/nvptx.def"
};

static const struct {
  uint16_t old_number, new_number;
  uint8_t ptx, ptx_a, ptx_f;
} renamed[] = {
#define KDL_NVPTX_RENAMED(old_number, new_number, plain, a, f)                                     \
  {old_number, new_number, plain, a, f},
#include "lib/inspect/nvptx.def"
};

static const struct {
  uint16_t capability;
  uint32_t since; /* the version of CUDA */
} takes_desktop[] = {
#define KDL_NVPTX_TAKES_DESKTOP(number, since) {CC((number) / 10, (number) % 10), VERSION(since)},
#include "lib/inspect/nvptx.def"
};

/* The PTX ISA version a CUDA release introduced (PTX ISA, "Release Notes"). */
static const struct {
  uint32_t cuda, ptx;
} releases[] = {
    {KDL_VERSION_OF(9, 0), PTX(6, 0)},  {KDL_VERSION_OF(9, 1), PTX(6, 1)},
    {KDL_VERSION_OF(9, 2), PTX(6, 2)},  {KDL_VERSION_OF(10, 0), PTX(6, 3)},
    {KDL_VERSION_OF(10, 1), PTX(6, 4)}, {KDL_VERSION_OF(10, 2), PTX(6, 5)},
    {KDL_VERSION_OF(11, 0), PTX(7, 0)}, {KDL_VERSION_OF(11, 1), PTX(7, 1)},
    {KDL_VERSION_OF(11, 2), PTX(7, 2)}, {KDL_VERSION_OF(11, 3), PTX(7, 3)},
    {KDL_VERSION_OF(11, 4), PTX(7, 4)}, {KDL_VERSION_OF(11, 5), PTX(7, 5)},
    {KDL_VERSION_OF(11, 6), PTX(7, 6)}, {KDL_VERSION_OF(11, 7), PTX(7, 7)},
    {KDL_VERSION_OF(11, 8), PTX(7, 8)}, {KDL_VERSION_OF(12, 0), PTX(8, 0)},
    {KDL_VERSION_OF(12, 1), PTX(8, 1)}, {KDL_VERSION_OF(12, 2), PTX(8, 2)},
    {KDL_VERSION_OF(12, 3), PTX(8, 3)}, {KDL_VERSION_OF(12, 4), PTX(8, 4)},
    {KDL_VERSION_OF(12, 5), PTX(8, 5)}, {KDL_VERSION_OF(12, 7), PTX(8, 6)},
    {KDL_VERSION_OF(12, 8), PTX(8, 7)}, {KDL_VERSION_OF(12, 9), PTX(8, 8)},
    {KDL_VERSION_OF(13, 0), PTX(9, 0)}, {KDL_VERSION_OF(13, 1), PTX(9, 1)},
    {KDL_VERSION_OF(13, 2), PTX(9, 2)}, {KDL_VERSION_OF(13, 3), PTX(9, 3)},
    {KDL_VERSION_OF(13, 4), PTX(9, 4)},
};

/* The tokens of ranges of compute capabilities (CUDA C++ Programming Guide, "Compute Capabilities";
 * PTX ISA, "Target ISA Notes" of the instructions named in gpu_features.def). */
static const struct {
  uint8_t feature;
  uint16_t from, to;
} tokens[] = {
    {KDL_GPU_FP64, CC(1, 3), UINT16_MAX},
    {KDL_GPU_INT64, CC(1, 0), UINT16_MAX},
    {KDL_GPU_SUBGROUPS, CC(2, 0), UINT16_MAX},
    {KDL_GPU_SUBGROUP_SIZE_32, CC(1, 0), UINT16_MAX},
    {KDL_GPU_GENERIC_POINTER, CC(2, 0), UINT16_MAX},
    {KDL_GPU_IMAGES, CC(2, 0), UINT16_MAX},
    {KDL_GPU_INT64_ATOMICS, CC(3, 5), UINT16_MAX},
    {KDL_GPU_FP16, CC(5, 3), UINT16_MAX},
    {KDL_GPU_COOPERATIVE_LAUNCH, CC(6, 0), UINT16_MAX},
    {KDL_GPU_INT8_DOT, CC(6, 1), UINT16_MAX},
    {KDL_GPU_TENSOR_CORE_NV, CC(7, 0), UINT16_MAX},
    {KDL_GPU_BF16, CC(8, 0), UINT16_MAX},
    {KDL_GPU_TF32, CC(8, 0), UINT16_MAX},
    {KDL_GPU_ASYNC_COPY_NV, CC(8, 0), UINT16_MAX},
    {KDL_GPU_FP8, CC(8, 9), UINT16_MAX},
    {KDL_GPU_CLUSTERS, CC(9, 0), UINT16_MAX},
    {KDL_GPU_TMA_NV, CC(9, 0), UINT16_MAX},
    {KDL_GPU_WGMMA_NV, CC(9, 0), CC(9, 0)},
    {KDL_GPU_TCGEN05_NV, CC(10, 0), CC(11, 255)},
    {KDL_GPU_FP4, CC(10, 0), UINT16_MAX},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const kdl_nvptx_processor *find_number(uint32_t number) {
  return number < COUNT(index_after) && index_after[number]
             ? &kdl_nvptx_processors[index_after[number] - 1]
             : NULL;
}

const kdl_nvptx_processor *kdl_nvptx_find(uint8_t major, uint8_t minor) {
  return minor < 10 ? find_number(major * UINT32_C(10) + minor) : NULL;
}

bool kdl_nvptx_capability(uint32_t number, uint8_t *out_major, uint8_t *out_minor) {
  for (size_t i = 0; i < COUNT(renamed); ++i) {
    if (number == renamed[i].old_number)
      number = renamed[i].new_number;
  }
  if (number < 10 || number / 10 > UINT8_MAX)
    return false;
  *out_major = (uint8_t)(number / 10);
  *out_minor = (uint8_t)(number % 10);
  return true;
}

uint32_t kdl_nvptx_desktop_driver(uint32_t capability) {
  for (size_t i = 0; i < COUNT(takes_desktop); ++i) {
    if (takes_desktop[i].capability == capability)
      return takes_desktop[i].since;
  }
  return 0;
}

bool kdl_nvptx_parse(kdl_string text, kdl_nvptx_arch *out_arch, kdl_parse_error *out_error) {
  static const char grammar[] = "sm_NN or compute_NN, with 'a' or 'f' behind it if need be";
  kdl_nvptx_arch arch = {0};
  arch.is_virtual = kdl_text_starts(text, "compute_");
  if (!arch.is_virtual && !kdl_text_starts(text, "sm_"))
    return kdl_parse_fail(out_error, 0, grammar);
  size_t start = arch.is_virtual ? 8 : 3;
  size_t at = start;
  uint32_t number;
  if (at < text.length && text.data[at] == '0')
    return kdl_parse_fail(out_error, at, grammar);
  if (!kdl_text_parse_number(text, &at, &number))
    return kdl_parse_fail(out_error, at, grammar);
  if (!kdl_nvptx_capability(number, &arch.major, &arch.minor))
    return kdl_parse_fail(out_error, start, "a compute capability as two to four digits");
  /* 'a' exists from sm_90 on, 'f' from sm_100. */
  if (at < text.length &&
      ((text.data[at] == 'a' && arch.major >= 9) || (text.data[at] == 'f' && arch.major >= 10)))
    arch.suffix = text.data[at++];
  if (at != text.length)
    return kdl_parse_fail(out_error, at, grammar);
  arch.number = (uint16_t)number;
  const kdl_nvptx_processor *processor = kdl_nvptx_find(arch.major, arch.minor);
  arch.part = processor ? processor->part : KDL_NVPTX_DESKTOP;
  *out_arch = arch;
  return true;
}

static uint32_t select_ptx(char suffix, uint8_t plain, uint8_t a, uint8_t f) {
  return VERSION(suffix == 'a' ? a : suffix == 'f' ? f : plain);
}

uint32_t kdl_nvptx_first_ptx(const kdl_nvptx_arch *arch) {
  const kdl_nvptx_processor *found = find_number(arch->number);
  if (found)
    return select_ptx(arch->suffix, found->ptx, found->ptx_a, found->ptx_f);
  for (size_t i = 0; i < COUNT(renamed); ++i) {
    if (renamed[i].old_number == arch->number)
      return select_ptx(arch->suffix, renamed[i].ptx, renamed[i].ptx_a, renamed[i].ptx_f);
  }
  return 0;
}

uint32_t kdl_nvptx_ptx_of_cuda(uint32_t cuda) {
  uint32_t ptx = 0;
  for (size_t i = 0; i < COUNT(releases) && releases[i].cuda <= cuda; ++i)
    ptx = releases[i].ptx;
  return ptx;
}

uint32_t kdl_nvptx_cuda_of_ptx(uint32_t ptx) {
  for (size_t i = 0; i < COUNT(releases); ++i) {
    if (releases[i].ptx >= ptx)
      return releases[i].cuda;
  }
  return 0;
}

/* One bit per minor version from 6.0 on, one for all earlier versions, and the last for all later
 * ones. Minors that a major version does not have share the bit of its last. */
static unsigned ptx_bit(uint32_t ptx) {
  enum { first_major = 6 };
  static const uint8_t minors[] = {6, 9, 9, 10, 6}; /* of 6.x to 10.x */
  uint32_t major = ptx >> 16;
  uint32_t minor = ptx & 0xffff;
  if (major < first_major)
    return KDL_NEED_PTX;
  if (major >= first_major + COUNT(minors))
    return KDL_NEED_PTX_LAST;
  unsigned bit = KDL_NEED_PTX + 1;
  for (uint32_t i = 0; i < major - first_major; ++i)
    bit += minors[i];
  uint32_t count = minors[major - first_major];
  return bit + (minor < count ? minor : count - 1);
}

uint32_t kdl_nvptx_tile_ir_driver(uint32_t capability) {
  uint32_t number = (capability >> 8) * 10 + (capability & 0xff);
  const kdl_nvptx_processor *found = find_number(number);
  for (size_t i = KDL_NVPTX_COUNT; !found && i-- > 0;) {
    if (kdl_nvptx_processors[i].number < number)
      found = &kdl_nvptx_processors[i];
  }
  return found ? VERSION(found->tile_ir) : 0;
}

/* One bit per minor version of 13 from 13.1 on, and the last for all later versions. */
static unsigned tile_ir_bit(uint32_t version) {
  uint32_t first = KDL_VERSION_OF(13, 1);
  uint32_t index = version > first ? version - first : 0;
  uint32_t last = KDL_NEED_TILE_IR_LAST - KDL_NEED_TILE_IR;
  return KDL_NEED_TILE_IR + (index < last ? index : last);
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

/* Called for every image of every library: handles the usual "sm_NN" without parsing a number. */
bool kdl_nvptx_may_run(kdl_string arch, uint32_t device_arch) {
  size_t at = sizeof "sm_" - 1;
  if (arch.length == 5 && memcmp(arch.data, "sm_", 3) == 0 && arch.data[3] >= '1' &&
      arch.data[3] <= '9' && kdl_is_digit(arch.data[4]))
    return KDL_ARCH(KDL_FAMILY_NVPTX, CC(arch.data[3] - '0', 0)) == (device_arch & ~(uint32_t)0xff);
  uint32_t number;
  uint8_t major, minor;
  return !kdl_text_starts(arch, "sm_") || !kdl_text_parse_number(arch, &at, &number) ||
         !kdl_nvptx_capability(number, &major, &minor) ||
         KDL_ARCH(KDL_FAMILY_NVPTX, CC(major, 0)) == (device_arch & ~(uint32_t)0xff);
}

static void compile_cubin(const kdl_nvptx_arch *arch, kdl_image_rule *rule) {
  uint32_t own = KDL_ARCH(KDL_FAMILY_NVPTX, CC(arch->major, arch->minor));
  bool exact = arch->suffix == 'a' || arch->part == KDL_NVPTX_TEGRA;
  rule->form = KDL_FORM_CUBIN;
  kdl_rule_arch(rule, own, exact ? own : own | 0xff);
  if (!exact)
    kdl_feature_add(&rule->needs, KDL_NEED_DESKTOP);
  kdl_tier tier = arch->suffix == 'a'   ? KDL_TIER_ARCH_SPECIFIC
                  : arch->suffix == 'f' ? KDL_TIER_FAMILY
                                        : KDL_TIER_NATIVE;
  kdl_rule_rank(rule, tier, CC(arch->major, arch->minor));
}

static void compile_ir(const kdl_image_desc *desc, const kdl_nvptx_arch *arch,
                       kdl_image_rule *rule) {
  uint32_t own = KDL_ARCH(KDL_FAMILY_NVPTX, CC(arch->major, arch->minor));
  uint32_t last = arch->suffix == 'a'   ? own
                  : arch->suffix == 'f' ? own | 0xff
                                        : KDL_ARCH(KDL_FAMILY_NVPTX, KDL_ARCH_DETAIL);
  kdl_rule_arch(rule, own, last);
  if (rule->kind == KDL_IMAGE_PTX) {
    uint32_t version = KDL_VERSION_OF(desc->version_major, desc->version_minor);
    uint32_t first = kdl_nvptx_first_ptx(arch);
    kdl_feature_add(&rule->needs, ptx_bit(version > first ? version : first));
  }
  if (rule->kind == KDL_IMAGE_TILEIR) {
    uint32_t version = KDL_VERSION_OF(desc->version_major, desc->version_minor);
    kdl_feature_add(&rule->needs, tile_ir_bit(version));
  }
  uint64_t suffix = arch->suffix == 'a' ? 2 : arch->suffix == 'f' ? 1 : 0;
  uint64_t detail = (uint64_t)CC(arch->major, arch->minor) << 2 | suffix;
  bool is_last = kdl_image_kind_get((kdl_image_kind)rule->kind)->is_unverified;
  kdl_rule_rank_kind(rule, is_last ? 0 : detail);
}

void kdl_nvptx_image(const kdl_image_desc *desc, kdl_image_rule *rule) {
  kdl_nvptx_arch arch;
  if (!kdl_nvptx_parse(desc->arch, &arch, NULL)) {
    kdl_rule_fault(rule, KDL_REASON(UNKNOWN_ARCH));
    return;
  }
  rule->suffix = arch.suffix;
  if (rule->kind == KDL_IMAGE_UNKNOWN || rule->kind == KDL_IMAGE_OBJECT)
    rule->kind = arch.is_virtual ? KDL_IMAGE_PTX : KDL_IMAGE_CUBIN;
  switch (kdl_image_kind_get((kdl_image_kind)rule->kind)->holds) {
  case KDL_HOLDS_MACHINE_CODE:
    compile_cubin(&arch, rule);
    break;
  case KDL_HOLDS_DRIVER_CODE:
    rule->form = KDL_FORM_NVIDIA_IR;
    compile_ir(desc, &arch, rule);
    break;
  case KDL_HOLDS_LINK_INPUT: /* like bitcode, it is linked before it runs */
  case KDL_HOLDS_BITCODE:
    rule->form = KDL_FORM_BITCODE;
    compile_ir(desc, &arch, rule);
    break;
  default:
    kdl_rule_fault(rule, KDL_REASON(KIND_MISMATCH));
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

/* An unknown driver is assumed to know all versions. */
static void add_tile_ir(uint32_t capability, uint32_t driver, kdl_feature_set *has) {
  uint32_t since = kdl_nvptx_tile_ir_driver(capability);
  if (!since || (driver && driver < since))
    return;
  unsigned newest = driver ? tile_ir_bit(driver) : (unsigned)KDL_NEED_TILE_IR_LAST;
  for (unsigned bit = KDL_NEED_TILE_IR; bit <= newest; ++bit)
    kdl_feature_add(has, bit);
}

bool kdl_nvptx_device(const kdl_device_desc *desc, kdl_device_rule *rule, kdl_feature_set *has,
                      kdl_parse_error *out_error) {
  kdl_nvptx_arch arch;
  if (!kdl_nvptx_parse(desc->arch, &arch, out_error))
    return false;
  uint32_t capability = CC(arch.major, arch.minor);
  rule->arch = KDL_ARCH(KDL_FAMILY_NVPTX, capability);
  for (size_t i = 0; i < COUNT(tokens); ++i) {
    if (capability >= tokens[i].from && capability <= tokens[i].to)
      kdl_feature_add(has, tokens[i].feature);
  }
  uint32_t desktop_since = kdl_nvptx_desktop_driver(capability);
  if (arch.part != KDL_NVPTX_TEGRA || (desktop_since && desc->driver >= desktop_since))
    kdl_feature_add(has, KDL_NEED_DESKTOP);
  rule->ptx = desc->ptx ? desc->ptx : desc->driver ? kdl_nvptx_ptx_of_cuda(desc->driver) : 0;
  unsigned newest = desc->ptx || desc->driver ? ptx_bit(rule->ptx) : (unsigned)KDL_NEED_PTX_LAST;
  for (unsigned bit = KDL_NEED_PTX; bit <= newest; ++bit)
    kdl_feature_add(has, bit);
  add_tile_ir(capability, desc->driver, has);
  return true;
}
