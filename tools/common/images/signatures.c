/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/vocabulary.h"

#include "lib/inspect/images.h"
#include "lib/inspect/metadata.h"

#include <stdio.h>

typedef struct {
  kdl_string sig;
  size_t at;          /* position in `sig` */
  uint32_t claimed;   /* parameters, including hidden pointers */
  uint32_t sig_count; /* parameters without the hidden ones */
  uint32_t shown;
  char *problem; /* the first problem found */
  size_t room;
} comparison;

static const char *kind_words(kdl_image_param_kind kind) {
  static const char *const words[] = {
      [KDL_IMAGE_PARAM_BYTES] = "bytes",       [KDL_IMAGE_PARAM_VALUE] = "a value",
      [KDL_IMAGE_PARAM_INTEGER] = "integer",   [KDL_IMAGE_PARAM_FLOAT] = "floating-point",
      [KDL_IMAGE_PARAM_POINTER] = "pointer",   [KDL_IMAGE_PARAM_OPAQUE] = "opaque",
      [KDL_IMAGE_PARAM_GROUP] = "group memory"};
  return words[kind];
}

/* A pointer has the target's pointer size. */
static bool size_agrees(const kdl_param *claimed, const kdl_image_param *shown) {
  return claimed->kind == KDL_PARAM_PTR ? shown->size == 4 || shown->size == 8
                                        : shown->size == claimed->size;
}

/* In SPIR-V without bfloat16, a bf16 parameter is an integer. */
static bool kind_agrees(const kdl_param *param, kdl_image_param_kind shown) {
  kdl_param_kind claimed = param->kind;
  switch (shown) {
  case KDL_IMAGE_PARAM_POINTER:
    return claimed == KDL_PARAM_PTR;
  case KDL_IMAGE_PARAM_VALUE:
    return claimed != KDL_PARAM_PTR;
  case KDL_IMAGE_PARAM_INTEGER:
    return claimed == KDL_PARAM_INT || claimed == KDL_PARAM_UINT ||
           kdl_text_is(param->text, "bf16");
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
    return 0; /* passed by size, not as an argument */
  uint32_t position = c->shown++;
  if (position >= c->claimed || shown->kind == KDL_IMAGE_PARAM_OPAQUE)
    return 0;
  if (position < c->sig_count)
    kdl_signature_next(c->sig, &c->at, &claimed, NULL);
  int length = (int)(claimed.text.length < 64 ? claimed.text.length : 64);
  if (c->problem[0])
    return 0;
  if (!size_agrees(&claimed, shown))
    snprintf(c->problem, c->room, "parameter %u is %.*s; the image shows %u bytes", position,
             length, claimed.text.data, shown->size);
  else if (!kind_agrees(&claimed, shown->kind))
    snprintf(c->problem, c->room, "parameter %u is %.*s; the image shows it as %s", position,
             length, claimed.text.data, kind_words(shown->kind));
  return 0;
}

static uint32_t count_params(kdl_string sig) {
  kdl_param param;
  uint32_t count = 0;
  for (size_t at = 0; kdl_signature_next(sig, &at, &param, NULL);)
    ++count;
  return count;
}

bool cli_signature_contradicts(kdl_image_kind kind, kdl_string image, kdl_string kernel,
                               kdl_string sig, uint32_t hidden, char *out_problem, size_t room) {
  uint32_t count = count_params(sig);
  comparison c = {.sig = sig,
                  .sig_count = count,
                  .claimed = count + hidden,
                  .problem = out_problem,
                  .room = room};
  out_problem[0] = '\0';
  if (kdl_image_read_params(kind, image.data, image.length, kernel, compare_param, &c) != KDL_OK)
    return false;
  if (c.shown != c.claimed)
    snprintf(out_problem, room, "that is %u parameter%s; the image shows %u", c.claimed,
             c.claimed == 1 ? "" : "s", c.shown);
  return out_problem[0] != '\0';
}
