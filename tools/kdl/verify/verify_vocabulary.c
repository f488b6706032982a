/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/metadata.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
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
  return kdl_keys[known].must_check ? "the image is refused everywhere" : "it is as good as absent";
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

static kdl_target_family family_of(const cli_verification *verify, size_t index) {
  kdl_catalog *catalog;
  if (kdl_library_catalog(verify->input->lib, &catalog) != KDL_OK)
    return KDL_FAMILY_NONE;
  return (kdl_target_family)kdl_catalog_traits(catalog, index).family;
}

static kdl_feature_class class_of(const cli_verification *verify, size_t index) {
  kdl_target_family family = family_of(verify, index);
  return family == KDL_FAMILY_NONE ? KDL_CLASS_COUNT : kdl_families[family].features;
}

/* The largest group of any device of a family, in all and in each direction. CPUs run any, and what
 * OpenCL's devices run is known of each one only. */
static const struct {
  kdl_target_family family;
  uint32_t threads, block[3];
} block_limits[] = {
    {KDL_FAMILY_NVPTX, 1024, {1024, 1024, 64}},
    {KDL_FAMILY_AMDGCN, 1024, {1024, 1024, 1024}},
    {KDL_FAMILY_INTEL, 1024, {1024, 1024, 1024}},
};

/* A block that no device of the image's architecture launches. */
static void check_block(cli_verification *verify, const cli_verified_image *image,
                        const kdl_pair *pair) {
  kdl_string kernel;
  kdl_kernel_key key;
  size_t row = 0;
  const size_t rows = sizeof block_limits / sizeof *block_limits;
  if (!kdl_kernel_name(pair->key, &kernel) || !kdl_kernel_parse(pair->value, &key, NULL) ||
      !kdl_kernel_has(&key, KDL_KERNEL_BLOCK))
    return;
  while (row < rows && block_limits[row].family != family_of(verify, image->info.index))
    ++row;
  if (row == rows)
    return;
  const uint32_t *most = block_limits[row].block;
  double items = (double)key.block[0] * key.block[1] * key.block[2];
  if (key.block[0] > most[0] || key.block[1] > most[1] || key.block[2] > most[2] ||
      items > block_limits[row].threads)
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index,
                      "%s: block=%ux%ux%u is %.0f work-items, and no device of its architecture "
                      "has groups of more than %u, or more than %ux%ux%u",
                      pair->key.data, key.block[0], key.block[1], key.block[2], items,
                      block_limits[row].threads, most[0], most[1], most[2]);
}

void cli_verify_vocabulary(cli_verification *verify, const cli_verified_image *image) {
  place at = {verify, image->info.index};
  for (size_t i = 0; i < image->info.pair_count; ++i) {
    const kdl_pair *pair = &image->info.pairs[i];
    kdl_parse_error error;
    check_value(verify, image, pair);
    check_block(verify, image, pair);
    if (kdl_text_is(pair->key, "requires_features") &&
        kdl_metadata_check(KDL_KEY_REQUIRES_FEATURES, pair->value, &error))
      cli_tokens_check(pair->value, class_of(verify, image->info.index), warn, &at);
  }
}
