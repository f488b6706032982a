/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fail_allocation.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#ifdef KDL_FAIL_IN_LIBC
#include <link.h>
#endif
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The names are the linker's. NOLINTBEGIN(bugprone-reserved-identifier) */

/* Not in a library, where nothing is counted by place. */
extern const char __executable_start __attribute__((weak)), etext __attribute__((weak));

static kdl_failure failure;
static bool is_armed, is_survey;
static pid_t counts_for;
static atomic_uint count; /* of allocations; by place: of those that failed */

#ifdef KDL_FAIL_IN_LIBC
static int find_libc(struct dl_phdr_info *object, size_t size, void *user);
#endif

static void arm(const kdl_failure *which, bool survey) {
#ifdef KDL_FAIL_IN_LIBC
  dl_iterate_phdr(find_libc, NULL);
#endif
  failure = *which;
  is_survey = survey;
  atomic_store(&count, 0);
  counts_for = getpid();
  is_armed = true;
}

void kdl_fail_allocation(const kdl_failure *which) {
  arm(which, false);
}

void kdl_survey_allocations(const kdl_failure *which) {
  arm(which, true);
}

/* Of this program's own code, so that it is the same wherever libraries are mapped. */
__attribute__((noinline)) static uint64_t place_of_caller(void) {
  enum { deepest = 32, own = 2 };
  void *callers[deepest];
  int depth = backtrace(callers, deepest);
  uint64_t place = 14695981039346656037u; /* FNV-1a, of words */
  unsigned taken = 0;
  for (int i = own; i < depth && taken < failure.callers; ++i) {
    uintptr_t at = (uintptr_t)callers[i], start = (uintptr_t)&__executable_start;
    if (at < start || at >= (uintptr_t)&etext)
      continue;
    place = (place ^ (at - start)) * 1099511628211u;
    ++taken;
  }
  return place;
}

/* Whether allocations of this process count. */
static bool is_counted(void) {
  if (failure.where == KDL_FAIL_IN_ALL)
    return true;
  pid_t process = getpid();
  if (process != counts_for) {
    counts_for = process;
    atomic_store(&count, 0);
  }
  return (process == failure.first) == (failure.where == KDL_FAIL_IN_FIRST);
}

static void tell(const void *data, size_t size) {
  if (write(failure.fd, data, size) != (ssize_t)size)
    abort();
}

static bool fails(void) {
  if (!is_armed || !is_counted())
    return false;
  if (is_survey || failure.place) {
    uint64_t place = place_of_caller();
    if (is_survey)
      tell(&place, sizeof place);
    if (is_survey || place != failure.place || atomic_fetch_add(&count, 1) != 0)
      return false;
    tell("x", 1);
    errno = ENOMEM;
    return true;
  }
  unsigned now = failure.at ? atomic_fetch_add(&count, 1) + 1 : 0;
  if (now == 0 || (now != failure.at && !(failure.onwards && now > failure.at)))
    return false;
  if (now == failure.at)
    tell("x", 1);
  errno = ENOMEM;
  return true;
}

/* TYPE __wrap_NAME(PARAMETERS), which returns FAILED or what the real one returns. */
#define WRAP(type, name, parameters, arguments, failed)                                            \
  type __real_##name parameters;                                                                   \
  type __wrap_##name parameters;                                                                   \
  type __wrap_##name parameters {                                                                  \
    return fails() ? (failed) : __real_##name arguments;                                           \
  }

WRAP(void *, mmap, (void *at, size_t size, int access, int flags, int fd, off_t offset),
     (at, size, access, flags, fd, offset), MAP_FAILED)
WRAP(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
WRAP(int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user),
     (thread, attributes, run, user), EAGAIN)
WRAP(int, posix_spawn,
     (pid_t * process, const char *path, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attributes, char *const *words, char *const *environment),
     (process, path, actions, attributes, words, environment), ENOMEM)
WRAP(int, posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t * actions, int fd, int to),
     (actions, fd, to), ENOMEM)

#ifdef KDL_FAIL_IN_LIBC
/* In place of libc's own, so that what libc allocates for this program fails too: streams, folders,
 * lines, the environment. What other libraries allocate is theirs. */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

typedef struct {
  uintptr_t start, end;
} range;

