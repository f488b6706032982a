/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A kdl-ld that does as it is told by the environment, for tests of what libkdl makes of it:
 *
 *     KDL_FAKE_LD          what to do, a row of `acts` below; "image" where it is not set
 *     KDL_FAKE_LD_IMAGE    the file that is written as the linked image
 *     KDL_FAKE_LD_FOLDED        what to do with --fold, in place of KDL_FAKE_LD
 *     KDL_FAKE_LD_FOLDED_IMAGE  the file with --fold, in place of KDL_FAKE_LD_IMAGE
 *     KDL_FAKE_LD_DEPENDS  a path that the report names as one the image depends on
 *     KDL_FAKE_LD_LOG      a file to which each run appends its arguments, on a line
 *
 * Never sanitized: it is run with little memory.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int argument_count;
static char **arguments;

static const char *find_option(const char *name) {
  size_t length = strlen(name);
  for (int i = 1; i < argument_count; ++i) {
    if (strncmp(arguments[i], "--", 2) == 0 && strncmp(arguments[i] + 2, name, length) == 0 &&
        arguments[i][2 + length] == '=')
      return arguments[i] + 3 + length;
  }
  return NULL;
}

static const char *option(const char *name) {
  const char *value = find_option(name);
  if (value)
    return value;
  fprintf(stderr, "fake kdl-ld: found no --%s\n", name);
  exit(2);
}

static void write_file(const char *path, const void *data, size_t size) {
  int fd = open(path, O_WRONLY | O_TRUNC);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0) {
    fprintf(stderr, "fake kdl-ld: %s: cannot write\n", path);
    exit(2);
  }
}

static char *read_file(const char *path, size_t *out_size) {
  int fd = open(path, O_RDONLY);
  struct stat info = {.st_size = 0};
  if (fd < 0 || fstat(fd, &info) != 0) {
    fprintf(stderr, "fake kdl-ld: %s: cannot read\n", path);
    exit(2);
  }
  char *data = malloc((size_t)info.st_size + 1);
  *out_size = (size_t)read(fd, data, (size_t)info.st_size);
  close(fd);
  return data;
}

static void write_report(size_t size) {
  const char *depends = getenv("KDL_FAKE_LD_DEPENDS");
  char text[8192];
  int used = snprintf(text, sizeof text,
                      "{\"report\": 1, \"depends\": [%s%s%s], \"output\": {\"bytes\": %zu}}\n",
                      depends ? "\"" : "", depends ? depends : "", depends ? "\"" : "", size);
  write_file(option("report"), text, (size_t)used);
}

/* ------------------------------------------------------------------------------------------ */
/* Acts                                                                                         */

static int give_image(void) {
  size_t size;
  const char *path = find_option("fold") ? getenv("KDL_FAKE_LD_FOLDED_IMAGE") : NULL;
  path = path ? path : getenv("KDL_FAKE_LD_IMAGE");
  char *data = read_file(path ? path : "/dev/null", &size);
  write_file(option("output"), data, size);
  write_report(size);
  free(data);
  return 0;
}

static int give_slowly(void) {
  usleep(100000);
  return give_image();
}

static int give_without_report(void) {
  size_t size;
  char *data = read_file(getenv("KDL_FAKE_LD_IMAGE"), &size);
  write_file(option("output"), data, size);
  free(data);
  return 0;
}

static int refuse(void) {
  fprintf(stderr,
          "kdl-ld: warning: this is not the reason\n"
          "kdl-ld: error: %s: found no microkernel 'dot'\n"
          "kdl-ld: error: did you mean 'dots' of %s?\n",
          option("caller"), option("ukernels"));
  return 1;
}

static int crash(void) {
  fprintf(stderr, "LLVM ERROR: something unforeseen\n");
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
  return 0;
}

static int exit_with_three(void) {
  return 3;
}

/* Half of the image, then death. */
static int give_half(void) {
  size_t size;
  char *data = read_file(getenv("KDL_FAKE_LD_IMAGE"), &size);
  write_file(option("output"), data, size / 2);
  free(data);
  raise(SIGKILL);
  return 0;
}

/* With a child that hangs as well, and outlives its parent. */
static int hang(void) {
  const char *log = getenv("KDL_FAKE_LD_LOG");
  pid_t child = fork();
  if (child == 0) {
    for (;;)
      pause();
  }
  FILE *file = log ? fopen(log, "a") : NULL;
  if (file) {
    fprintf(file, "child %d\n", (int)child);
    fclose(file);
  }
  while (pause() != 0)
    ;
  return 0;
}

static int spin(void) {
  volatile unsigned long turns = 1;
  while (turns)
    turns += 2;
  return 0;
}

