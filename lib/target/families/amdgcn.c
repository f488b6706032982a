/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * AMD. Code for one processor runs on that processor; code for a generic processor on its members;
 * amdgcnspirv wherever the driver can compile it. A feature that the target ID turns on or off must
 * be set that way on the device; one it does not name may be either way. Sources: docs/targets.md,
 * section AMD.
 */
#include "lib/inspect/gpu_targets.h"

#include "lib/target/requirements.h"
#include "support/base/triple.h"

#define T(id) ((uint64_t)1 << KDL_GPU_##id)
#define GFX6                                                                                       \
  (T(FP64) | T(INT64) | T(INT64_ATOMICS) | T(SUBGROUPS) | T(SUBGROUP_SIZE_64) | T(IMAGES))
#define GFX7 (GFX6 | T(GENERIC_POINTER))
#define GFX8 (GFX7 | T(FP16))
#define GFX9 (GFX8 | T(COOPERATIVE_LAUNCH))
#define VEGA20 (GFX9 | T(INT8_DOT))
#define CDNA1 (VEGA20 | T(MFMA_AMD) | T(BF16))
#define CDNA2 CDNA1
#define CDNA3 ((CDNA2 & ~T(IMAGES)) | T(FP8) | T(TF32))
#define CDNA4 ((CDNA2 & ~T(IMAGES)) | T(FP8) | T(FP4))
#define RDNA1 (GFX9 | T(SUBGROUP_SIZE_32))
#define RDNA1_DOT (RDNA1 | T(INT8_DOT))
#define RDNA2 RDNA1_DOT
#define RDNA3 (RDNA2 | T(WMMA_AMD) | T(BF16))
#define RDNA4 (RDNA3 | T(FP8))
#define GFX125 ((RDNA4 & ~(T(IMAGES) | T(SUBGROUP_SIZE_64))) | T(FP4) | T(CLUSTERS))
#define GFX13 (RDNA2 | T(FP8) | T(CLUSTERS))

enum { none = KDL_AMDGCN_NO_GENERIC };
enum { g9, g9_4, g10_1, g10_3, g11, g11_7, g12, g12_5, g13 };

/* AMDGPUUsage, "Processors"; LLVM, ELF.h and AMDGPUTargetParser. Sorted by version, which the
 * search needs. LLVM 20 removed gfx940 and gfx941; their code objects still exist. */
