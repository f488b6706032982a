/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The subcommands, each a row of data and one function in its own file. */
#ifndef KDL_TOOL_COMMAND_H
#define KDL_TOOL_COMMAND_H

#include "options.h"

typedef struct cli_command {
  const char *name;
  const char *usage;   /* what follows "usage: " */
  const char *summary; /* one line, for `kdl --help` */
  const char *details; /* for `kdl NAME --help`; may be NULL */
  const cli_option *options;
  size_t min_operands;
  size_t max_operands;              /* CLI_ANY for no limit */
  int (*run)(const cli_args *args); /* returns the exit code */
} cli_command;

#define CLI_ANY SIZE_MAX

extern const cli_command cli_command_annotate;
extern const cli_command cli_command_bench;
extern const cli_command cli_command_cache;
extern const cli_command cli_command_cc;
extern const cli_command cli_command_devices;
extern const cli_command cli_command_doctor;
extern const cli_command cli_command_embed;
extern const cli_command cli_command_explain;
extern const cli_command cli_command_extract;
extern const cli_command cli_command_link;
extern const cli_command cli_command_ls;
extern const cli_command cli_command_merge;
extern const cli_command cli_command_pack;
extern const cli_command cli_command_run;
extern const cli_command cli_command_thin;
extern const cli_command cli_command_trace;
extern const cli_command cli_command_verify;
extern const cli_command cli_command_which;

/* Not in the table: what the program is when it is called by LLVM's name. */
extern const cli_command cli_command_llvm_offload_binary;

#endif
