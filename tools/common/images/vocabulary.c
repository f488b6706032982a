/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/vocabulary.h"

#include "lib/inspect/libraries.h"
#include "lib/inspect/metadata.h"
#include "support/base/nearest.h"

#include <string.h>

bool cli_value_check(kdl_string key, kdl_string value, kdl_parse_error *out_error) {
  kdl_key known = kdl_key_find(key);
  kdl_string kernel;
  kdl_kernel_key parsed;
  bool is_kernel = kdl_kernel_name(key, &kernel);
  size_t position;
  if (kdl_text_is(key, KDL_DIGEST_KEY))
    return kdl_digest_is_readable(value, &position) ||
           kdl_parse_fail(out_error, position,
                          KDL_DIGEST_METHOD " and 64 hexadecimal digits in lower case");
  if (known == KDL_KEY_COUNT && !is_kernel)
    return true;
  if (is_kernel ? !kdl_kernel_parse(value, &parsed, out_error)
                : !kdl_metadata_check(known, value, out_error))
    return false;
  size_t comma = kdl_text_find(value, 0, ",");
  return comma == value.length ||
         kdl_parse_fail(out_error, comma,
                        "no comma, where llvm-offload-binary would cut the value; tokens are "
                        "joined by '+'");
}

void cli_value_problem(kdl_string value, kdl_parse_error error, char *out_text, size_t room) {
  kdl_out out = {out_text, room, 0};
  kdl_out_format(&out, "found ");
  if (error.position >= value.length)
    kdl_out_format(&out, "the end");
  else
    kdl_out_quoted(&out, kdl_text_substr(value, error.position));
  kdl_out_format(&out, ", expected %s", error.expected);
}

/* ------------------------------------------------------------------------------------------ */
/* Tokens                                                                                       */

/* KDL_CLASS_COUNT: of any class. */
static bool is_token(kdl_string token, kdl_feature_class which) {
  kdl_feature_set named;
  for (unsigned i = 0; i < KDL_CLASS_COUNT && token.length; ++i) {
    if ((which == KDL_CLASS_COUNT || which == i) &&
        kdl_feature_parse((kdl_feature_class)i, token, &named, NULL))
      return true;
  }
  return false;
}

static void suggest_tokens(kdl_feature_class which, kdl_nearest *nearest) {
  for (unsigned bit = 0; bit < 128; ++bit) {
    const char *name = kdl_feature_name(which, bit);
    if (name)
      kdl_nearest_add(nearest, name);
  }
}

static void report_unknown_token(kdl_string token, kdl_feature_class which, kdl_out *out) {
  static const char *const classes[] = {[KDL_CLASS_GPU] = "GPUs",
                                        [KDL_CLASS_X86] = "x86-64",
                                        [KDL_CLASS_AARCH64] = "AArch64",
                                        [KDL_CLASS_RISCV] = "RISC-V"};
  kdl_out_format(out, "requires_features names ");
  kdl_out_quoted(out, token);
  if (which != KDL_CLASS_COUNT && is_token(token, KDL_CLASS_COUNT)) {
    kdl_out_format(out, ", which means nothing on %s", classes[which]);
    return;
  }
  kdl_nearest nearest = kdl_nearest_to(token);
  for (int i = 0; i < KDL_CLASS_COUNT; ++i) {
    if (which == KDL_CLASS_COUNT || which == (kdl_feature_class)i)
      suggest_tokens((kdl_feature_class)i, &nearest);
  }
  kdl_out_format(out, ", which is no token this version knows");
  if (nearest.best)
    kdl_out_format(out, "; did you mean '%s'?", nearest.best);
}

void cli_tokens_check(kdl_string list, kdl_feature_class which, cli_visit_problem *visit,
                      void *user) {
  for (size_t at = 0; at < list.length;) {
    size_t end = kdl_text_find(list, at, "+,");
    kdl_string token = {list.data + at, end - at};
    if (!is_token(token, which)) {
      char problem[256];
      kdl_out out = {problem, sizeof problem, 0};
      report_unknown_token(token, which, &out);
      visit(user, problem);
    }
    at = end + 1;
  }
}
