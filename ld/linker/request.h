/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The command line of kdl-ld, checked. docs/linking.md describes it. */
#ifndef KDL_LD_REQUEST_H
#define KDL_LD_REQUEST_H

#include "lib/inspect/devices.h"
#include "lib/inspect/ranking.h"
#include "support/base/arena.h"
#include "support/base/string_list.h"
#include "tools/common/options.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum ld_emit {
  LD_EMIT_IMAGE,
  LD_EMIT_IR,
  LD_EMIT_BITCODE,
  LD_EMIT_ASM,
  LD_EMIT_CHOICE, /* only the report */
  LD_EMIT_COUNT,
} ld_emit;

typedef struct ld_request {
  kdl_arena *arena;
  const char *path;   /* of the caller's bitcode */
  const char *caller; /* its name in messages */
  kdl_device_spec spec;
  kdl_select_device *device; /* of that spec */
  kdl_device_traits traits;
  char device_label[KDL_SPEC_ARCH + KDL_SPEC_NAME]; /* for messages */
  kdl_string_list kernels;                          /* empty: all of the caller's */
  kdl_string_list libraries;
  kdl_string_list constants; /* NAME=VALUE each; the '=' was checked */
  kdl_string_list folds;     /* values of a launch: ld/linker/fold.h */
  bool has_builtin;
  bool is_checked;     /* signatures are not checked: the caller did */
  bool ignores_unused; /* ignores constants that nothing declares */
  ld_emit emit;
  const char *output; /* NULL for LD_EMIT_CHOICE */
  const char *report; /* or NULL */
} ld_request;

/* The request points into `args` and into the arena, which must outlive the link. The caller frees
 * `device`, also after a failure. */
kdl_status ld_request_read(const cli_args *args, kdl_arena *arena, ld_request *out_request);

/* Appends a copy of a string. */
void ld_string_list_append(kdl_string_list *words, const char *word);

#endif
