/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernel signatures: compared with the image, and with those of other images. */
#include "lib/inspect/metadata.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/variants.h"
#include "tools/common/images/vocabulary.h"
#include "tools/kdl/verify/verify.h"

/* ------------------------------------------------------------------------------------------ */
/* One image                                                                                    */

static void check_kernel_signature(cli_verification *verify, const cli_verified_image *image,
                                   kdl_string kernel, const kdl_kernel_key *key) {
  char problem[192];
  kdl_image_kind kind = cli_image_kind_seen(image->info.kind, image->data, image->size);
  if (cli_signature_contradicts(kind, (kdl_string){image->data, image->size}, kernel, key->sig,
                                key->hidden, problem, sizeof problem))
    cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index,
                      "kdl.kernel.%.*s says sig=%.*s, which contradicts the image: %s",
                      (int)kernel.length, kernel.data, (int)key->sig.length, key->sig.data,
                      problem);
}

void cli_verify_signatures(cli_verification *verify, const cli_verified_image *image) {
  for (size_t i = 0; i < image->info.pair_count; ++i) {
    const kdl_pair *pair = &image->info.pairs[i];
    kdl_string kernel;
    kdl_kernel_key key;
    if (kdl_kernel_name(pair->key, &kernel) && kdl_kernel_parse(pair->value, &key, NULL) &&
        kdl_kernel_has(&key, KDL_KERNEL_SIG))
      check_kernel_signature(verify, image, kernel, &key);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* All images                                                                                   */

static void warn(void *user, size_t image, const char *words) {
  cli_verify_report(user, CLI_LEVEL_WARNING, image, "%s", words);
}

void cli_verify_variants(cli_verification *verify) {
  cli_variants variants = {.count = 0};
  kdl_arena arena = {0};
  for (size_t i = 0; i < verify->count; ++i) {
    const kdl_image_info *info = &verify->images[i].info;
    cli_variants_add(&variants, xarena_format(&arena, "image %zu", i), i, info->pairs,
                     info->pair_count);
  }
  cli_variants_compare(&variants, warn, verify);
  cli_variants_free(&variants);
  kdl_arena_free(&arena);
}
