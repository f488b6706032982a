/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Intel GPUs. Native code is for one IP version and runs on that one; SPIR-V runs on all. ocloc can
 * build one binary for several products; the guarantees of such a binary are not documented, so
 * none are assumed. Sources: docs/targets.md, section Intel.
 */
#include "lib/target/families/gpu.h"

#include "lib/target/requirements.h"

/* compute-runtime, device acronyms of ocloc. A row's first name is the one that is printed. */
static const struct {
  const char *name;
  kdl_intel_ip ip;
} acronyms[] = {
    {"tgllp", {12, 0, 0}},      {"tgl", {12, 0, 0}},        {"rkl", {12, 1, 0}},
    {"adl-s", {12, 2, 0}},      {"rpl-s", {12, 2, 0}},      {"adl-p", {12, 3, 0}},
    {"rpl-p", {12, 3, 0}},      {"adl-n", {12, 4, 0}},      {"dg1", {12, 10, 0}},
    {"dg2-g10", {12, 55, 8}},   {"acm-g10", {12, 55, 8}},   {"ats-m150", {12, 55, 8}},
    {"dg2", {12, 55, 8}},       {"dg2-g11", {12, 56, 5}},   {"acm-g11", {12, 56, 5}},
    {"ats-m75", {12, 56, 5}},   {"dg2-g12", {12, 57, 0}},   {"acm-g12", {12, 57, 0}},
    {"pvc-xl-a0", {12, 60, 0}}, {"pvc-sdv", {12, 60, 1}},   {"pvc-xt-a0", {12, 60, 3}},
    {"pvc-xt-b0", {12, 60, 5}}, {"pvc-xt-b1", {12, 60, 6}}, {"pvc", {12, 60, 7}},
    {"pvc-xt-c0", {12, 60, 7}}, {"pvc-vg", {12, 61, 7}},    {"mtl-u", {12, 70, 4}},
    {"mtl-s", {12, 70, 4}},     {"mtl-m", {12, 70, 4}},     {"arl-u", {12, 70, 4}},
    {"arl-s", {12, 70, 4}},     {"mtl", {12, 70, 4}},       {"mtl-h", {12, 71, 4}},
    {"mtl-p", {12, 71, 4}},     {"arl-h", {12, 74, 4}},     {"bmg-g21", {20, 1, 0}},
    {"bmg", {20, 1, 0}},        {"bmg-g31", {20, 2, 0}},    {"lnl-m", {20, 4, 4}},
    {"ptl-h", {30, 0, 4}},      {"ptl", {30, 0, 4}},        {"ptl-u", {30, 1, 0}},
    {"wcl", {30, 3, 1}},        {"nvl-s", {30, 4, 4}},      {"nvl-hx", {30, 4, 4}},
    {"nvl-ul", {30, 4, 4}},     {"nvl-u", {30, 5, 4}},      {"nvl-h", {30, 5, 4}},
    {"cri", {35, 11, 0}},
};

/* The tokens of ranges of releases. Drivers must report other tokens. */
#define RELEASE(architecture, release) ((uint32_t)(architecture) << 8 | (release))
#define LAST UINT16_MAX