static const kdl_amdgcn_processor processors[] = {
    /* name, version, MACH, xnack, sramecc, line, generation, generic, its version, tokens */
    {"gfx600", 0x600, 0x20, false, false, "gcn", 0, none, 0, GFX6},
    {"gfx601", 0x601, 0x21, false, false, "gcn", 0, none, 0, GFX6},
    {"gfx602", 0x602, 0x3a, false, false, "gcn", 0, none, 0, GFX6},
    {"gfx700", 0x700, 0x22, false, false, "gcn", 0, none, 0, GFX7},
    {"gfx701", 0x701, 0x23, false, false, "gcn", 0, none, 0, GFX7},
    {"gfx702", 0x702, 0x24, false, false, "gcn", 0, none, 0, GFX7},
    {"gfx703", 0x703, 0x25, false, false, "gcn", 0, none, 0, GFX7},
    {"gfx704", 0x704, 0x26, false, false, "gcn", 0, none, 0, GFX7},
    {"gfx705", 0x705, 0x3b, false, false, "gcn", 0, none, 0, GFX7},
    {"gfx801", 0x801, 0x28, true, false, "gcn", 0, none, 0, GFX8},
    {"gfx802", 0x802, 0x29, false, false, "gcn", 0, none, 0, GFX8},
    {"gfx803", 0x803, 0x2a, false, false, "gcn", 0, none, 0, GFX8},
    {"gfx805", 0x805, 0x3c, false, false, "gcn", 0, none, 0, GFX8},
    {"gfx810", 0x810, 0x2b, true, false, "gcn", 0, none, 0, GFX8},
    {"gfx900", 0x900, 0x2c, true, false, "gcn", 0, g9, 1, GFX9},
    {"gfx902", 0x902, 0x2d, true, false, "gcn", 0, g9, 1, GFX9},
    {"gfx904", 0x904, 0x2e, true, false, "gcn", 0, g9, 1, GFX9},
    {"gfx906", 0x906, 0x2f, true, true, "gcn", 0, g9, 1, VEGA20},
    {"gfx908", 0x908, 0x30, true, true, "cdna", 1, none, 0, CDNA1},
    {"gfx909", 0x909, 0x31, true, false, "gcn", 0, g9, 1, GFX9},
    {"gfx90a", 0x90a, 0x3f, true, true, "cdna", 2, none, 0, CDNA2},
    {"gfx90c", 0x90c, 0x32, true, false, "gcn", 0, g9, 1, GFX9},
    {"gfx940", 0x940, 0x40, true, true, "cdna", 3, g9_4, 1, CDNA3},
    {"gfx941", 0x941, 0x4b, true, true, "cdna", 3, g9_4, 1, CDNA3},
    {"gfx942", 0x942, 0x4c, true, true, "cdna", 3, g9_4, 1, CDNA3},
    {"gfx950", 0x950, 0x4f, true, true, "cdna", 4, g9_4, 1, CDNA4},
    {"gfx1010", 0xa10, 0x33, true, false, "rdna", 1, g10_1, 1, RDNA1},
    {"gfx1011", 0xa11, 0x34, true, false, "rdna", 1, g10_1, 1, RDNA1_DOT},
    {"gfx1012", 0xa12, 0x35, true, false, "rdna", 1, g10_1, 1, RDNA1_DOT},
    {"gfx1013", 0xa13, 0x42, true, false, "rdna", 1, g10_1, 1, RDNA1},
    {"gfx1030", 0xa30, 0x36, false, false, "rdna", 2, g10_3, 1, RDNA2},
    {"gfx1031", 0xa31, 0x37, false, false, "rdna", 2, g10_3, 1, RDNA2},
    {"gfx1032", 0xa32, 0x38, false, false, "rdna", 2, g10_3, 1, RDNA2},
    {"gfx1033", 0xa33, 0x39, false, false, "rdna", 2, g10_3, 1, RDNA2},
    {"gfx1034", 0xa34, 0x3e, false, false, "rdna", 2, g10_3, 1, RDNA2},
    {"gfx1035", 0xa35, 0x3d, false, false, "rdna", 2, g10_3, 1, RDNA2},
    {"gfx1036", 0xa36, 0x45, false, false, "rdna", 2, g10_3, 1, RDNA2},
    {"gfx1100", 0xb00, 0x41, false, false, "rdna", 3, g11, 1, RDNA3},
    {"gfx1101", 0xb01, 0x46, false, false, "rdna", 3, g11, 1, RDNA3},
    {"gfx1102", 0xb02, 0x47, false, false, "rdna", 3, g11, 1, RDNA3},
    {"gfx1103", 0xb03, 0x44, false, false, "rdna", 3, g11, 1, RDNA3},
    {"gfx1150", 0xb50, 0x43, false, false, "rdna", 3, g11, 1, RDNA3},
    {"gfx1151", 0xb51, 0x4a, false, false, "rdna", 3, g11, 1, RDNA3},
    {"gfx1152", 0xb52, 0x55, false, false, "rdna", 3, g11, 1, RDNA3},
    {"gfx1153", 0xb53, 0x58, false, false, "rdna", 3, g11, 1, RDNA3},
    {"gfx1154", 0xb54, 0x57, false, false, "rdna", 3, g11, 1, RDNA3},
    {"gfx1170", 0xb70, 0x5d, false, false, "rdna", 4, g11_7, 1, RDNA4},
    {"gfx1171", 0xb71, 0x5e, false, false, "rdna", 4, g11_7, 1, RDNA4},
    {"gfx1172", 0xb72, 0x5c, false, false, "rdna", 4, g11_7, 1, RDNA4},
    {"gfx1200", 0xc00, 0x48, false, false, "rdna", 4, g12, 1, RDNA4},
    {"gfx1201", 0xc01, 0x4e, false, false, "rdna", 4, g12, 1, RDNA4},
    {"gfx1250", 0xc50, 0x49, false, false, "", 0, g12_5, 1, GFX125},
    {"gfx1251", 0xc51, 0x5a, false, false, "", 0, g12_5, 1, GFX125},
    {"gfx1310", 0xd10, 0x50, false, false, "", 0, g13, 1, GFX13},
};

