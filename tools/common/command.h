/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A subcommand: a row of data, and one function. */
#ifndef KDL_TOOLS_COMMON_COMMAND_H
#define KDL_TOOLS_COMMON_COMMAND_H

#include "support/base/string_list.h"
#include "tools/common/options.h"

/* What people want from a command: a heading of `kdl --help` each, in this order. */
typedef enum cli_group {
  CLI_ASK,
  CLI_READ,
  CLI_BUILD,
  CLI_SHIP,
  CLI_MACHINE,
  CLI_RUN,
  CLI_GROUPS,
} cli_group;

typedef struct cli_command {
  const char *name;
  cli_group group;
  const char *usage;   /* the text after "usage: "; a line per form */
  const char *summary; /* one line, for `kdl --help` */
  const char *details; /* for `kdl NAME --help`, a line per paragraph; may be NULL */
  const char *actions; /* the allowed values of the first operand, or NULL */
  const cli_option *options;
  size_t min_operands;
  size_t max_operands; /* CLI_ANY for no limit */
  /* What to use in place of more operands: NULL for the usage; after a final '=' the operand. */
  const char *instead;
  int (*run)(const cli_args *args); /* returns the exit code; NULL: the program kdl-NAME */
  /* Replaces the words of the command line, in the arena; NULL for none. */
  kdl_status (*rewrite)(kdl_arena *arena, int count, char **words, kdl_string_list *out_words);
} cli_command;

#define CLI_ANY SIZE_MAX

/* A separate program, kdl-bench, which both programs describe. */
extern const cli_command cli_command_bench;

#endif
