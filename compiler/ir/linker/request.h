/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What to link, for which device, and what to write. docs/linking.md describes it as the command
 * line of kdl-ld. */
#ifndef KDL_COMPILER_IR_LINKER_REQUEST_H
#define KDL_COMPILER_IR_LINKER_REQUEST_H

#include "lib/inspect/devices.h"
#include "lib/inspect/selection.h"
#include "support/base/arena.h"
#include "support/base/string_list.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum ir_emit {
  IR_EMIT_IMAGE,
  IR_EMIT_IR,
  IR_EMIT_BITCODE,
  IR_EMIT_ASM,
  IR_EMIT_CHOICE, /* only the report */
  IR_EMIT_COUNT,
} ir_emit;

typedef struct ir_request {
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
  kdl_string_list folds;     /* values of a launch: compiler/ir/linker/fold.h */
  bool has_builtin;
  bool is_checked;     /* signatures are not checked: the caller did */
  bool ignores_unused; /* ignores constants that nothing declares */
  ir_emit emit;
  const char *output; /* NULL for IR_EMIT_CHOICE */
  const char *report; /* or NULL */
} ir_request;

#endif