static range libc_code;

static int find_libc(struct dl_phdr_info *object, size_t size, void *user) {
  (void)size, (void)user;
  range all = {UINTPTR_MAX, 0};
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    uintptr_t at = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    if (object->dlpi_phdr[i].p_type != PT_LOAD)
      continue;
    all.start = at < all.start ? at : all.start;
    all.end =
        at + object->dlpi_phdr[i].p_memsz > all.end ? at + object->dlpi_phdr[i].p_memsz : all.end;
  }
  uintptr_t known = (uintptr_t)&__libc_malloc;
  if (known < all.start || known >= all.end)
    return 0;
  libc_code = all;
  return 1;
}

static bool is_own(uintptr_t at) {
  return at >= (uintptr_t)&__executable_start && at < (uintptr_t)&etext;
}

static bool is_libc(uintptr_t at) {
  return at >= libc_code.start && at < libc_code.end;
}

/* Whether libc was called by this program, and not by another library. */
__attribute__((noinline)) static bool is_for_own(void) {
  enum { deepest = 32 };
  static _Thread_local bool is_inside; /* the first backtrace of a process allocates */
  void *callers[deepest];
  if (is_inside)
    return false;
  is_inside = true;
  int depth = backtrace(callers, deepest), at = 3; /* this function, fails_for and malloc */
  is_inside = false;
  while (at < depth && is_libc((uintptr_t)callers[at]))
    ++at;
  return at < depth && is_own((uintptr_t)callers[at]);
}

__attribute__((noinline)) static bool fails_for(const void *caller) {
  uintptr_t at = (uintptr_t)caller;
  return is_armed && (is_own(at) || (is_libc(at) && is_for_own())) && fails();
}

#define FAILS fails_for(__builtin_return_address(0))
#define PUBLIC __attribute__((visibility("default")))

PUBLIC void *malloc(size_t size) {
  return FAILS ? NULL : __libc_malloc(size);
}

PUBLIC void *calloc(size_t number, size_t size) {
  return FAILS ? NULL : __libc_calloc(number, size);
}

PUBLIC void *realloc(void *memory, size_t size) {
  return FAILS ? NULL : __libc_realloc(memory, size);
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size) {
  return FAILS ? NULL : __libc_memalign(alignment, size);
}

PUBLIC int posix_memalign(void **memory, size_t alignment, size_t size) {
  void *given = FAILS ? NULL : __libc_memalign(alignment, size);
  if (given)
    *memory = given;
  return given ? 0 : ENOMEM;
}
#else
WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t number, size_t size), (number, size), NULL)
WRAP(void *, realloc, (void *memory, size_t size), (memory, size), NULL)
WRAP(void *, reallocarray, (void *memory, size_t number, size_t size), (memory, number, size), NULL)
WRAP(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), NULL)
WRAP(int, posix_memalign, (void **memory, size_t alignment, size_t size), (memory, alignment, size),
     ENOMEM)
WRAP(char *, strdup, (const char *text), (text), NULL)
WRAP(char *, strndup, (const char *text, size_t length), (text, length), NULL)
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
WRAP(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL)
WRAP(FILE *, open_memstream, (char **text, size_t *size), (text, size), NULL)
WRAP(DIR *, opendir, (const char *path), (path), NULL)
WRAP(DIR *, fdopendir, (int fd), (fd), NULL)
WRAP(int, setenv, (const char *name, const char *value, int again), (name, value, again), -1)
WRAP(int, scandir,
     (const char *path, struct dirent ***list, int (*takes)(const struct dirent *),
      int (*compare)(const struct dirent **, const struct dirent **)),
     (path, list, takes, compare), -1)
WRAP(ssize_t, getline, (char **line, size_t *size, FILE *file), (line, size, file), -1)
WRAP(int, vasprintf, (char **text, const char *format, va_list args), (text, format, args), -1)

char *__real_realpath(const char *path, char *out);
char *__wrap_realpath(const char *path, char *out);
char *__wrap_realpath(const char *path, char *out) {
  return !out && fails() ? NULL : __real_realpath(path, out);
}

int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = fails() ? -1 : __real_vasprintf(text, format, args);
  va_end(args);
  return length;
}
#endif

/* NOLINTEND(bugprone-reserved-identifier) */
