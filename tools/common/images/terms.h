/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `key=value,key=value`, as llvm-offload-binary parses it: a comma always ends a value, and the
 * values of a repeated key are joined with commas. */
#ifndef KDL_TOOLS_COMMON_IMAGES_TERMS_H
#define KDL_TOOLS_COMMON_IMAGES_TERMS_H

#include "support/base/arena.h"

#include <kdl/kdl.h>

#include <stddef.h>

typedef struct cli_term {
  kdl_string key;
  kdl_string value;
  size_t position; /* of the key in the text */
} cli_term;

typedef struct cli_terms {
  const char *option; /* of the option, for messages; so are the text and the grammar */
  const char *grammar;
  const char *text;
  cli_term *items; /* each key once, in the order of first appearance */
  size_t count;
  kdl_arena arena;
} cli_terms;

/* `option` names the option and `grammar` its syntax, for messages; both must outlive the terms, as
 * must `text`. Without a grammar everything is accepted as by LLVM's tool: a term without '=', even
 * an empty one, is a key with an empty value. The caller frees *out_terms, also after a failure. */
kdl_status cli_terms_parse(const char *option, const char *grammar, const char *text,
                           cli_terms *out_terms);
void cli_terms_free(cli_terms *terms);

/* The term with a key, or NULL. */
const cli_term *cli_terms_find(const cli_terms *terms, const char *key);

/* Records an error at a byte of a text: "CONTEXT: column N: PROBLEM", the text with a mark below
 * it, and advice. Returns KDL_BAD_CALL. */
kdl_status cli_fail_at_column(const char *context, const char *text, size_t position,
                              const char *problem, const char *advice);

/* Records an error at a byte of the terms: the text with a mark below it, and the grammar. Returns
 * KDL_BAD_CALL. */
kdl_status cli_terms_fail(const cli_terms *terms, size_t position, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
