/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cli/report.h"

#include "base/plain.h"
#include "cli/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char name[64] = "kdl";

int cli_exit_code(kdl_status status) {
  switch (status) {
  case KDL_OK:
    return CLI_EXIT_FINE;
  case KDL_BAD_CALL:
    return CLI_EXIT_BAD_CALL;
  case KDL_NO_MATCH:
    return CLI_EXIT_NO_MATCH;
  case KDL_DEVICE:
    return CLI_EXIT_DEVICE;
  case KDL_BAD_FILE:
  case KDL_IO:
  case KDL_NO_MEMORY:
  case KDL_UNSUPPORTED:
    break;
  }
  return CLI_EXIT_BAD_FILE;
}

void cli_report_set_name(const char *program, const char *command) {
  snprintf(name, sizeof name, "%s%s%s", program, command ? " " : "", command ? command : "");
}

const char *cli_report_name(void) {
  return name;
}

bool cli_stream_has_colour(FILE *stream) {
  const char *no_color = getenv("NO_COLOR");
  const char *term = getenv("TERM");
  return isatty(fileno(stream)) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

/* A message may quote a file name or a key; neither may reach the terminal as a command to it. */
static void say(const char *level, const char *colour, const char *message) {
  bool coloured = cli_stream_has_colour(stderr);
  fflush(stdout);
  fprintf(stderr, "%s: %s%s:%s ", name, coloured ? colour : "", level, coloured ? "\033[0m" : "");
  for (const char *line = message; *line;) {
    size_t length = strcspn(line, "\n");
    cli_text_put(stderr, (kdl_string){line, length});
    fputc('\n', stderr);
    line += length + (line[length] == '\n');
  }
}

static void say_va(const char *level, const char *colour, const char *format, va_list args) {
  char message[2048];
  vsnprintf(message, sizeof message, format, args);
  kdl_plain(message, sizeof message);
  say(level, colour, message);
}

void cli_warning(const char *format, ...) {
  va_list args;
  va_start(args, format);
  say_va("warning", "\033[1;35m", format, args);
  va_end(args);
}

void cli_note(const char *format, ...) {
  va_list args;
  va_start(args, format);
  say_va("note", "\033[1;36m", format, args);
  va_end(args);
}

int cli_finish(kdl_status status) {
  if (status != KDL_OK)
    say("error", "\033[1;31m", kdl_error_message());
  return cli_exit_code(status);
}