/* A processor's `generic` is an index into this table. */
static const kdl_amdgcn_processor generics[] = {
    [g9] = {"gfx9-generic", 0, 0x51, true, false, "gcn", 0, g9, 1, 0},
    [g9_4] = {"gfx9-4-generic", 0, 0x5f, true, true, "cdna", 0, g9_4, 1, 0},
    [g10_1] = {"gfx10-1-generic", 0, 0x52, true, false, "rdna", 0, g10_1, 1, 0},
    [g10_3] = {"gfx10-3-generic", 0, 0x53, false, false, "rdna", 0, g10_3, 1, 0},
    [g11] = {"gfx11-generic", 0, 0x54, false, false, "rdna", 0, g11, 1, 0},
    [g11_7] = {"gfx11-7-generic", 0, 0x62, false, false, "rdna", 0, g11_7, 1, 0},
    [g12] = {"gfx12-generic", 0, 0x59, false, false, "rdna", 0, g12, 1, 0},
    [g12_5] = {"gfx12-5-generic", 0, 0x5b, false, false, "", 0, g12_5, 1, 0},
    [g13] = {"gfx13-generic", 0, 0x63, false, false, "", 0, g13, 1, 0},
};

enum {
  processor_count = sizeof processors / sizeof *processors,
  generic_count = sizeof generics / sizeof *generics,
};

/* ------------------------------------------------------------------------------------------ */
/* Names                                                                                        */

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* gfx90a is 9, 0, 10: the last two characters are hexadecimal digits, those before are decimal. */
static uint16_t gfx_version(kdl_string name) {
  if (!kdl_text_starts(name, "gfx") || name.length < 6 || name.length > 7)
    return 0;
  uint32_t major;
  size_t at = 3;
  kdl_string digits = {name.data, name.length - 2};
  if (name.data[at] == '0' || !kdl_text_parse_number(digits, &at, &major) || at != digits.length)
    return 0;
  int minor = hex_digit(name.data[at]);
  int stepping = hex_digit(name.data[at + 1]);
  return minor < 0 || stepping < 0 ? 0 : (uint16_t)(major << 8 | (unsigned)(minor * 16 + stepping));
}

const kdl_amdgcn_processor *kdl_amdgcn_find(kdl_string name) {
  uint16_t version = gfx_version(name);
  size_t low = 0;
  size_t high = version ? processor_count : 0;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (processors[middle].version == version)
      return &processors[middle];
    if (processors[middle].version < version)
      low = middle + 1;
    else
      high = middle;
  }
  for (size_t i = 0; i < generic_count && !version; ++i) {
    if (kdl_text_is(name, generics[i].name))
      return &generics[i];
  }
  return NULL;
}

const kdl_amdgcn_processor *kdl_amdgcn_at(size_t index) {
  if (index < processor_count)
    return &processors[index];
  index -= processor_count;
  return index < generic_count ? &generics[index] : NULL;
}

const kdl_amdgcn_processor *kdl_amdgcn_generic(uint8_t generic) {
  return generic < generic_count ? &generics[generic] : NULL;
}

bool kdl_amdgcn_parse(kdl_string text, kdl_amdgcn_id *out_id, kdl_parse_error *out_error) {
  static const char hsa[] = "-amd-amdhsa--";
  static const char feature_grammar[] =
      "sramecc+, sramecc-, xnack+ or xnack-, each at most once and "
      "only where the processor has it";
  size_t at = kdl_triple_is_amd(text) ? kdl_text_find(text, 0, "-") : 0;
  at = kdl_text_starts(kdl_text_substr(text, at), hsa) ? at + sizeof hsa - 1 : 0;
  size_t end = kdl_text_find(text, at, ":");
  kdl_amdgcn_id id = {0};
  id.processor = kdl_amdgcn_find((kdl_string){text.data + at, end - at});
  if (!id.processor)
    return kdl_parse_fail(out_error, at, "a processor (gfx90a, gfx11-generic) and its features");
  while (end < text.length) {
    at = end + 1;
    end = kdl_text_find(text, at, ":");
    kdl_string feature = {text.data + at, end - at};
    char sign = feature.length ? feature.data[feature.length - 1] : 0;
    kdl_string name = {feature.data, feature.length ? feature.length - 1 : 0};
    bool xnack = kdl_text_is(name, "xnack");
    kdl_amdgcn_setting *setting = xnack ? &id.xnack : &id.sramecc;
    bool supported =
        xnack ? id.processor->has_xnack : kdl_text_is(name, "sramecc") && id.processor->has_sramecc;
    if (!supported || *setting != KDL_AMDGCN_ANY || (sign != '+' && sign != '-'))
      return kdl_parse_fail(out_error, at, feature_grammar);
    *setting = sign == '+' ? KDL_AMDGCN_ON : KDL_AMDGCN_OFF;
  }
  *out_id = id;
  return true;
}

