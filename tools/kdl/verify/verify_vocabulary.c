/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/catalog.h"
#include "lib/inspect/images.h"
#include "lib/inspect/metadata.h"
#include "lib/inspect/targets.h"
#include "lib/inspect/write.h"
#include "tools/common/images/vocabulary.h"
#include "tools/kdl/verify/verify.h"

typedef struct {
  cli_verification *verify;
  size_t index;
} place;

static void warn(void *user, const char *problem) {
  const place *at = user;
  cli_verify_report(at->verify, CLI_LEVEL_WARNING, at->index, "%s", problem);
}

/* The effect of a value that cannot be parsed. */
static const char *consequence(kdl_string key) {
  kdl_key known = kdl_key_find(key);
  if (known == KDL_KEY_COUNT)
    return "the image is refused for this kernel";
  return kdl_key_get(known)->must_check ? "the image is refused everywhere"
                                        : "it is as good as absent";
}

/* Readers accept a comma, so it is not reported. */
static bool can_be_read(kdl_string key, kdl_string value, kdl_parse_error *out_error) {
  return cli_value_check(key, value, out_error) ||
         (out_error->position < value.length && value.data[out_error->position] == ',');
}

static void check_value(cli_verification *verify, const cli_verified_image *image,
                        const kdl_pair *pair) {
  kdl_parse_error error;
  if (kdl_text_is(pair->key, KDL_DIGEST_KEY) || can_be_read(pair->key, pair->value, &error))
    return; /* digests are checked separately */
  char problem[512];
  cli_value_problem(pair->value, error, problem, sizeof problem);
  cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index, "%s=%.256s: position %zu: %s; %s",
                    pair->key.data, pair->value.data, error.position, problem,
                    consequence(pair->key));
}

static kdl_feature_class class_of(const cli_verification *verify, size_t index) {
  kdl_catalog *catalog;
  if (kdl_library_catalog(verify->input->lib, &catalog) != KDL_OK)
    return KDL_CLASS_COUNT;
  kdl_target_family family = (kdl_target_family)kdl_catalog_traits(catalog, index).family;
  return family == KDL_FAMILY_NONE ? KDL_CLASS_COUNT : kdl_family_class(family);
}

void cli_verify_vocabulary(cli_verification *verify, const cli_verified_image *image) {
  place at = {verify, image->info.index};
  for (size_t i = 0; i < image->info.pair_count; ++i) {
    const kdl_pair *pair = &image->info.pairs[i];
    kdl_parse_error error;
    check_value(verify, image, pair);
    if (kdl_text_is(pair->key, "requires_features") &&
        kdl_metadata_check(KDL_KEY_REQUIRES_FEATURES, pair->value, &error))
      cli_tokens_check(pair->value, class_of(verify, image->info.index), warn, &at);
  }
}
