/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/error.h"
#include "base/nearest.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/response.h"
#include "commands.h"
#include "container/codec.h"

#include <kdl/kdl.h>

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = {
    &cli_command_ls,    &cli_command_pack,    &cli_command_extract, &cli_command_annotate,
    &cli_command_merge, &cli_command_thin,    &cli_command_link,    &cli_command_verify,
    &cli_command_embed, &cli_command_devices, &cli_command_doctor,  &cli_command_explain,
    &cli_command_which, &cli_command_run,     &cli_command_cc,      &cli_command_cache,
    &cli_command_bench, &cli_command_trace,
};
enum { command_count = sizeof commands / sizeof *commands };

static const cli_command *find_command(const char *name) {
  for (size_t i = 0; i < command_count; ++i) {
    if (strcmp(commands[i]->name, name) == 0)
      return commands[i];
  }
  return NULL;
}

static void print_help(FILE *out) {
  fputs(
      "usage: kdl COMMAND [OPTION...] [OPERAND...]\n"
      "\n"
      "Lists, makes and changes fat binaries: files that carry compiled kernels for several\n"
      "devices. Reads OffloadBinary, Clang offload bundles, CUDA fatbins, ELF files and archives\n"
      "that carry them, and bare device images; writes OffloadBinary. Says which image a device\n"
      "would take, and why; launches kernels. Drivers are loaded only by run, and to learn what\n"
      "this machine has.\n"
      "\n"
      "commands:\n",
      out);
  for (size_t i = 0; i < command_count; ++i)
    fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
  fputs("  help       the same as COMMAND --help\n"
        "\n"
        "SELECT, where a command takes one, is an index as 'kdl ls' prints it, or\n"
        "key=value,key=value with kind (the offload kind), image_kind, triple, arch or any\n"
        "metadata key. FILE may be '-' for standard input, OUT for standard output.\n"
        "\n"
        "exit codes: 0 fine, 1 the file is bad, 2 the call is wrong, 3 nothing fits,\n"
        "4 a device or driver failed\n",
        out);
}

static int unknown_command(const char *name) {
  kdl_nearest nearest = kdl_nearest_to((kdl_string){name, strlen(name)});
  for (size_t i = 0; i < command_count; ++i)
    kdl_nearest_offer(&nearest, commands[i]->name);
  return cli_finish(kdl_fail(KDL_BAD_CALL, "unknown command '%s'%s%s%s (see 'kdl --help')", name,
                             nearest.best ? "; did you mean '" : "",
                             nearest.best ? nearest.best : "", nearest.best ? "'?" : ""));
}

static int run_command(const cli_command *command, int count, char **words) {
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

/* Files compressed otherwise are refused; libraries may be missing here, or left out of the build.
 */
static void print_version(void) {
  printf("kdl %s\n", kdl_version());
  for (kdl_codec codec = KDL_CODEC_ZSTD; codec <= KDL_CODEC_LZ4; ++codec) {
    bool works = kdl_codec_check(codec) == KDL_OK;
    printf("reads %s: %s\n", kdl_codec_name(codec), works ? "yes" : kdl_error_message());
  }
}

static int run(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return CLI_EXIT_BAD_CALL;
  }
  const char *word = argv[1];
  if (strcmp(word, "--version") == 0) {
    print_version();
    return CLI_EXIT_FINE;
  }
  bool help = strcmp(word, "help") == 0;
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (help && argc == 2)) {
    print_help(stdout);
    return CLI_EXIT_FINE;
  }
  const cli_command *command = find_command(help ? argv[2] : word);
  if (!command)
    return unknown_command(help ? argv[2] : word);
  cli_report_set_name("kdl", command->name);
  if (help) {
    cli_command_help(command);
    return CLI_EXIT_FINE;
  }
  return run_command(command, argc - 2, argv + 2);
}

/* The name LLVM gives its packager, an older name, or either with a version after it. */
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

/* With LLVM's exit codes, of which there are two. */
static int run_as_llvm(int count, char **words) {
  cli_words expanded;
  kdl_status status = cli_words_expand(count, words, &expanded);
  int code = status == KDL_OK ? run_command(&cli_command_llvm_offload_binary, (int)expanded.count,
                                            expanded.items)
                              : cli_finish(status);
  cli_words_free(&expanded);
  return code ? EXIT_FAILURE : EXIT_SUCCESS;
}

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

int main(int argc, char **argv) {
  setlocale(LC_CTYPE, "");
  signal(SIGBUS, on_sigbus);
  signal(SIGXFSZ, SIG_IGN); /* over a size limit, write() fails and the half file is removed */
  signal(SIGPIPE, SIG_DFL); /* a reader that stops early is no error, whatever our parent ignores */
  const char *slash = argc ? strrchr(argv[0], '/') : NULL;
  const char *program = slash ? slash + 1 : argc ? argv[0] : "kdl";
  int code;
  if (is_llvm_name(program)) {
    cli_report_set_name(program, NULL);
    code = run_as_llvm(argc - 1, argv + 1);
  } else {
    code = run(argc, argv);
  }
  kdl_status flushed = cli_output_flush();
  if (flushed != KDL_OK && code == CLI_EXIT_FINE)
    code = cli_finish(flushed);
  return code;
}
