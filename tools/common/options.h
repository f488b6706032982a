/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The command line of one subcommand: options anywhere, `--` ends them, `-` is an operand. As in
 * LLVM's tools, long options take one dash or two, and a value follows as `=VALUE` or as the next
 * word. */
#ifndef KDL_TOOLS_COMMON_OPTIONS_H
#define KDL_TOOLS_COMMON_OPTIONS_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum cli_arity {
  CLI_FLAG, /* no value */
  CLI_ONCE, /* one value; a second is refused */
  CLI_MANY, /* one value each time */
} cli_arity;

typedef struct cli_option {
  const char *name; /* a table ends with a NULL name */
  char letter;      /* 0: none */
  cli_arity arity;
  const char *value; /* the name of the value in the help */
  const char *help;
} cli_option;

typedef struct cli_setting {
  const cli_option *option;
  const char *value;
} cli_setting;

typedef struct cli_args {
  cli_setting *settings;
  size_t setting_count;
  const char **operands;
  size_t operand_count;
  size_t plain_count; /* operands before `--` */
  bool help;          /* --help or -h was given; nothing else was checked */
} cli_args;

struct cli_command;

/* Parses the words after the subcommand's name. The caller frees *out_args with cli_args_free, also
 * after a failure. */
kdl_status cli_args_parse(const struct cli_command *command, int count, char **words,
                          cli_args *out_args);
void cli_args_free(cli_args *args);

bool cli_args_has(const cli_args *args, const char *name);

/* The value of an option, or NULL. */
const char *cli_args_value(const cli_args *args, const char *name);

/* The next value of an option that may be repeated, or NULL after the last; *cursor starts at 0. */
const char *cli_args_next(const cli_args *args, const char *name, size_t *cursor);

/* The command line again, operands first, quoted for a shell: "kdl bench layers --cold=5".
 * malloc'ed. */
char *cli_args_line(const cli_args *args);

/* "--", or "-" for options named like a compiler's: --json, -MD. */
const char *cli_option_dashes(const cli_option *option);

/* Writes words as help has them: in lines that the terminal can show, of 80 columns elsewhere. The
 * first word is at column `at`. */
void cli_help_wrap(FILE *file, kdl_string words, size_t at, size_t indent);

/* The output of `kdl NAME --help`, and parts of it. */
void cli_command_help(const struct cli_command *command);
void cli_command_print_usage(const struct cli_command *command);
void cli_command_print_options(const struct cli_command *command);

/* An extent: "1024", "32x8", "4x4x4". Messages name `option`. */
kdl_status cli_extent_parse(const char *option, const char *words, uint64_t out[3]);
kdl_status cli_extent_small(const char *option, const char *words, uint32_t out[3]);

#endif