void kdl_out_amdgcn(kdl_out *out, const kdl_amdgcn_id *id) {
  kdl_out_format(out, "%s", id->processor->name);
  if (id->sramecc != KDL_AMDGCN_ANY)
    kdl_out_format(out, ":sramecc%c", id->sramecc == KDL_AMDGCN_ON ? '+' : '-');
  if (id->xnack != KDL_AMDGCN_ANY)
    kdl_out_format(out, ":xnack%c", id->xnack == KDL_AMDGCN_ON ? '+' : '-');
}

/* ------------------------------------------------------------------------------------------ */
/* Architectures: the line, then the version, so that a minimum within a line is a range         */

static uint32_t line_number(const kdl_amdgcn_processor *processor) {
  return processor->line[0] == 'g' ? 0 : processor->line[0] == 'c' ? 1 : processor->line[0] ? 2 : 3;
}

uint32_t kdl_amdgcn_arch(const kdl_amdgcn_processor *processor) {
  return KDL_ARCH(KDL_FAMILY_AMDGCN, line_number(processor) << 20 | processor->version);
}

bool kdl_amdgcn_parse_min(kdl_string text, const kdl_amdgcn_processor **out_processor,
                          kdl_parse_error *out_error) {
  size_t end = kdl_text_find(text, 0, ":");
  const kdl_amdgcn_processor *processor = kdl_amdgcn_find((kdl_string){text.data, end});
  if (!processor || kdl_amdgcn_is_generic(processor) || !processor->line[0])
    return kdl_parse_fail(out_error, 0,
                          "a processor of the families gcn, cdna or rdna, as in gfx90a:cdna2");
  if (end < text.length) {
    char tag[8];
    kdl_out out = {tag, sizeof tag, 0};
    kdl_out_format(&out, "%s", processor->line);
    if (processor->generation)
      kdl_out_format(&out, "%u", processor->generation);
    if (!kdl_text_equal(kdl_text_substr(text, end + 1), (kdl_string){tag, out.used}))
      return kdl_parse_fail(out_error, end + 1,
                            "the processor's own family: gcn, cdna1 to cdna4 or rdna1 to rdna4");
  }
  *out_processor = processor;
  return true;
}

