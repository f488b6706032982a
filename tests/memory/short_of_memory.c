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
 *     starter   the first allocation of each place fails, in the first process and in none that it
 *               starts: for programs of cmocka's, whose tests run one at a time
 *     started   the same in every process that it starts, by fork or as another run of itself, and
 *               not in the first
 *
 * Each run ends as the one with enough memory does, with the same output; or it says what was
 * short, with an exit code below 5. Programs (from `program` on) may end as they like, but not by
 * a signal or with a report of a sanitizer, in whichever process.
 *
 * KDL_SHORT_FOLDER names a folder that the command changes: before each run it is made a copy of
 * the one of that name with .before behind it. A run that ends as the one with enough memory does
 * leaves what that one left; any other leaves the folder as it was, or with KDL_SHORT_MAY_GROW what
 * was in it as it was.
 *
 * With KDL_SHORT_MAY_NOTE a run may also give another output where it says what was short.
 */
#include "fail_allocation.h"
#include "folder.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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
enum { reported = 86, most_exit_codes = 5, longest_run_s = 60, most_problems = 20, not_run = 126 };

typedef struct {
  const char *name;
  unsigned part;    /* n grows by n / part; 0: by 1 */
  unsigned callers; /* how many of them make a place; 0: by number */
  bool is_program, onwards;
  kdl_fail_where where;
} way;

static const way ways[] = {
    {.name = "one"},
    {.name = "places", .callers = 16},
    {.name = "onwards", .onwards = true},
    {.name = "program", .part = 50, .is_program = true},
    {.name = "sample", .part = 4, .is_program = true},
    {.name = "started", .callers = 6, .is_program = true, .where = KDL_FAIL_IN_OTHERS},
    {.name = "starter", .callers = 6, .is_program = true, .where = KDL_FAIL_IN_FIRST},
};

static const way *way_named(const char *name) {
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(ways[i].name, name) == 0)
      return &ways[i];
  }
  return NULL;
}

/* Where cmocka would take a crash for a failed test. */
const char *__asan_default_options(void) {
  return "exitcode=86:handle_segv=2:handle_sigfpe=2";
}

/* A test that fails leaves behind what it has. */
int __lsan_is_turned_off(void) {
  const char *name = getenv("KDL_SHORT_OF_MEMORY");
  const way *how = name ? way_named(name) : NULL;
  return how && how->is_program;
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
  uint64_t folder; /* what the run left in the folder */
  bool is_kept;    /* what was in the folder before */
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

/* Processes that a run has left behind are this one's now. */
static void end_those_left(void) {
  while (waitpid(-1, NULL, WNOHANG) >= 0) {
    char path[64], text[4096] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
      fclose(file);
    text[got] = '\0';
    for (char *next = text, *end; strtol(next, &end, 10) > 0; next = end)
      kill((pid_t)strtol(next, NULL, 10), SIGKILL);
    usleep(1000);
  }
}

/* The environment variable in which a process is told which of its allocations fail. */
static const char told_in[] = "FAIL_ALLOCATION"; /* no KDL_: kdl doctor shows those */

static void tell_process(const kdl_failure *which, bool is_survey) {
  char text[160];
  snprintf(text, sizeof text, "%d %d %u %d %" PRIu64 " %u %d %d", (int)getpid(), (int)which->where,
           which->at, which->onwards, which->place, which->callers, which->fd, is_survey);
  setenv(told_in, text, 1);
}

static void take_failure(const char *text) {
  int first, where, onwards, fd, is_survey;
  kdl_failure which;
  if (sscanf(text, "%d %d %u %d %" SCNu64 " %u %d %d", &first, &where, &which.at, &onwards,
             &which.place, &which.callers, &fd, &is_survey) != 8)
    abort();
  which.first = first;
  which.where = (kdl_fail_where)where;
  which.onwards = onwards != 0;
  which.fd = fd;
  if (is_survey)
    kdl_survey_allocations(&which);
  else
    kdl_fail_allocation(&which);
}

/* The program's own, where it has one. */
__attribute__((weak)) void cmocka_set_test_filter(const char *pattern);

typedef struct {
  const way *how;
  int argc;
  char **argv;
} program;

/* One run, of one test where one is named: with enough memory where neither a number nor a place
 * is. */
static ending run(const program *of, const char *test, unsigned at, uint64_t place) {
  const way *how = of->how;
  const char *folder = getenv("KDL_SHORT_FOLDER");
  int out = make_file("out"), err = make_file("err"), seen = make_file("seen");
  static bool is_unchanged; /* by the last run */
  char before[4096] = "";
  if (folder) {
    snprintf(before, sizeof before, "%s.before", folder);
    if (!is_unchanged)
      kdl_folder_copy(before, folder);
  }
  fflush(NULL);
  pid_t child = fork();
  if (child < 0)
    stop("fork");
  if (child == 0) {
    kdl_failure which = {.where = how->where,
                         .at = at,
                         .onwards = how->onwards,
                         .place = place,
                         .callers = how->callers,
                         .fd = seen};
    tell_process(&which, at == 0 && place == 0 && how->callers != 0);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    alarm(longest_run_s);
    if (test)
      cmocka_set_test_filter(test);
    exit(__wrap_main(of->argc, of->argv));
  }
  ending end = {0};
  if (waitpid(child, &end.status, 0) != child)
    stop("waitpid");
  end_those_left();
  size_t size;
  end.out = text_of(out, &size);
  end.err = text_of(err, &size);
  end.places = text_of(seen, &size);
  end.place_count = at == 0 && place == 0 ? size / sizeof *end.places : 0;
  end.reached = size > 0;
  if (folder) {
    uint64_t was = kdl_folder_digest(before, before);
    end.folder = kdl_folder_digest(folder, folder);
    is_unchanged = end.folder == was;
    end.is_kept =
        is_unchanged || (getenv("KDL_SHORT_MAY_GROW") && kdl_folder_digest(folder, before) == was);
  } else {
    end.is_kept = true;
  }
  return end;
}

static void free_ending(ending *end) {
  free(end->out);
  free(end->err);
  free(end->places);
}

static bool says_memory(const ending *end, const ending *whole) {
  static const char *const words[] = {"out of memory", "Cannot allocate memory"};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (strstr(end->out, words[i]) && !strstr(whole->out, words[i]))
      return true;
  }
  return strstr(end->err, "memory") || strstr(end->err, strerror(EAGAIN)); /* for a thread */
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
  bool says = says_memory(end, whole), may_note = getenv("KDL_SHORT_MAY_NOTE") != NULL;
  if (end->status == whole->status && !(may_note && says) && end->folder != whole->folder)
    return "other files, and the same exit code";
  if (end->status != whole->status && !end->is_kept)
    return "an error, and files that are not as they were";
  if (end->status == whole->status) {
    if (strcmp(end->out, whole->out) != 0 && !((code != 0 || may_note) && says))
      return "another output, and the same exit code";
    return strcmp(end->err, whole->err) == 0 || says ? NULL : "another message";
  }
  if ((code >= most_exit_codes && code != not_run) || code == 0)
    return "another exit code";
  return says ? NULL : "an error that does not name memory";
}

