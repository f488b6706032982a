/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The description of the command line: one row of data per subcommand. `--help`, the man page, the
 * completions and the lists in docs/cli.md are generated from it (describe/).
 */
#ifndef KDL_TOOLS_KDL_COMMANDS_H
#define KDL_TOOLS_KDL_COMMANDS_H

#include "cc/command.h"
#include "ext/adaptive/commands/commands.h"
#include "ext/jit/commands/commands.h"
#include "pack/commands.h"
#include "tools/common/command.h"
#include "tools/common/options.h"

#include <kdl/kdl.h>

/* Components that were left out of the build have no rows. */
#if KDL_WITH_ADAPTIVE
#define CLI_ADAPTIVE(X, name) X(name)
#else
#define CLI_ADAPTIVE(X, name)
#endif
#if KDL_WITH_JIT
#define CLI_JIT(X, name) X(name)
#else
#define CLI_JIT(X, name)
#endif
#if KDL_WITH_PACK
#define CLI_PACK(X, name) X(name)
#else
#define CLI_PACK(X, name)
#endif
#if KDL_WITH_CC
#define CLI_CC(X, name) X(name)
#else
#define CLI_CC(X, name)
#endif

/* In the order of `kdl --help`, so by group; bench is last. The rows are in commands_files.c,
 * commands_devices.c, ext/adaptive/commands/commands.c, ext/jit/commands/commands.c,
 * pack/commands.c and cc/command.c; each cli_run_NAME has its own file. */
#define CLI_COMMANDS(X)                                                                            \
  X(which)                                                                                         \
  X(explain)                                                                                       \
  CLI_PACK(X, check)                                                                               \
  X(ls)                                                                                            \
  CLI_PACK(X, diff)                                                                                \
  X(verify)                                                                                        \
  X(extract)                                                                                       \
  CLI_CC(X, cc)                                                                                    \
  X(pack)                                                                                          \
  X(annotate)                                                                                      \
  CLI_PACK(X, merge)                                                                               \
  CLI_JIT(X, link)                                                                                 \
  X(embed)                                                                                         \
  CLI_PACK(X, thin)                                                                                \
  CLI_PACK(X, split)                                                                               \
  X(sign)                                                                                          \
  CLI_PACK(X, push)                                                                                \
  CLI_PACK(X, pull)                                                                                \
  X(devices)                                                                                       \
  X(doctor)                                                                                        \
  CLI_JIT(X, cache)                                                                                \
  X(run)                                                                                           \
  CLI_ADAPTIVE(X, tune)                                                                            \
  X(trace)

int cli_run_ls(const cli_args *args);
int cli_run_pack(const cli_args *args);
int cli_run_extract(const cli_args *args);
int cli_run_annotate(const cli_args *args);
int cli_run_verify(const cli_args *args);
int cli_run_sign(const cli_args *args);
int cli_run_embed(const cli_args *args);
int cli_run_devices(const cli_args *args);
int cli_run_doctor(const cli_args *args);
int cli_run_explain(const cli_args *args);
int cli_run_which(const cli_args *args);
int cli_run_run(const cli_args *args);
int cli_run_trace(const cli_args *args);
extern const cli_command cli_command_ls, cli_command_pack, cli_command_extract,
    cli_command_annotate, cli_command_verify, cli_command_sign, cli_command_embed,
    cli_command_devices, cli_command_doctor, cli_command_explain, cli_command_which,
    cli_command_run, cli_command_trace;

extern const cli_command *const cli_commands[]; /* NULL after the last */

/* The title of the command's group where it is the first of it, else NULL. */
const char *cli_command_heading(const cli_command *const *command);

/* NULL where there is none of that name. */
const cli_command *cli_command_find(const char *name);

/* The name of exit code `i`, and when it is returned; indexed by CLI_EXIT_*. */
typedef struct cli_exit_code {
  const char *name;
  const char *when;
} cli_exit_code;
enum { CLI_EXIT_CODES = 5 };
extern const cli_exit_code cli_exit_codes[CLI_EXIT_CODES];

/* Not in the table: the command line when the program is called by LLVM's name. */
extern const cli_command cli_command_llvm_offload_binary;

/* kdl devices --runs: which of all known architectures run on a device. */
kdl_status cli_devices_runs(const cli_args *args);

#endif
