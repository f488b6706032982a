/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/spec.h"
#include "lib/inspect/selection.h"
#include "lib/target/features/feature.h"
#include "support/base/error.h"

static kdl_image_rule compile_claim(const kdl_image_claim *claim) {
  const kdl_image_desc desc = {.kind = claim->kind,
                               .triple = claim->triple,
                               .arch = claim->arch,
                               .pairs = claim->pairs,
                               .pair_count = claim->pair_count,
                               .version_major = (uint16_t)(claim->version >> 16),
                               .version_minor = (uint16_t)claim->version};
  kdl_image_rule rule;
  kdl_image_compile(&desc, &rule);
  return rule;
}

kdl_status kdl_claim_fit(const kdl_image_claim *image, const kdl_device_spec *device,
                         kdl_claim_match *out_match) {
  kdl_device_rule device_rule;
  KDL_TRY(kdl_device_spec_compile(device, &device_rule));
  kdl_image_rule rule = compile_claim(image);
  uint64_t reasons = kdl_match(&rule, &device_rule).reasons;
  *out_match = (kdl_claim_match){.kind = (kdl_image_kind)rule.kind, .rank = rule.rank};
  if (!reasons) {
    out_match->fit = kdl_match_fit(&rule, &device_rule);
    return KDL_OK;
  }
  unsigned bit = 0;
  while (!(reasons >> bit & 1))
    ++bit;
  out_match->reason = kdl_reasons[bit].code;
  return KDL_OK;
}

bool kdl_claim_lacks_features(const kdl_image_claim *claim, const kdl_image_claim *needed) {
  kdl_image_rule has = compile_claim(claim), needs = compile_claim(needed);
  if (has.faults || needs.faults || has.family != needs.family)
    return false;
  kdl_feature_set missing = {
      {needs.needs.word[0] & ~has.needs.word[0], needs.needs.word[1] & ~has.needs.word[1]}};
  kdl_feature_class which = kdl_families[needs.family].features;
  return kdl_feature_any(kdl_feature_tokens(which, missing));
}
