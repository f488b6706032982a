/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * AMD. Code for one processor runs on that processor; code for a generic processor on its members;
 * amdgcnspirv wherever the driver can compile it. A feature that the target ID turns on or off must
 * be set that way on the device; one it does not name may be either way. Sources: docs/targets.md,
 * section AMD.
 */
#include "lib/target/families/gpu.h"

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

enum {
#define KDL_AMDGCN_GENERIC(id, ...) id,
#include "lib/inspect/amdgcn.def"
  none = KDL_AMDGCN_NO_GENERIC,
};

enum {
  SIMD_NONE,
#define KDL_AMDGCN_SIMD(id, ...) SIMD_##id,
#include "lib/inspect/amdgcn.def"
};

/* Of target IDs: xnack, sramecc. */
#define SETTINGS_NONE false, false
#define SETTINGS_XNACK true, false
#define SETTINGS_XNACK_SRAMECC true, true
#define SETTINGS_FLAGS_ALONE false, false

static const kdl_amdgcn_processor processors[] = {
#define KDL_AMDGCN(name, version, mach, settings, line, generation, generic, since, tokens, simd)  \
  {name, version, mach, SETTINGS_##settings, line, generation, generic, since, SIMD_##simd, tokens},
#include "lib/inspect/amdgcn.def"
};

/* A processor's `generic` is an index into this table. */
static const kdl_amdgcn_processor generics[] = {
#define KDL_AMDGCN_GENERIC(id, name, mach, settings, line)                                         \
  {name, 0, mach, SETTINGS_##settings, line, 0, id, 1, SIMD_NONE, 0},
#include "lib/inspect/amdgcn.def"
};

static const kdl_amdgcn_simd simds[] = {
    [SIMD_NONE] = {.subgroups = 0},
#define KDL_AMDGCN_SIMD(id, ...) [SIMD_##id] = {__VA_ARGS__},
#include "lib/inspect/amdgcn.def"
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

const kdl_amdgcn_simd *kdl_amdgcn_simd_of(const kdl_amdgcn_processor *processor) {
  return processor->simd == SIMD_NONE ? NULL : &simds[processor->simd];
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
    kdl_rule_rank_kind(rule, (generic ? 0 : 4) + named);
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
  return true;
}
