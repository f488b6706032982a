/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "kdl_reference.h"

#include "../unit/support/llvm_rule.h"
#include "lib/device/spec.h"
#include "lib/inspect/targets.h"
#include "lib/target/families/gpu.h"
#include "lib/target/target.h"

#include <kdl/kdl.h>

static const uint64_t metadata_reasons = KDL_REASON(MALFORMED_KEY) | KDL_REASON(UNKNOWN_FEATURE) |
                                         KDL_REASON(MIN_SM) | KDL_REASON(MIN_GFX_FAMILY) |
                                         KDL_REASON(MIN_GFX_OLDER) | KDL_REASON(MISSING_FEATURES);

static bool compile_device(const char *line, kdl_device_rule *out_rule) {
  kdl_device_spec spec;
  return kdl_device_spec_parse(line, &spec) == KDL_OK &&
         kdl_device_spec_compile(&spec, out_rule) == KDL_OK;
}

static bool compile_image(const void *data, size_t size, kdl_image_rule *out_rule) {
  kdl_library *library;
  kdl_image_info info = {.size = sizeof info};
  if (kdl_open_memory(data, size, NULL, &library) != KDL_OK)
    return false;
  bool readable = kdl_image_get(library, 0, &info) == KDL_OK;
  if (readable)
    kdl_image_compile(&(kdl_image_desc){.kind = info.kind,
                                        .triple = info.triple,
                                        .arch = info.arch,
                                        .pairs = info.pairs,
                                        .pair_count = info.pair_count},
                      out_rule);
  kdl_close(library);
  return readable;
}

bool reference_judge(const void *data, size_t size, const char *device,
                     reference_verdict *out_verdict) {
  kdl_image_rule image;
  kdl_device_rule rule;
  *out_verdict = (reference_verdict){0};
  kdl_out out = {out_verdict->reasons, sizeof out_verdict->reasons, 0};
  if (!compile_device(device, &rule) || !compile_image(data, size, &image)) {
    kdl_out_format(&out, "%s", kdl_error_message());
    return false;
  }
  kdl_match_result match = kdl_match(&image, &rule);
  for (unsigned bit = 0; bit < KDL_REASON_COUNT; ++bit) {
    if (match.reasons >> bit & 1)
      kdl_out_format(&out, "%s%s", out.used ? " " : "", kdl_reasons[bit].code);
  }
  out_verdict->runs = match.rank != 0;
  out_verdict->metadata_compatible = !(match.reasons & metadata_reasons);
  out_verdict->variant_priority = image.priority;
  return true;
}

const char *reference_features(const char *device) {
  static char text[4096];
  kdl_out out = {text, sizeof text, 0};
  kdl_device_rule rule;
  text[0] = '\0';
  if (compile_device(device, &rule)) {
    kdl_feature_set has = {{~rule.lacks.word[0], ~rule.lacks.word[1]}};
    kdl_out_features(&out, kdl_families[rule.family].features, has);
  }
  return text;
}

const char *reference_amd_family(size_t index, const char **out_processor) {
  static char tag[8];
  const kdl_amdgcn_processor *processor = kdl_amdgcn_at(index);
  if (!processor)
    return NULL;
  kdl_out out = {tag, sizeof tag, 0};
  tag[0] = '\0';
  *out_processor = processor->name;
  if (!kdl_amdgcn_is_generic(processor))
    kdl_out_format(&out, "%s", processor->line);
  if (processor->generation)
    kdl_out_format(&out, "%u", processor->generation);
  return tag;
}

bool reference_targets_compatible(const char *left_triple, const char *left_arch,
                                  const char *right_triple, const char *right_arch) {
  return llvm_targets_compatible(kdl_text_of(left_triple), kdl_text_of(left_arch),
                                 kdl_text_of(right_triple), kdl_text_of(right_arch));
}
