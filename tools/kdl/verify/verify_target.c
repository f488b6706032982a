/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compares the target in the metadata with the image's own. */
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "support/base/text.h"
#include "support/base/triple.h"
#include "tools/kdl/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Triples                                                                                      */

/* Whether two triples name the same architecture. Only this part of a triple is in the image;
 * vendor and system are the producer's choice. */
static bool same_architecture(const char *a, const char *b) {
  static const char *const aliases[][2] = {{"aarch64", "arm64"}, {"x86_64", "amd64"}};
  kdl_string left = {a, strcspn(a, "-")}, right = {b, strcspn(b, "-")};
  if (kdl_text_equal(left, right))
    return true;
  if (kdl_starts_with(a, "spir") &&
      kdl_starts_with(b, "spir")) /* spir64, spirv64, spirv64v1.4, ... */
    return true;
  if (kdl_triple_is_amd(kdl_text_of(a)) && kdl_triple_is_amd(kdl_text_of(b)))
    return true;
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; ++i) {
    if (KDL_TEXT_AMONG(left, aliases[i]) && KDL_TEXT_AMONG(right, aliases[i]))
      return true;
  }
  return false;
}

/* The sub-architecture of an AMD triple names a processor, or the generic one that it belongs to.
 * It may be newer than this version of libkdl. */
static bool subarch_contradicts(const char *triple, const char *real) {
  char name[KDL_TRIPLE_PROCESSOR];
  kdl_triple_processor(kdl_text_of(triple), name);
  kdl_amdgcn_id claimed, is;
  if (!kdl_amdgcn_parse(kdl_text_of(name), &claimed, NULL) ||
      !kdl_amdgcn_parse((kdl_string){real, strcspn(real, ":")}, &is, NULL) ||
      claimed.processor == is.processor)
    return false;
  bool is_family = !claimed.processor->version || !is.processor->version;
  return !is_family || claimed.processor->generic != is.processor->generic;
}

/* ------------------------------------------------------------------------------------------ */
/* Architectures                                                                                */

/* "sm_90a" or "compute_90a": 90 and 'a'; false for anything else. */
static bool parse_sm(const char *arch, long *out_number, char *out_suffix) {
  const char *digits = kdl_starts_with(arch, "sm_")        ? arch + 3
                       : kdl_starts_with(arch, "compute_") ? arch + 8
                                                           : NULL;
  if (!digits || *digits < '0' || *digits > '9')
    return false;
  char *end;
  *out_number = strtol(digits, &end, 10);
  *out_suffix = *end;
  return !*end || !end[1];
}

/* PTX runs on its architecture and later ones; machine code only on its own. Code that uses the
 * features of one architecture ('a') must be marked so. Machine code that uses those of its family
 * need not be, since it runs on no other (NVIDIA's own libraries do not mark it). */
static bool sm_contradicts(kdl_image_kind kind, const char *claimed, const char *real) {
  long claimed_number, real_number;
  char claimed_suffix, real_suffix;
  if (!parse_sm(claimed, &claimed_number, &claimed_suffix) ||
      !parse_sm(real, &real_number, &real_suffix))
    return strcmp(claimed, real) != 0;
  bool wrong_number =
      kind == KDL_IMAGE_PTX ? claimed_number < real_number : claimed_number != real_number;
  bool unmarked = (real_suffix == 'a' && claimed_suffix != 'a') ||
                  (real_suffix == 'f' && !claimed_suffix && kind == KDL_IMAGE_PTX);
  return wrong_number || unmarked;
}

/* '+', '-' or 0 for a feature of a target id. */
static char feature_sign(const char *target, const char *feature) {
  size_t length = strlen(feature);
  for (const char *at = strchr(target, ':'); at; at = strchr(at + 1, ':')) {
    if (strncmp(at + 1, feature, length) == 0)
      return at[1 + length];
  }
  return 0;
}

static bool gfx_contradicts(const char *claimed, const char *real) {
  static const char *const features[] = {"xnack", "sramecc"};
  size_t length = strcspn(claimed, ":");
  if (length != strcspn(real, ":") || memcmp(claimed, real, length) != 0)
    return true;
  for (size_t i = 0; i < sizeof features / sizeof *features; ++i) {
    char needed = feature_sign(real, features[i]);
    if (needed && feature_sign(claimed, features[i]) != needed)
      return true;
  }
  return false;
}

static bool arch_contradicts(kdl_image_kind kind, const char *claimed, const char *real) {
  if (!*claimed || !*real || strcmp(claimed, "generic") == 0)
    return false;
  switch (kind) {
  case KDL_IMAGE_CUBIN:
  case KDL_IMAGE_PTX:
    return sm_contradicts(kind, claimed, real);
  case KDL_IMAGE_HSACO:
    return gfx_contradicts(claimed, real);
  default: /* IR names no architecture that all producers agree on; CPUs are handled below */
    return false;
  }
}

/* Whether code for a CPU needs features that the metadata does not name. */
static bool cpu_contradicts(const kdl_image_info *claim, const kdl_image_target *image) {
  kdl_image_claim said = {.kind = KDL_IMAGE_OBJECT,
                          .triple = claim->triple,
                          .arch = claim->arch,
                          .pairs = claim->pairs,
                          .pair_count = claim->pair_count};
  kdl_image_claim is = {.kind = KDL_IMAGE_OBJECT,
                        .triple = kdl_text_of(image->triple),
                        .arch = kdl_text_of(image->arch)};
  return kdl_claim_lacks_features(&said, &is);
}

bool cli_target_contradicts(kdl_image_kind kind, const kdl_image_info *claim,
                            const kdl_image_target *image, char *out_reason, size_t room) {
  const char *triple = claim->triple.data, *arch = claim->arch.data;
  bool is_amd = kind == KDL_IMAGE_HSACO || kind == KDL_IMAGE_BITCODE;
  if (is_amd && subarch_contradicts(triple, image->arch)) {
    snprintf(out_reason, room, "the metadata says triple=%s, the image itself %s", triple,
             image->arch);
    return true;
  }
  if (*triple && *image->triple && !same_architecture(triple, image->triple)) {
    snprintf(out_reason, room, "the metadata says triple=%s, the image itself %s", triple,
             image->triple);
    return true;
  }
  if (kind == KDL_IMAGE_OBJECT ? cpu_contradicts(claim, image)
                               : arch_contradicts(kind, arch, image->arch)) {
    snprintf(out_reason, room, "the metadata says arch=%s, the image itself %s", arch, image->arch);
    return true;
  }
  return false;
}
