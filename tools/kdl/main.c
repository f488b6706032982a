/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/formats.h"
#include "support/base/error.h"
#include "support/base/nearest.h"
#include "support/base/text.h"
#include "tools/common/program_folder.h"
#include "tools/common/report.h"
#include "tools/common/response_file.h"
#include "tools/kdl/commands.h"

#include <kdl/kdl.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Starts a subcommand that is a separate program: kdl-NAME, in this program's folder. Returns where
 * it cannot be started. `argv` is NULL-terminated. */
static int start_program(const char *name, char **argv) {
  char file[32], path[PATH_MAX];
  snprintf(file, sizeof file, "kdl-%s", name);
  if (!cli_program_file(file, path))
    return cli_report_status(kdl_fail(KDL_IO, "cannot find the folder of this program"));
  execv(path, argv);
  return cli_report_status(
      kdl_fail(kdl_status_from_errno(errno), "%s: cannot start it: %s", path, strerror(errno)));
}

static void print_command(FILE *out, const cli_command *command) {
  enum { indent = 13 };
  fprintf(out, "  %-*s", indent - 2, command->name);
  cli_help_wrap(out, kdl_text_of(command->summary), indent, indent);
}

static void print_paragraph(FILE *out, const char *text) {
  fputc('\n', out);
  cli_help_wrap(out, kdl_text_of(text), 0, 0);
}

static void print_help(FILE *out) {
  fputs("usage: kdl COMMAND [OPTION...] [OPERAND...]\n", out);
  print_paragraph(out,
                  "Lists, creates and changes fat binaries: files with compiled kernels for "
                  "several devices. Says which image a device would select, and why; launches "
                  "kernels. Drivers are loaded only by run, tune and bench, which launch, and to "
                  "list the devices of this machine.");
  for (const cli_command *const *command = cli_commands; *command; ++command) {
    const char *heading = cli_command_heading(command);
    if (heading)
      fprintf(out, "\n%s:\n", heading);
    print_command(out, *command);
  }
  print_paragraph(out,
                  "Example: which libraries in a folder run on a V100, and why not the others");
  fputs("  kdl check venv/lib --device=v100\n", out);
  print_paragraph(out, "'kdl help COMMAND' explains a command and its options. SELECT, where a "
                       "command takes one, is an index as 'kdl ls' prints it, or "
                       "key=value,key=value with kind (the offload kind), image_kind, triple, arch "
                       "or any metadata key. FILE may be '-' for standard input, OUT for standard "
                       "output.");
  char codes[256] = "exit codes:";
  for (int code = 0, used = (int)strlen(codes); code < CLI_EXIT_CODES; ++code)
    used += snprintf(codes + used, sizeof codes - (size_t)used, "%s %d %s", code ? "," : "", code,
                     cli_exit_codes[code].name);
  print_paragraph(out, codes);
}

static int unknown_command(const char *name) {
  kdl_nearest nearest = kdl_nearest_to((kdl_string){name, strlen(name)});
  for (const cli_command *const *command = cli_commands; *command; ++command)
    kdl_nearest_add(&nearest, (*command)->name);
  return cli_report_status(kdl_fail(KDL_BAD_CALL, "unknown command '%s'%s%s%s (see 'kdl --help')",
                                    name, nearest.best ? "; did you mean '" : "",
                                    nearest.best ? nearest.best : "", nearest.best ? "'?" : ""));
}

/* Prints the compressions that can be read: their libraries may be missing, or left out of the
 * build. */
static void print_version(void) {
  printf("kdl %s\n", kdl_version());
  for (kdl_codec codec = KDL_CODEC_ZSTD; codec <= KDL_CODEC_LZ4; ++codec) {
    bool works = kdl_codec_check(codec) == KDL_OK;
    printf("reads %s: %s\n", kdl_codec_name(codec), works ? "yes" : kdl_error_message());
  }
}

static int run_kdl(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return CLI_EXIT_USAGE_ERROR;
  }
  const char *word = argv[1];
  if (strcmp(word, "--version") == 0) {
    print_version();
    return CLI_EXIT_SUCCESS;
  }
  bool help = strcmp(word, "help") == 0;
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (help && argc == 2)) {
    print_help(stdout);
    return CLI_EXIT_SUCCESS;
  }
  const char *name = help ? argv[2] : word;
  const cli_command *command = cli_command_find(name);
  if (!command)
    return unknown_command(name);
  cli_report_set_name("kdl", command->name);
  if (help) {
    cli_command_help(command);
    return CLI_EXIT_SUCCESS;
  }
  if (!command->run)
    return start_program(name, argv + 1);
  return cli_program_run(command, argc - 2, argv + 2);
}

/* LLVM's name for its packager, an older name, or either followed by a version. */
static bool is_llvm_name(const char *program) {
  static const char *const names[] = {"llvm-offload-binary", "clang-offload-packager"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    size_t length = strlen(names[i]);
    if (strncmp(program, names[i], length) == 0 &&
        (!program[length] || program[length] == '-' || program[length] == '.'))
      return true;
  }
  return false;
}

/* Uses LLVM's two exit codes. */
static int run_as_llvm(int count, char **words) {
  cli_expanded_args expanded;
  kdl_status status = cli_expanded_args_read(count, words, &expanded);
  int code = status == KDL_OK ? cli_program_run(&cli_command_llvm_offload_binary,
                                                (int)expanded.count, expanded.items)
                              : cli_report_status(status);
  cli_expanded_args_free(&expanded);
  return code ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  cli_program_begin();
  const char *slash = argc ? strrchr(argv[0], '/') : NULL;
  const char *program = slash ? slash + 1 : argc ? argv[0] : "kdl";
  int code;
  if (is_llvm_name(program)) {
    cli_report_set_name(program, NULL);
    code = run_as_llvm(argc - 1, argv + 1);
  } else {
    code = run_kdl(argc, argv);
  }
  return cli_program_end(code);
}
