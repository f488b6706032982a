/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kdl-ld is asked to do: its command line, checked. docs/linking.md describes it. */
#ifndef KDL_LD_REQUEST_H
#define KDL_LD_REQUEST_H

#include "cli/options.h"
#include "select/ranking.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum ld_emit {
  LD_EMIT_IMAGE,
  LD_EMIT_IR,
  LD_EMIT_BITCODE,
  LD_EMIT_ASM,
  LD_EMIT_CHOICE, /* the report alone */
  LD_EMIT_COUNT,
} ld_emit;

typedef struct ld_words {
  const char **items;
  size_t count;
} ld_words;

typedef struct ld_request {
  const char *path;   /* of the caller's bitcode */
  const char *caller; /* what messages call it */
  kdl_select_device device;
  char device_label[KDL_SPEC_ARCH + KDL_SPEC_NAME]; /* for messages */
  ld_words kernels;                                 /* none: all that the caller has */
  ld_words libraries;
  ld_words constants; /* NAME=VALUE each, checked for the '=' */
  bool has_builtin;
  bool is_checked;     /* nobody's signature is looked at: who calls did */
  bool ignores_unused; /* constants that nothing declares */
  ld_emit emit;
  const char *output; /* NULL for LD_EMIT_CHOICE */
  const char *report; /* or NULL */
} ld_request;

/* The caller frees *out_request, also after a failure. What it points to belongs to `args`. */
kdl_status ld_request_read(const cli_args *args, ld_request *out_request);
void ld_request_free(ld_request *request);

#endif
