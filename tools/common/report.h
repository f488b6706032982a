/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by `kdl` and the programs that it starts: start-up, messages on standard error, and exit
 * codes. */
#ifndef KDL_TOOLS_COMMON_REPORT_H
#define KDL_TOOLS_COMMON_REPORT_H

#include "tools/common/command.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdio.h>

/* commands.h describes them. */
enum {
  CLI_EXIT_SUCCESS = 0,
  CLI_EXIT_BAD_INPUT = 1, /* also: the operating system refused, or this build cannot read it */
  CLI_EXIT_USAGE_ERROR = 2,
  CLI_EXIT_NO_MATCH = 3,
  CLI_EXIT_DEVICE_ERROR = 4,
};

/* The prefix of messages: "kdl", "kdl ls", "llvm-offload-binary". */
void cli_report_set_name(const char *program, const char *command);
const char *cli_report_name(void);

/* Whether a stream gets colours: as --color wants, or else where it is a terminal, NO_COLOR is
 * empty or unset, and TERM is not "dumb". */
bool cli_stream_has_colour(FILE *stream);

/* What --color=WHEN wants: "auto", "always" or "never". */
kdl_status cli_colour_set(const char *when);

/* One line each, "NAME: warning: ..."; control characters are shown, not sent. */
void cli_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the message of a failure; returns its exit code. Prints nothing where status is KDL_OK. */
int cli_report_status(kdl_status status);

/* ------------------------------------------------------------------------------------------ */
/* Start and end of the program                                                                 */

/* Call first in main. */
void cli_program_begin(void);

/* Parses the words after the command's name and runs it; returns the exit code. */
int cli_program_run(const cli_command *command, int count, char **words);

/* The exit code of the program, given the command's: flushing standard output may still fail. */
int cli_program_end(int code);

#endif
