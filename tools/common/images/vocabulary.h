/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Checks metadata keys with a meaning to libkdl (docs/metadata.md) when they are written, and
 * signatures against the parameters in the image. */
#ifndef KDL_TOOLS_COMMON_IMAGES_VOCABULARY_H
#define KDL_TOOLS_COMMON_IMAGES_VOCABULARY_H

#include "lib/inspect/targets.h"
#include "support/base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a value may be written: it follows the key's grammar and has no comma, at which LLVM's
 * packager ends a value. Keys outside the vocabulary accept anything. The error's position is in
 * the value. */
bool cli_value_check(kdl_string key, kdl_string value, kdl_parse_error *out_error);

/* "found "x", expected ...", for the error of a check. */
void cli_value_problem(kdl_string value, kdl_parse_error error, char *out_text, size_t room);

/* Calls `visit` for each token of requires_features that is not in the class (KDL_CLASS_COUNT: in
 * any class): "requires_features names 'bf61', which is no token ...; did you mean 'bf16'?" */
typedef void cli_visit_problem(void *user, const char *problem);
void cli_tokens_check(kdl_string list, kdl_feature_class which, cli_visit_problem *visit,
                      void *user);

/* Whether `sig`, followed by `hidden` pointers, contradicts the image: "parameter 1 is f32; the
 * image shows 8 bytes". False also where the image has no parameter list or is damaged. */
bool cli_signature_contradicts(kdl_image_kind kind, kdl_string image, kdl_string kernel,
                               kdl_string sig, uint32_t hidden, char *out_problem, size_t room);

#endif
