/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries of which a program loads one: libfoo_cuda118.so and libfoo_cuda130.so, or one for each
 * version of Python. Of such alternatives the one that serves a device best is its answer. */
#include "pack/check/check.h"
#include "support/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a file name says that it is built for. */
static const struct {
  const char *token, *name;
  size_t major_digits; /* cuda118 is 11.8, rocm64 is 6.4 */
} builds[] = {
    {"cuda", "CUDA", 2},  {"cu", "CUDA", 2},         {"rocm", "ROCm", 1},
    {"xpu", "oneAPI", 4}, {"cpython-", "Python", 1}, {"cp", "Python", 1},
};

typedef struct {
  check_library *library;
  const char *key;  /* its path without the token */
  const char *name; /* "CUDA" */
  unsigned major, minor;
} alternative;

/* The first token of a file name that is a word of its own; false where there is none. */
static bool find_token(const char *file, alternative *out, size_t *out_start, size_t *out_end) {
  for (size_t at = 1; file[at]; ++at) {
    if (!strchr("_-.", file[at - 1]))
      continue;
    for (size_t i = 0; i < sizeof builds / sizeof *builds; ++i) {
      const char *digits = file + at + strlen(builds[i].token);
      if (!kdl_starts_with(file + at, builds[i].token))
        continue;
      size_t count = strspn(digits, "0123456789");
      if (!count || count > 4 || isalpha((unsigned char)digits[count]))
        continue;
      size_t whole = count < builds[i].major_digits ? count : builds[i].major_digits;
      char major[8] = "";
      memcpy(major, digits, whole);
      out->name = builds[i].name;
      out->major = (unsigned)strtoul(major, NULL, 10);
      out->minor = (unsigned)strtoul(digits + whole, NULL, 10);
      *out_start = at;
      *out_end = (size_t)(digits - file) + count;
      return true;
    }
  }
  return false;
}

static bool make_alternative(check *c, check_library *library, alternative *out) {
  const char *shown = check_display_path(c, library);
  const char *slash = strrchr(shown, '/');
  size_t folder = slash ? (size_t)(slash + 1 - shown) : 0;
  size_t start, end;
  *out = (alternative){.library = library};
  if (!find_token(shown + folder, out, &start, &end))
    return false;
  out->key =
      xarena_format(&c->arena, "%.*s*%s", (int)(folder + start), shown, shown + folder + end);
  return true;
}

static int compare_alternatives(const void *left, const void *right) {
  const alternative *a = left, *b = right;
  int order = strcmp(a->key, b->key);
  if (!order)
    order = strcmp(a->name, b->name);
  if (!order && a->major != b->major)
    order = a->major < b->major ? -1 : 1;
  return order ? order : (a->minor > b->minor) - (a->minor < b->minor);
}

/* "with CUDA 12.8 or later": the versions for which the answer is yes. NULL where all are. */
static const char *describe_versions(check *c, const alternative *items, size_t count,
                                     const alternative *chosen, size_t device) {
  const alternative *first = NULL, *last = NULL, *least = NULL, *most = NULL;
  size_t runs = 0, between = 0;
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(items[i].name, chosen->name) != 0)
      continue;
    least = least ? least : &items[i];
    most = &items[i];
    if (check_answer_of(c, items[i].library, device) != CHECK_YES)
      continue;
    first = first ? first : &items[i];
    last = &items[i];
    ++runs;
  }
  between = first ? (size_t)(last - first) + 1 : 0;
  if (!first || (runs == between && first == least && last == most))
    return NULL;
  const char *from =
      xarena_format(&c->arena, "with %s %u.%u", first->name, first->major, first->minor);
  if (runs == between && last == most && runs > 1)
    return xarena_format(&c->arena, "%s or later", from);
  return last == first ? from
                       : xarena_format(&c->arena, "%s to %u.%u%s", from, last->major, last->minor,
                                       runs == between ? "" : ", not all");
}

/* By the answer; where neither runs, by the vendor; then by the kernels that run. */
static bool serves_better(const check *c, const alternative *a, const alternative *b,
                          size_t device) {
  const check_verdict *left = &a->library->verdicts[device];
  const check_verdict *right = &b->library->verdicts[device];
  check_answer answers[] = {check_answer_of(c, a->library, device),
                            check_answer_of(c, b->library, device)};
  if (answers[0] != answers[1])
    return answers[0] < answers[1];
  if ((left->outcome == CHECK_OTHER_VENDOR) != (right->outcome == CHECK_OTHER_VENDOR))
    return right->outcome == CHECK_OTHER_VENDOR;
  return check_count(left).run >= check_count(right).run;
}

/* Of equal ones the latest version. */
static void choose(check *c, const alternative *items, size_t count, size_t device) {
  const alternative *chosen = NULL;
  for (size_t i = 0; i < count; ++i) {
    if (check_answer_of(c, items[i].library, device) < CHECK_OTHER &&
        (!chosen || serves_better(c, &items[i], chosen, device)))
      chosen = &items[i];
  }
  if (!chosen)
    return;
  const char *condition = describe_versions(c, items, count, chosen, device);
  for (size_t i = 0; i < count; ++i)
    items[i].library->verdicts[device].has_better_alternative = &items[i] != chosen;
  chosen->library->verdicts[device].condition = condition;
}

void check_choose_alternatives(check *c) {
  alternative *items = xcalloc(c->library_count + 1, sizeof *items);
  size_t count = 0;
  for (size_t i = 0; i < c->library_count; ++i)
    count += make_alternative(c, &c->libraries[i], &items[count]);
  if (count)
    qsort(items, count, sizeof *items, compare_alternatives);
  for (size_t from = 0, to; from < count; from = to) {
    for (to = from + 1; to < count && strcmp(items[from].key, items[to].key) == 0;)
      ++to;
    for (size_t device = 0; device < c->devices.count && to - from > 1; ++device)
      choose(c, items + from, to - from, device);
  }
  free(items);
}
