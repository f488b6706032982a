/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Signatures: against what the image shows, and against those of other images. */
#include "base/arena.h"
#include "base/error.h"
#include "image/image.h"
#include "image/params.h"
#include "kinds.h"
#include "target/kernel_key.h"
#include "variants.h"
#include "verify.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* One image                                                                                    */

typedef struct {
  kdl_string sig;
  size_t at;          /* in it */
  uint32_t claimed;   /* parameters, with the hidden ones, which are pointers */
  uint32_t sig_count; /* without them */
  uint32_t shown;
  char problem[192]; /* the first */
} comparison;

static const char *kind_words(kdl_image_param_kind kind) {
  static const char *const words[] = {
      [KDL_IMAGE_PARAM_BYTES] = "bytes",       [KDL_IMAGE_PARAM_VALUE] = "a value",
      [KDL_IMAGE_PARAM_INTEGER] = "integer",   [KDL_IMAGE_PARAM_FLOAT] = "floating-point",
      [KDL_IMAGE_PARAM_POINTER] = "pointer",   [KDL_IMAGE_PARAM_OPAQUE] = "opaque",
      [KDL_IMAGE_PARAM_GROUP] = "group memory"};
  return words[kind];
}

/* Pointers have the size of the target's. */
static bool size_agrees(const kdl_param *claimed, const kdl_image_param *shown) {
  return claimed->kind == KDL_PARAM_PTR ? shown->size == 4 || shown->size == 8
                                        : shown->size == claimed->size;
}

static bool kind_agrees(kdl_param_kind claimed, kdl_image_param_kind shown) {
  switch (shown) {
  case KDL_IMAGE_PARAM_POINTER:
    return claimed == KDL_PARAM_PTR;
  case KDL_IMAGE_PARAM_VALUE:
    return claimed != KDL_PARAM_PTR;
  case KDL_IMAGE_PARAM_INTEGER:
    return claimed == KDL_PARAM_INT || claimed == KDL_PARAM_UINT;
  case KDL_IMAGE_PARAM_FLOAT:
    return claimed == KDL_PARAM_FLOAT;
  case KDL_IMAGE_PARAM_BYTES:
  case KDL_IMAGE_PARAM_OPAQUE:
  case KDL_IMAGE_PARAM_GROUP:
    break;
  }
  return true;
}

static int compare_param(void *user, const kdl_image_param *shown) {
  comparison *c = user;
  kdl_param claimed = {.kind = KDL_PARAM_PTR, .text = KDL_TEXT("a hidden pointer")};
  if (shown->kind == KDL_IMAGE_PARAM_GROUP)
    return 0; /* a launch has a size for it, and no argument */
  uint32_t position = c->shown++;
  if (position >= c->claimed || shown->kind == KDL_IMAGE_PARAM_OPAQUE)
    return 0;
  if (position < c->sig_count)
    kdl_signature_next(c->sig, &c->at, &claimed, NULL);
  int length = (int)(claimed.text.length < 64 ? claimed.text.length : 64);
  if (c->problem[0])
    return 0;
  if (!size_agrees(&claimed, shown))
    snprintf(c->problem, sizeof c->problem, "parameter %u is %.*s; the image shows %u bytes",
             position, length, claimed.text.data, shown->size);
  else if (!kind_agrees(claimed.kind, shown->kind))
    snprintf(c->problem, sizeof c->problem, "parameter %u is %.*s; the image shows it as %s",
             position, length, claimed.text.data, kind_words(shown->kind));
  return 0;
}

static void check_signature(cli_verification *verify, const cli_subject *image, kdl_string kernel,
                            const kdl_kernel_key *key) {
  comparison c = {
      .sig = key->sig, .sig_count = key->param_count, .claimed = key->param_count + key->hidden};
  kdl_image_kind kind = cli_image_kind_seen(image->info.kind, image->data, image->size);
  if (kdl_image_read_params(kind, image->data, image->size, kernel, compare_param, &c) != KDL_OK)
    return; /* it does not tell, or is damaged, which other checks report */
  if (c.shown != c.claimed)
    snprintf(c.problem, sizeof c.problem, "that is %u parameter%s; the image shows %u", c.claimed,
             c.claimed == 1 ? "" : "s", c.shown);
  if (c.problem[0])
    cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index,
                      "kdl.kernel.%.*s says sig=%.*s, which contradicts the image: %s",
                      (int)kernel.length, kernel.data, (int)key->sig.length, key->sig.data,
                      c.problem);
}

void cli_verify_signatures(cli_verification *verify, const cli_subject *image) {
  for (size_t i = 0; i < image->info.pair_count; ++i) {
    const kdl_pair *pair = &image->info.pairs[i];
    kdl_string kernel;
    kdl_kernel_key key;
    if (kdl_kernel_name(pair->key, &kernel) && kdl_kernel_parse(pair->value, &key, NULL) &&
        kdl_kernel_has(&key, KDL_KERNEL_SIG))
      check_signature(verify, image, kernel, &key);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* All images                                                                                   */

static void warn(void *user, size_t image, const char *words) {
  cli_verify_report(user, CLI_LEVEL_WARNING, image, "%s", words);
}

kdl_status cli_verify_variants(cli_verification *verify) {
  cli_variants variants = {.count = 0};
  kdl_arena arena = {0};
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < verify->count && status == KDL_OK; ++i) {
    const kdl_image_info *info = &verify->images[i].info;
    const char *where = kdl_arena_format(&arena, "image %zu", i);
    status = where ? cli_variants_add(&variants, where, i, info->pairs, info->pair_count)
                   : kdl_fail(KDL_NO_MEMORY, "%s: out of memory", verify->input->name);
  }
  if (status == KDL_OK)
    cli_variants_compare(&variants, warn, verify);
  cli_variants_free(&variants);
  kdl_arena_free(&arena);
  return status;
}
