/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The one description of the command line: a row of data for each subcommand. `--help`, the man
 * page, the completions and the lists of docs/cli.md are made of it (describe/).
 */
#ifndef KDL_TOOL_COMMANDS_H
#define KDL_TOOL_COMMANDS_H

#include "tools/common/command.h"

/* In the order of `kdl --help`, with bench behind them. commands_files.c and commands_devices.c
 * have the rows; each cli_run_NAME is in a file of its own. */
#define CLI_COMMANDS(X)                                                                            \
  X(ls)                                                                                            \
  X(pack)                                                                                          \
  X(extract)                                                                                       \
  X(annotate)                                                                                      \
  X(merge)                                                                                         \
  X(thin)                                                                                          \
  X(split)                                                                                         \
  X(link)                                                                                          \
  X(verify)                                                                                        \
  X(sign)                                                                                          \
  X(push)                                                                                          \
  X(pull)                                                                                          \
  X(embed)                                                                                         \
  X(devices)                                                                                       \
  X(doctor)                                                                                        \
  X(explain)                                                                                       \
  X(which)                                                                                         \
  X(check)                                                                                         \
  X(run)                                                                                           \
  X(cc)                                                                                            \
  X(cache)                                                                                         \
  X(trace)

#define CLI_DECLARE_COMMAND(name)                                                                  \
  int cli_run_##name(const cli_args *args);                                                        \
  extern const cli_command cli_command_##name;
CLI_COMMANDS(CLI_DECLARE_COMMAND)

extern const cli_command *const cli_commands[]; /* NULL behind the last */

/* NULL where there is none of that name. */
const cli_command *cli_command_find(const char *name);

/* What exit code `i` is called, and when it is returned; by CLI_EXIT_*. */
typedef struct cli_exit_code {
  const char *name;
  const char *when;
} cli_exit_code;
enum { CLI_EXIT_CODES = 5 };
extern const cli_exit_code cli_exit_codes[CLI_EXIT_CODES];

/* The command line of `kdl cc` as compilers' drivers have it: response files, and the options of
 * Clang that have no name here, which become --flag=WORD. Words lie in the arena. */
kdl_status cli_rewrite_cc(kdl_arena *arena, int count, char **words, kdl_words *out_words);

/* Not in the table: what the program is when it is called by LLVM's name. */
extern const cli_command cli_command_llvm_offload_binary;

#endif
