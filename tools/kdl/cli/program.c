/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cli/program.h"

#include "cli/output.h"
#include "cli/report.h"

#include <locale.h>
#include <signal.h>
#include <unistd.h>

/* Image bytes are mapped: if another process truncates the file meanwhile, touching them raises
 * SIGBUS. The library cannot own a signal; the tool can. */
static void on_sigbus(int signal_number) {
  static const char message[] =
      "kdl: error: a file was truncated or became unreadable while being read\n";
  (void)signal_number;
  if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
    _exit(CLI_EXIT_BAD_FILE);
  _exit(CLI_EXIT_BAD_FILE);
}

void cli_program_begin(void) {
  setlocale(LC_CTYPE, "");
  signal(SIGBUS, on_sigbus);
  signal(SIGXFSZ, SIG_IGN); /* over a size limit, write() fails and the half file is removed */
  signal(SIGPIPE, SIG_DFL); /* a reader that stops early is no error, whatever our parent ignores */
}

int cli_program_run(const cli_command *command, int count, char **words) {
  cli_args args;
  kdl_status status = cli_args_parse(command, count, words, &args);
  int code;
  if (status != KDL_OK) {
    code = cli_finish(status);
  } else if (args.help) {
    cli_command_help(command);
    code = CLI_EXIT_FINE;
  } else {
    code = command->run(&args);
  }
  cli_args_free(&args);
  return code;
}

int cli_program_end(int code) {
  kdl_status flushed = cli_output_flush();
  return flushed != KDL_OK && code == CLI_EXIT_FINE ? cli_finish(flushed) : code;
}
