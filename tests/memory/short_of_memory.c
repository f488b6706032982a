/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The program that this file is linked into, with each of its allocations failing in turn: it runs
 * once per allocation, in a process of its own, until there is none of that number. How is for
 * KDL_SHORT_OF_MEMORY to say; without it the program runs as ever.
 *
 *     one       allocation n fails
 *     places    the same, for the first of each place in the code
 *     onwards   allocation n fails, and all that follow
 *     program   allocation n fails, where n grows by a fiftieth of itself, and at least by one
 *     sample    the same, and n grows by a quarter: for programs that take long
 *
 * Each run ends as the one with enough memory does, with the same output; or it says what was
 * short, with an exit code below 5. With `program` and `sample` it may end as it likes, but not by
 * a signal or with a report of a sanitizer.
 */
#include "fail_allocation.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names, and the sanitizers' */
int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);
const char *__asan_default_options(void);
const char *__lsan_default_options(void);
int __lsan_is_turned_off(void);
const char *__ubsan_default_options(void);

/* What a sanitizer ends a process with, and limits. */
enum { reported = 86, most_exit_codes = 5, longest_run_s = 60, most_problems = 20 };

/* Where cmocka would take a crash for a failed test. */
const char *__asan_default_options(void) {
  return "exitcode=86:handle_segv=2:handle_sigfpe=2";
}

/* By how large a part of itself n grows, for programs that end as they like; 0 for commands. */
static unsigned part_of(const char *how) {
  return strcmp(how, "program") == 0 ? 50 : strcmp(how, "sample") == 0 ? 4 : 0;
}

/* A test that fails leaves behind what it has. */
int __lsan_is_turned_off(void) {
  const char *how = getenv("KDL_SHORT_OF_MEMORY");
  return how && part_of(how) != 0;
}

const char *__lsan_default_options(void) {
  return "exitcode=86";
}

const char *__ubsan_default_options(void) {
  return "exitcode=86";
}

typedef struct {
  bool reached;
  int status; /* as waitpid gives it */
  char *out, *err;
  uint64_t *places; /* of its allocations, where none failed */
  size_t place_count;
} ending;

static _Noreturn void stop(const char *what) {
  perror(what);
  exit(2);
}

static void *text_of(int fd, size_t *out_size) {
  off_t size = lseek(fd, 0, SEEK_END);
  char *text = size < 0 ? NULL : malloc((size_t)size + 1);
  if (!text || pread(fd, text, (size_t)size, 0) != size)
    stop("cannot read what a run wrote");
  text[size] = '\0';
  *out_size = (size_t)size;
  close(fd);
  return text;
}

static int make_file(const char *name) {
  int fd = memfd_create(name, 0); /* programs that the program starts write to it too */
  if (fd < 0)
    stop(name);
  return fd;
}

static ending run(unsigned at, const char *how, int argc, char **argv) {
  int out = make_file("out"), err = make_file("err"), seen = make_file("seen");
  fflush(NULL);
  pid_t child = fork();
  if (child < 0)
    stop("fork");
  if (child == 0) {
    char arm[64];
    snprintf(arm, sizeof arm, "%u:%d:%d", at, strcmp(how, "onwards") == 0, seen);
    setenv("KDL_FAIL_ALLOCATION", arm, 1);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    alarm(longest_run_s);
    exit(__wrap_main(argc, argv));
  }
  ending end = {0};
  if (waitpid(child, &end.status, 0) != child)
    stop("waitpid");
  size_t size;
  end.out = text_of(out, &size);
  end.err = text_of(err, &size);
  end.places = text_of(seen, &size);
  end.place_count = at == 0 ? size / sizeof *end.places : 0;
  end.reached = size > 0;
  return end;
}

static void free_ending(ending *end) {
  free(end->out);
  free(end->err);
  free(end->places);
}

/* Whether an allocation is not the first of its place. */
static bool is_known(const ending *whole, unsigned at) {
  size_t i = 0;
  while (at <= whole->place_count && whole->places[i] != whole->places[at - 1])
    ++i;
  return at <= whole->place_count && i + 1 < at;
}

/* What is wrong with a run, or NULL. */
static const char *problem(const ending *end, const ending *whole, bool is_program) {
  int code = WEXITSTATUS(end->status);
  if (WIFSIGNALED(end->status))
    return strsignal(WTERMSIG(end->status));
  if (code == reported || strstr(end->err, "Sanitizer") || strstr(end->err, "runtime error:"))
    return "a sanitizer's report";
  if (is_program)
    return NULL;
  bool says = strstr(end->err, "memory") != NULL;
  if (end->status == whole->status) {
    if (strcmp(end->out, whole->out) != 0 && !(code != 0 && says))
      return "another output, and the same exit code";
    return strcmp(end->err, whole->err) == 0 || says ? NULL : "another message";
  }
  if (code >= most_exit_codes || code == 0)
    return "another exit code";
  return says ? NULL : "an error that does not name memory";
}

static int each(const char *how, int argc, char **argv) {
  const unsigned part = part_of(how);
  bool is_program = part != 0, by_place = strcmp(how, "places") == 0;
  unsigned problems = 0, refused = 0, runs = 0;
  ending whole = run(0, how, argc, argv);
  const char *wrong = problem(&whole, &whole, is_program);
  bool more = !wrong;
  for (unsigned at = 1; more && problems < most_problems; at += 1 + (part ? at / part : 0)) {
    if (by_place && is_known(&whole, at))
      continue;
    ending end = run(at, how, argc, argv);
    more = end.reached;
    const char *found = problem(&end, &whole, is_program);
    if (found) {
      ++problems;
      printf("allocation %u: %s: exit code %d\n%s%s\n", at, found, WEXITSTATUS(end.status), end.out,
             end.err);
    }
    runs += more;
    refused += end.status != whole.status;
    free_ending(&end);
  }
  if (wrong)
    printf("with enough memory: %s\n%s%s\n", wrong, whole.out, whole.err);
  printf("%u allocations failed, %u runs cut short, %u problems\n", runs, refused, problems);
  free_ending(&whole);
  return wrong || problems || (!is_program && refused < 3);
}

int __wrap_main(int argc, char **argv) {
  const char *how = getenv("KDL_SHORT_OF_MEMORY"), *arm = getenv("KDL_FAIL_ALLOCATION");
  unsigned at;
  int onwards, fd;
  if (!how)
    return __real_main(argc, argv);
  if (!arm)
    return each(how, argc, argv);
  if (sscanf(arm, "%u:%d:%d", &at, &onwards, &fd) != 3)
    abort();
  if (at == 0 && strcmp(how, "places") == 0)
    kdl_survey_allocations(fd);
  else
    kdl_fail_allocation(at, onwards != 0, fd);
  return __real_main(argc, argv);
}
/* NOLINTEND(bugprone-reserved-identifier) */