static const struct {
  uint8_t feature;
  uint16_t from, to;
} tokens[] = {
    {KDL_GPU_FP16, RELEASE(12, 0), LAST},
    {KDL_GPU_INT64, RELEASE(12, 0), LAST},
    {KDL_GPU_INT64_ATOMICS, RELEASE(12, 0), LAST},
    {KDL_GPU_INT8_DOT, RELEASE(12, 0), LAST},
    {KDL_GPU_SUBGROUPS, RELEASE(12, 0), LAST},
    {KDL_GPU_GENERIC_POINTER, RELEASE(12, 0), LAST},
    {KDL_GPU_SUBGROUP_SIZE_8, RELEASE(12, 0), RELEASE(12, 57)},
    {KDL_GPU_SUBGROUP_SIZE_8, RELEASE(12, 70), RELEASE(12, 74)},
    {KDL_GPU_SUBGROUP_SIZE_16, RELEASE(12, 0), LAST},
    {KDL_GPU_SUBGROUP_SIZE_32, RELEASE(12, 0), LAST},
    {KDL_GPU_XMX_INTEL, RELEASE(12, 55), RELEASE(12, 61)},
    {KDL_GPU_XMX_INTEL, RELEASE(12, 74), LAST},
    {KDL_GPU_BF16, RELEASE(12, 55), RELEASE(12, 61)},
    {KDL_GPU_BF16, RELEASE(12, 74), LAST},
    {KDL_GPU_FP64, RELEASE(12, 60), RELEASE(12, 61)},
    {KDL_GPU_FP64, RELEASE(20, 0), LAST},
    {KDL_GPU_TF32, RELEASE(12, 60), RELEASE(12, 61)},
    {KDL_GPU_IMAGES, RELEASE(12, 0), RELEASE(12, 57)},
    {KDL_GPU_IMAGES, RELEASE(12, 70), RELEASE(12, 74)},
    {KDL_GPU_IMAGES, RELEASE(20, 0), RELEASE(30, 5)},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

uint32_t kdl_intel_number(kdl_intel_ip ip) {
  return (uint32_t)ip.architecture << 22 | (uint32_t)ip.release << 14 | ip.revision;
}

static bool same_ip(kdl_intel_ip a, kdl_intel_ip b) {
  return kdl_intel_number(a) == kdl_intel_number(b);
}

const char *kdl_intel_acronym(kdl_intel_ip ip) {
  for (size_t i = 0; i < COUNT(acronyms); ++i) {
    if (same_ip(acronyms[i].ip, ip))
      return acronyms[i].name;
  }
  return NULL;
}

const char *kdl_intel_acronym_at(size_t index) {
  for (size_t i = 0; i < COUNT(acronyms); ++i) {
    bool is_first = kdl_intel_acronym(acronyms[i].ip) == acronyms[i].name;
    if (is_first && index-- == 0)
      return acronyms[i].name;
  }
  return NULL;
}

/* SYCL spells pvc intel_gpu_pvc, dg2-g10 intel_gpu_dg2_g10, and 12.60.7 intel_gpu_12_60_7. */
static bool same_acronym(const char *acronym, kdl_string text) {
  if (strlen(acronym) != text.length)
    return false;
  for (size_t i = 0; i < text.length; ++i) {
    if (acronym[i] != (text.data[i] == '_' ? '-' : text.data[i]))
      return false;
  }
  return true;
}

static bool parse_ip_number(kdl_string text, kdl_intel_ip *out_ip) {
  uint32_t number = 0;
  if (text.length < 3 || text.length > 10)
    return false;
  for (size_t i = 2; i < text.length; ++i) {
    char c = text.data[i];
    uint32_t digit = kdl_is_digit(c)        ? (uint32_t)(c - '0')
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                            : 16;
    if (digit > 15)
      return false;
    number = number << 4 | digit;
  }
  *out_ip =
      (kdl_intel_ip){(uint8_t)(number >> 22), (uint8_t)(number >> 14), (uint8_t)(number & 63)};
  return kdl_intel_number(*out_ip) == number;
}

bool kdl_intel_parse(kdl_string text, kdl_intel_ip *out_ip, kdl_parse_error *out_error) {
  static const char grammar[] = "an IP version (12.60.7) or a product (pvc, dg2-g10, bmg-g21)";
  size_t at = kdl_text_starts(text, "intel_gpu_") ? 10 : kdl_text_starts(text, "ip=") ? 3 : 0;
  kdl_string name = kdl_text_substr(text, at);
  for (size_t i = 0; i < COUNT(acronyms); ++i) {
    if (same_acronym(acronyms[i].name, name)) {
      *out_ip = acronyms[i].ip;
      return true;
    }
  }
  if (kdl_text_starts(name, "0x"))
    return parse_ip_number(name, out_ip) || kdl_parse_fail(out_error, at, grammar);
  static const uint32_t limits[3] = {UINT8_MAX, UINT8_MAX, 63};
  uint32_t part[3];
  for (int i = 0; i < 3; ++i) {
    if (i && (at == text.length || !strchr("._", text.data[at])))
      return kdl_parse_fail(out_error, at, grammar);
    at += i > 0;
    size_t start = at;
    if (!kdl_text_parse_number(text, &at, &part[i]) || part[i] > limits[i])
      return kdl_parse_fail(out_error, start, grammar);
  }
  if (at != text.length)
    return kdl_parse_fail(out_error, at, grammar);
  *out_ip = (kdl_intel_ip){(uint8_t)part[0], (uint8_t)part[1], (uint8_t)part[2]};
  return true;
}

bool kdl_out_intel(kdl_out *out, kdl_string arch) {
  kdl_intel_ip ip;
  if (!kdl_intel_parse(arch, &ip, NULL))
    return false;
  const char *acronym = kdl_intel_acronym(ip);
  kdl_out_format(out, "%u.%u.%u", ip.architecture, ip.release, ip.revision);
  if (acronym)
    kdl_out_format(out, " (%s)", acronym);
  return true;
}

static uint32_t ip_arch(kdl_intel_ip ip) {
  return KDL_ARCH(KDL_FAMILY_INTEL,
                  (uint32_t)ip.architecture << 14 | (uint32_t)ip.release << 6 | ip.revision);
}

void kdl_intel_image(const kdl_image_desc *desc, kdl_image_rule *rule) {
  kdl_intel_ip ip;
  if (!kdl_intel_parse(desc->arch, &ip, NULL)) {
    kdl_rule_fault(rule, KDL_REASON(UNKNOWN_ARCH));
    return;
  }
  if (!kdl_rule_kind(rule, KDL_IMAGE_ZEBIN, false))
    return;
  rule->form = KDL_FORM_ZEBIN;
  kdl_rule_arch(rule, ip_arch(ip), ip_arch(ip));
  kdl_rule_rank_kind(rule, 0);
}

bool kdl_intel_device(const kdl_device_desc *desc, kdl_device_rule *rule, kdl_feature_set *has,
                      kdl_parse_error *out_error) {
  kdl_intel_ip ip;
  if (!kdl_intel_parse(desc->arch, &ip, out_error))
    return false;
  rule->arch = ip_arch(ip);
  uint32_t release = RELEASE(ip.architecture, ip.release);
  for (size_t i = 0; i < COUNT(tokens); ++i) {
    if (release >= tokens[i].from && release <= tokens[i].to)
      kdl_feature_add(has, tokens[i].feature);
  }
  /* Level Zero always takes SPIR-V; how new, only the driver knows. */
  uint32_t newest = desc->spirv ? desc->spirv & 0xffff : 15;
  for (uint32_t minor = 0; minor <= newest && minor <= 15; ++minor)
    kdl_feature_add(has, KDL_NEED_SPIRV + minor);
  kdl_feature_add(has, KDL_NEED_ADDRESS_64);
  return true;
}
