/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/report.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/variables.h"
#include "tools/common/guard.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/text.h"

#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char name[64] = "kdl";

static int exit_code(kdl_status status) {
  switch (status) {
  case KDL_OK:
    return CLI_EXIT_SUCCESS;
  case KDL_BAD_CALL:
    return CLI_EXIT_USAGE_ERROR;
  case KDL_NO_MATCH:
    return CLI_EXIT_NO_MATCH;
  case KDL_DEVICE:
    return CLI_EXIT_DEVICE_ERROR;
  case KDL_BAD_FILE:
  case KDL_IO:
  case KDL_NO_MEMORY:
  case KDL_UNSUPPORTED:
    break;
  }
  return CLI_EXIT_BAD_INPUT;
}

void cli_report_set_name(const char *program, const char *command) {
  snprintf(name, sizeof name, "%s%s%s", program, command ? " " : "", command ? command : "");
}

const char *cli_report_name(void) {
  return name;
}

typedef enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } colour_mode;
static colour_mode colours_when;

kdl_status cli_colour_set(const char *when) {
  static const char *const names[] = {"auto", "always", "never"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strcmp(when, names[i]) == 0) {
      colours_when = (colour_mode)i;
      return KDL_OK;
    }
  }
  return kdl_fail(KDL_BAD_CALL, "--color: bad value '%s': use auto, always or never", when);
}

bool cli_stream_has_colour(FILE *stream) {
  if (colours_when != COLOUR_AUTO)
    return colours_when == COLOUR_ALWAYS;
  const char *no_color = kdl_environment(KDL_VARIABLE_NO_COLOR);
  const char *term = kdl_environment(KDL_VARIABLE_TERM);
  return isatty(fileno(stream)) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

/* A message may quote a file name or a key; neither may control the terminal. */
static void print_message(const char *level, const char *colour, const char *message) {
  bool coloured = cli_stream_has_colour(stderr);
  cli_progress_clear();
  fflush(stdout);
  fprintf(stderr, "%s: %s%s:%s ", name, coloured ? colour : "", level, coloured ? "\033[0m" : "");
  for (const char *line = message; *line;) {
    size_t length = strcspn(line, "\n");
    cli_text_put(stderr, (kdl_string){line, length});
    fputc('\n', stderr);
    line += length + (line[length] == '\n');
  }
}

static void print_message_va(const char *level, const char *colour, const char *format,
                             va_list args) {
  char message[2048];
  vsnprintf(message, sizeof message, format, args);
  kdl_text_escape_controls(message, sizeof message);
  print_message(level, colour, message);
}

void cli_warning(const char *format, ...) {
  va_list args;
  va_start(args, format);
  print_message_va("warning", "\033[1;35m", format, args);
  va_end(args);
}

void cli_note(const char *format, ...) {
  va_list args;
  va_start(args, format);
  print_message_va("note", "\033[1;36m", format, args);
  va_end(args);
}

int cli_report_status(kdl_status status) {
  if (status != KDL_OK)
    print_message("error", "\033[1;31m", kdl_error_message());
  return exit_code(status);
}

/* ------------------------------------------------------------------------------------------ */
/* Start and end of the program                                                                 */

void cli_program_begin(void) {
  setlocale(LC_CTYPE, "");
  cli_guard_install();
  signal(SIGXFSZ,
         SIG_IGN); /* over a size limit, write() fails and the incomplete file is removed */
  signal(
      SIGPIPE,
      SIG_DFL); /* a reader that stops early is no error, even if our parent ignores the signal */
}

int cli_program_run(const cli_command *command, int count, char **words) {
  cli_args args = {.settings = NULL};
  kdl_arena arena = {0};
  kdl_string_list rewritten = {.items = NULL};
  kdl_status status = KDL_OK;
  if (command->rewrite)
    status = command->rewrite(&arena, count, words, &rewritten);
  bool is_rewritten = rewritten.count > 0;
  if (status == KDL_OK)
    status = cli_args_parse(command, is_rewritten ? (int)rewritten.count : count,
                            is_rewritten ? (char **)rewritten.items : words, &args);
  int code;
  if (status != KDL_OK) {
    code = cli_report_status(status);
  } else if (args.help) {
    cli_command_help(command);
    code = CLI_EXIT_SUCCESS;
  } else {
    code = command->run(&args);
  }
  cli_args_free(&args);
  kdl_arena_free(&arena);
  return code;
}

int cli_program_end(int code) {
  kdl_status flushed = cli_output_flush();
  return flushed != KDL_OK && code == CLI_EXIT_SUCCESS ? cli_report_status(flushed) : code;
}