void kdl_amdgcn_min_range(const kdl_amdgcn_processor *processor, uint32_t *out_lo,
                          uint32_t *out_hi) {
  *out_lo = kdl_amdgcn_arch(processor);
  *out_hi = KDL_ARCH(KDL_FAMILY_AMDGCN, line_number(processor) << 20 | 0xfffff);
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

/* Returns the number of settings in the target ID: the more, the closer the fit. */
static unsigned add_settings(const kdl_amdgcn_id *id, kdl_image_rule *rule) {
  unsigned named = 0;
  if (id->xnack != KDL_AMDGCN_ANY) {
    bool on = id->xnack == KDL_AMDGCN_ON;
    kdl_feature_add(&rule->needs, on ? KDL_NEED_XNACK_ON : KDL_NEED_XNACK_OFF);
    ++named;
  }
  if (id->sramecc != KDL_AMDGCN_ANY) {
    bool on = id->sramecc == KDL_AMDGCN_ON;
    kdl_feature_add(&rule->needs, on ? KDL_NEED_SRAMECC_ON : KDL_NEED_SRAMECC_OFF);
    ++named;
  }
  return named;
}

static void whole_family(kdl_image_rule *rule) {
  kdl_rule_arch(rule, KDL_ARCH(KDL_FAMILY_AMDGCN, 0), KDL_ARCH(KDL_FAMILY_AMDGCN, KDL_ARCH_DETAIL));
}

static void compile_generic(const kdl_image_desc *desc, const kdl_amdgcn_id *id,
                            kdl_image_rule *rule) {
  whole_family(rule);
  kdl_feature_add(&rule->needs, KDL_NEED_GENERIC + (unsigned)id->processor->generic);
  kdl_feature_add(&rule->needs, KDL_NEED_GENERIC_LOADER);
  unsigned version = desc->generic_version ? desc->generic_version : 1;
  kdl_feature_add(&rule->needs, KDL_NEED_GENERIC_VERSION + (version < 8 ? version : 8) - 1);
  if (desc->version_major && desc->version_major < 6)
    kdl_rule_fault(rule, KDL_REASON(CODE_OBJECT_VERSION));
}

static void compile_spirv(kdl_image_rule *rule) {
  rule->form = KDL_FORM_AMDGCNSPIRV;
  whole_family(rule);
  kdl_feature_add(&rule->needs, KDL_NEED_SPIRV_COMPILER);
  kdl_rule_rank(rule, KDL_TIER_DRIVER_IR, 0);
}

void kdl_amdgcn_image(const kdl_image_desc *desc, kdl_image_rule *rule) {
  if (rule->kind == KDL_IMAGE_SPIRV || kdl_text_is(desc->arch, "amdgcnspirv")) {
    if (rule->kind == KDL_IMAGE_UNKNOWN || rule->kind == KDL_IMAGE_OBJECT)
      rule->kind = KDL_IMAGE_SPIRV;
    compile_spirv(rule);
    return;
  }
  kdl_amdgcn_id id;
  if (!kdl_amdgcn_parse(desc->arch, &id, NULL)) {
    kdl_rule_fault(rule, KDL_REASON(UNKNOWN_ARCH));
    return;
  }
  if (!kdl_rule_kind(rule, KDL_IMAGE_HSACO, true))
    return;
  bool generic = kdl_amdgcn_is_generic(id.processor);
  unsigned named = add_settings(&id, rule);
  if (generic)
    compile_generic(desc, &id, rule);
  else
    kdl_rule_arch(rule, kdl_amdgcn_arch(id.processor), kdl_amdgcn_arch(id.processor));
  if (rule->kind == KDL_IMAGE_BITCODE) {
    rule->form = KDL_FORM_BITCODE;
    kdl_rule_rank(rule, KDL_TIER_BITCODE, (generic ? 0 : 4) + named);
  } else {
    rule->form = generic ? KDL_FORM_GENERIC : KDL_FORM_HSACO;
    kdl_rule_rank(rule, generic ? KDL_TIER_GENERIC : KDL_TIER_NATIVE, named);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

bool kdl_amdgcn_device(const kdl_device_desc *desc, kdl_device_rule *rule, kdl_feature_set *has,
                       kdl_parse_error *out_error) {
  kdl_amdgcn_id id;
  if (!kdl_amdgcn_parse(desc->arch, &id, out_error))
    return false;
  const kdl_amdgcn_processor *processor = id.processor;
  if (kdl_amdgcn_is_generic(processor))
    return kdl_parse_fail(out_error, 0, "a device's own processor, not a generic one");
  rule->arch = kdl_amdgcn_arch(processor);
  has->word[0] |= processor->tokens;
  /* A device always has a definite setting. The default is that of drivers: xnack off, sramecc
   * on. */
  if (processor->has_xnack)
    kdl_feature_add(has, id.xnack == KDL_AMDGCN_ON ? KDL_NEED_XNACK_ON : KDL_NEED_XNACK_OFF);
  if (processor->has_sramecc)
    kdl_feature_add(has, id.sramecc == KDL_AMDGCN_OFF ? KDL_NEED_SRAMECC_OFF : KDL_NEED_SRAMECC_ON);
  if (processor->generic != KDL_AMDGCN_NO_GENERIC) {
    kdl_feature_add(has, KDL_NEED_GENERIC + (unsigned)processor->generic);
    for (unsigned version = processor->generic_version; version <= 8; ++version)
      kdl_feature_add(has, KDL_NEED_GENERIC_VERSION + version - 1);
  }
  /* Both came with ROCm 6.4. */
  if (desc->driver == 0 || desc->driver >= KDL_VERSION_OF(6, 4)) {
    kdl_feature_add(has, KDL_NEED_GENERIC_LOADER);
    kdl_feature_add(has, KDL_NEED_SPIRV_COMPILER);
  }
  kdl_feature_add(has, KDL_NEED_KIND + KDL_IMAGE_HSACO);
  kdl_feature_add(has, KDL_NEED_KIND + KDL_IMAGE_SPIRV);
  return true;
}