/* ------------------------------------------------------------------------------------------ */
/* All runs of a program                                                                        */

typedef struct {
  program of;
  const char *test; /* or NULL */
  ending whole;
  uint64_t *places; /* whose first allocation has failed */
  size_t place_count;
  unsigned problems, refused, runs;
} series;

/* The run in which allocation `at`, or the first of a place, was to fail. */
static void judge(series *s, const ending *end, unsigned at, bool by_place) {
  const char *found = problem(end, &s->whole, s->of.how->is_program);
  if (found) {
    ++s->problems;
    printf("%s: allocation %u%s: %s: exit code %d\n%s%s\n", s->test ? s->test : s->of.argv[0], at,
           by_place ? " by place" : "", found, WEXITSTATUS(end->status), end->out, end->err);
  }
  s->runs += end->reached;
  s->refused += end->status != s->whole.status || s->whole.status != 0;
}

static bool is_new_place(series *s, uint64_t place) {
  for (size_t i = 0; i < s->place_count; ++i) {
    if (s->places[i] == place)
      return false;
  }
  s->places = realloc(s->places, (s->place_count + 1) * sizeof *s->places);
  if (!s->places)
    stop("places");
  s->places[s->place_count++] = place;
  return true;
}

/* The first is the whole run; false where something is wrong with it. */
static bool take_whole(series *s, const ending *end) {
  s->whole = *end;
  const char *wrong = problem(end, end, s->of.how->is_program);
  if (wrong) {
    ++s->problems;
    printf("with enough memory: %s\n%s%s\n", wrong, end->out, end->err);
  }
  return !wrong;
}

/* The next number, or the next place that is not known yet. */
static bool next_allocation(series *s, unsigned *at, uint64_t *place) {
  const way *how = s->of.how;
  if (how->callers == 0) {
    *at += 1 + (how->part ? *at / how->part : 0);
    return true;
  }
  for (; *at < s->whole.place_count; ++*at) {
    *place = s->whole.places[*at];
    if (is_new_place(s, *place)) {
      ++*at;
      return true;
    }
  }
  return false;
}

/* All are run from one place in this program: the callers of an allocation are the same each time.
 */
static void run_each(series *s, const char *test) {
  unsigned at = 0;
  uint64_t place = 0;
  bool goes_on = true, is_whole = true;
  for (s->test = test; goes_on; is_whole = false) {
    ending end = run(&s->of, test, at, place);
    if (is_whole) {
      goes_on = take_whole(s, &end);
    } else {
      judge(s, &end, at, place != 0);
      goes_on = (end.reached || place != 0) && s->problems < most_problems;
      free_ending(&end);
    }
    goes_on = goes_on && next_allocation(s, &at, &place);
  }
  free_ending(&s->whole);
}

/* The tests of a program of cmocka's, as it says itself. */
static void run_each_test(series *s) {
  static const char said[] = "[ RUN      ] ";
  ending all = run(&s->of, NULL, 0, 0);
  for (char *line = strtok(all.out, "\n"); line; line = strtok(NULL, "\n")) {
    if (strncmp(line, said, sizeof said - 1) != 0)
      continue;
    unsigned before = s->runs;
    run_each(s, line + sizeof said - 1);
    printf("%s: %u\n", s->test, s->runs - before);
  }
  free_ending(&all);
}

static int each(const way *how, int argc, char **argv) {
  series s = {.of = {how, argc, argv}};
  if (how->is_program && how->callers && cmocka_set_test_filter)
    run_each_test(&s);
  else
    run_each(&s, NULL);
  printf("%u allocations failed, %u runs cut short, %u problems\n", s.runs, s.refused, s.problems);
  free(s.places);
  return s.problems || (how->callers && s.runs == 0) || (!how->is_program && s.refused < 3);
}

int __wrap_main(int argc, char **argv) {
  const char *name = getenv("KDL_SHORT_OF_MEMORY"), *told = getenv(told_in);
  if (!name)
    return __real_main(argc, argv);
  if (told) {
    take_failure(told);
    return __real_main(argc, argv);
  }
  const way *how = way_named(name);
  if (!how) {
    fprintf(stderr, "KDL_SHORT_OF_MEMORY: found '%s'\n", name);
    return 2;
  }
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    stop("prctl");
  return each(how, argc, argv);
}
/* NOLINTEND(bugprone-reserved-identifier) */
