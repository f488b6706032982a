/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whole commands of the tool, from the command line to the file they write. The last byte of the
 * input says which one; the bytes before it are the file. What a command reports to be written must
 * open again.
 */
#include "tools/common/report.h"
#include "tools/kdl/commands.h"

#include <kdl/kdl.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { most_words = 12, longest_word = 128 };

/* The input, a file that may be written, and a folder for many; '@' stands for where they lie. */
#define IN "@/in"
#define OUT "@/out"
#define IMAGES "@/images"

static const struct {
  const char *command;
  const char *words[most_words];
  bool makes_library;
} calls[] = {
    {"ls", {"--kernels", "--long", IN}, false},
    {"ls", {"--json", "--kernels", IN, IN}, false},
    {"ls", {"--archs", IN}, false},
    {"verify", {"--verbose", IN}, false},
    {"explain", {IN, "--matrix"}, false},
    {"explain", {IN, "--matrix", "--json", "--policy=first"}, false},
    {"explain", {IN, "fill", "--device=h200", "--device=mi300x"}, false},
    {"explain", {IN, "--device=zen4", "--json", "--variant-tag=fast"}, false},
    {"which", {IN, "fill", "--device=h200"}, false},
    {"which", {IN, "k", "--device=pvc", "--policy=capability"}, false},
    {"thin", {IN, "--for=h200,mi300x,zen4", "--verbose", "-o", OUT}, true},
    {"thin", {IN, "--keep=0", "--format=v2", "-o", OUT}, true},
    {"merge", {IN, IN, "-o", OUT}, true},
    {"merge", {"--format=v2", IN, "-o", OUT}, true},
    {"annotate", {IN, "--image=0", "--remove=arch", "tag=x", "-o", OUT}, true},
    {"annotate", {IN, "--image=kind=cuda", "kind=hip", "triple=t", "-o", OUT}, true},
    {"embed", {IN, "--verbose", "-o", OUT}, false},
    {"extract", {IN, "--image=0", "-o", OUT}, false},
    {"extract", {IN, "-o", IMAGES "/"}, false},
    {"extract", {IN, "--for=h200", "-o", OUT}, false},
    {"pack", {"--image=file=" IN, "--index", "-o", OUT}, true},
    {"annotate", {IN, "--image=0", "--digest", "-o", OUT}, true},
    {"pack", {("--image=file=" IN), "--digest", "--format=v2", "-o", OUT}, true},
    {"trace", {"report", IN, "--json=" OUT}, false},
    {"trace", {"report", IN}, false},
    {"trace", {"fold", IN, "-o", OUT}, false},
};
enum { call_count = sizeof calls / sizeof *calls };

static char folder[] = "/tmp/kdl-fuzz-commands-XXXXXX";

static char *expand(const char *word, char out[longest_word]) {
  const char *at = strchr(word, '@');
  int before = at ? (int)(at - word) : 0;
  int used = at ? snprintf(out, longest_word, "%.*s%s%s", before, word, folder, at + 1)
                : snprintf(out, longest_word, "%s", word);
  if (used < 0 || used >= longest_word)
    abort();
  return out;
}

static void clear_images(void) {
  char path[longest_word];
  DIR *images = opendir(expand(IMAGES, path));
  const struct dirent *entry;
  while (images && (entry = readdir(images)))
    unlinkat(dirfd(images), entry->d_name, 0);
  if (images)
    closedir(images);
  rmdir(path);
}

static void leave(void) {
  char path[longest_word];
  clear_images();
  unlink(expand(IN, path));
  unlink(expand(OUT, path));
  rmdir(folder);
}

/* Commands print; libFuzzer has kept the stream that it prints to. No program is started, and no
 * driver asked. */
static void start(void) {
  FILE *nowhere = fopen("/dev/null", "we");
  if (!nowhere || !mkdtemp(folder))
    abort();
  stdout = stderr = nowhere;
  setenv("KDL_LD", "/nonexistent", 1);
  setenv("KDL_DEVICE", "zen4", 1);
  atexit(leave);
}

static void write_input(const uint8_t *data, size_t size) {
  char path[longest_word];
  int fd = open(expand(IN, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
    abort();
}

static int run(const cli_command *command, const char *const *given) {
  char room[most_words][longest_word];
  char *words[most_words + 1] = {NULL};
  int count = 0;
  for (; count < most_words && given[count]; ++count)
    words[count] = expand(given[count], room[count]);
  cli_args args;
  cli_report_set_name("kdl", command->name);
  if (cli_args_parse(command, count, words, &args) != KDL_OK)
    abort(); /* the calls above are right */
  int code = command->run(&args);
  cli_args_free(&args);
  return code;
}

static void check_output(void) {
  char path[longest_word];
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE};
  if (kdl_open(expand(OUT, path), &opts, &lib) != KDL_OK)
    abort();
  kdl_close(lib);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool started;
  char path[longest_word];
  if (size == 0)
    return 0;
  if (!started)
    start();
  started = true;
  size_t call = data[size - 1] % call_count;
  write_input(data, size - 1);
  int code = run(cli_command_find(calls[call].command), calls[call].words);
  if (code < CLI_EXIT_SUCCESS || code > CLI_EXIT_DEVICE_ERROR)
    abort();
  bool is_zip = size > 2 && memcmp(data, "PK", 2) == 0; /* stays one where it is thinned */
  if (code == CLI_EXIT_SUCCESS && calls[call].makes_library && !is_zip)
    check_output();
  unlink(expand(OUT, path));
  clear_images();
  return 0;
}
