/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * kdl diff of two files, and its budgets. The first three bytes of the input are where it is split
 * and how the command is called; then come the old file, the new one, and what is left of the
 * budget, which every call also parses.
 */
#include "pack/commands.h"
#include "pack/diff/diff.h"
#include "tools/common/report.h"

#include <kdl/kdl.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { path_room = 64, head_size = 3, budget_size = 48 };

static char folder[] = "/tmp/kdl-fuzz-diff-XXXXXX";
static char paths[3][path_room]; /* old, new, budget */

static void leave(void) {
  for (size_t i = 0; i < 3; ++i)
    unlink(paths[i]);
  rmdir(folder);
}

static void start(void) {
  FILE *nowhere = fopen("/dev/null", "we");
  if (!nowhere || !mkdtemp(folder))
    abort();
  stdout = stderr = nowhere;
  for (size_t i = 0; i < 3; ++i)
    snprintf(paths[i], sizeof paths[i], "%s/%zu", folder, i);
  atexit(leave);
}

static void write_file(const char *path, const uint8_t *data, size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
    abort();
}

static bool parse_budget(const uint8_t *data, size_t size) {
  diff_budget *budget;
  if (diff_budget_parse("budget", (kdl_string){(const char *)data, size}, &budget) != KDL_OK)
    return false;
  diff_budget_free(budget);
  return true;
}

static int run(uint8_t how, bool has_budget) {
  char budget[path_room + 16], *words[9] = {NULL};
  int count = 0;
  words[count++] = paths[0];
  words[count++] = paths[1];
  if (how & 1)
    words[count++] = "--device=h200";
  if (how & 2)
    words[count++] = "--long";
  if (how & 4)
    words[count++] = how & 8 ? "--json" : "--markdown";
  if (how & 16)
    words[count++] = "--fail-on=any";
  if (has_budget) {
    snprintf(budget, sizeof budget, "--budget=%s", paths[2]);
    words[count++] = budget;
  }
  cli_args args;
  cli_report_set_name("kdl", "diff");
  if (cli_args_parse(&cli_command_diff, count, words, &args) != KDL_OK)
    abort();
  int code = cli_run_diff(&args);
  cli_args_free(&args);
  return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool started;
  if (size < head_size)
    return 0;
  if (!started)
    start();
  started = true;
  size_t split = (size_t)data[0] << 8 | data[1];
  uint8_t how = data[2];
  data += head_size;
  size -= head_size;
  size_t budget = size < budget_size ? size : budget_size;
  split = split < size ? split : size;
  write_file(paths[0], data, split);
  write_file(paths[1], data + split, size - split);
  write_file(paths[2], data + size - budget, budget);
  int code = run(how, parse_budget(data + size - budget, budget) && how & 32);
  if (code < CLI_EXIT_SUCCESS || code > CLI_EXIT_NO_MATCH)
    abort();
  return 0;
}