static int eat_memory(void) {
  const size_t piece = 1 << 20;
  size_t eaten = 0;
  for (;; ++eaten) {
    char *volatile memory = malloc(piece); /* else compilers see that it is not read */
    if (!memory)
      break;
    memset(memory, 1, piece);
  }
  fprintf(stderr, "kdl-ld: error: out of memory%s\n", eaten < 200 ? " soon" : " late");
  return 1;
}

static int give_garbage(void) {
  write_file(option("output"), "neither fish nor fowl", 21);
  write_report(21);
  return 0;
}

static int give_bitcode(void) {
  write_file(option("output"),
             "BC\xc0\xde"
             "1234",
             8);
  write_report(8);
  return 0;
}

static int give_nothing(void) {
  write_report(0);
  return 0;
}

/* More than is ever read. */
static int give_too_much(void) {
  static char piece[1 << 20];
  int fd = open(option("output"), O_WRONLY | O_TRUNC);
  for (;;) {
    if (write(fd, piece, sizeof piece) < 0)
      return 1;
  }
}

static int talk_forever(void) {
  while (fprintf(stderr, "and another thing\n") > 0)
    ;
  return 0;
}

static int give_report_of_garbage(void) {
  int code = give_image();
  write_file(option("report"), "{\"report\": ", 11);
  return code;
}

/* What is open, and which signals are blocked or ignored. */
static int tell_state(void) {
  FILE *log = fopen(getenv("KDL_FAKE_LD_LOG"), "a");
  char line[256];
  DIR *folder = opendir("/proc/self/fd");
  fprintf(log, "open");
  for (struct dirent *item; folder && (item = readdir(folder));) {
    int fd = atoi(item->d_name);
    if (item->d_name[0] != '.' && fd != fileno(log) && fd != dirfd(folder))
      fprintf(log, " %d", fd);
  }
  closedir(folder);
  fprintf(log, "\ngroup %s\n", getpgrp() == getpid() ? "own" : "shared");
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) {
    if (strncmp(line, "SigBlk:", 7) == 0)
      fputs(line, log);
  }
  struct sigaction action;
  sigaction(SIGUSR2, NULL, &action);
  fprintf(log, "ignored SIGUSR2: %s\n", action.sa_handler == SIG_IGN ? "yes" : "no");
  if (status)
    fclose(status);
  fclose(log);
  return give_image();
}

/* Any of the above, as the caller's bytes would have it. */
static int be_moody(void);

static const struct {
  const char *name;
  int (*act)(void);
} acts[] = {
    {"image", give_image},
    {"slow", give_slowly},
    {"no-report", give_without_report},
    {"bad-report", give_report_of_garbage},
    {"refuse", refuse},
    {"crash", crash},
    {"status", exit_with_three},
    {"half", give_half},
    {"garbage", give_garbage},
    {"bitcode", give_bitcode},
    {"nothing", give_nothing},
    {"hang", hang},
    {"spin", spin},
    {"eat", eat_memory},
    {"too-much", give_too_much},
    {"talk", talk_forever},
    {"state", tell_state},
    {"moody", be_moody},
};
enum { act_count = sizeof acts / sizeof *acts, quick_acts = 11 };

static int be_moody(void) {
  size_t size;
  unsigned sum = 0;
  char *data = read_file(option("caller"), &size);
  for (size_t i = 0; i < size; ++i)
    sum = sum * 31 + (unsigned char)data[i];
  free(data);
  return acts[sum % quick_acts].act();
}

static void log_arguments(void) {
  const char *path = getenv("KDL_FAKE_LD_LOG");
  char line[16384];
  size_t used = 0;
  for (int i = 1; i < argument_count && used < sizeof line; ++i)
    used += (size_t)snprintf(line + used, sizeof line - used, "%s%c", arguments[i],
                             i + 1 < argument_count ? ' ' : '\n');
  int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
  if (fd >= 0 && (used >= sizeof line || write(fd, line, used) != (ssize_t)used))
    exit(2);
  if (fd >= 0)
    close(fd);
}

int main(int argc, char **argv) {
  argument_count = argc;
  arguments = argv;
  const char *folded = find_option("fold") ? getenv("KDL_FAKE_LD_FOLDED") : NULL;
  const char *wanted = folded ? folded : getenv("KDL_FAKE_LD");
  log_arguments();
  for (size_t i = 0; i < act_count; ++i) {
    if (strcmp(acts[i].name, wanted ? wanted : "image") == 0)
      return acts[i].act();
  }
  fprintf(stderr, "fake kdl-ld: found no act '%s'\n", wanted);
  return 2;
}
