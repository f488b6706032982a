/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries of which a program loads one: libfoo_cuda118.so and libfoo_cuda130.so, or one for each
 * version of Python. Of such alternatives the one that serves a device best is its answer. */
#include "pack/check/check.h"
#include "support/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Versions in file names                                                                       */

typedef struct {
  unsigned major, minor;
} version;

enum { NO_MINOR = 999 };

/* A number written as its digits: "cuda118" is 11.8 and "rocm64" is 6.4. */
static bool read_version(const char *digits, size_t count, size_t major_digits, version *out) {
  char major[8] = "";
  if (count > major_digits + 2 || count < 1)
    return false;
  memcpy(major, digits, count < major_digits ? count : major_digits);
  out->major = (unsigned)strtoul(major, NULL, 10);
  out->minor = count > major_digits ? (unsigned)strtoul(digits + major_digits, NULL, 10) : NO_MINOR;
  return true;
}

/* 9.0 to 29.9: "cuda9", "cuda92", "cuda12", "cuda128" */
static bool read_cuda(const char *digits, size_t count, version *out) {
  return count <= 3 && read_version(digits, count, digits[0] == '9' ? 1 : 2, out) &&
         out->major >= 9 && out->major < 30 && (out->minor == NO_MINOR || out->minor < 10);
}

static bool read_rocm(const char *digits, size_t count, version *out) {
  return read_version(digits, count, 1, out) && out->major >= 4;
}

static bool read_oneapi(const char *digits, size_t count, version *out) {
  return count == 4 && read_version(digits, count, 4, out) && out->major / 100 == 20;
}

/* "cp38", "cpython-311" */
static bool read_python(const char *digits, size_t count, version *out) {
  return read_version(digits, count, 1, out) && out->major == 3 && out->minor != NO_MINOR &&
         (count == 2 || out->minor >= 10);
}

/* What a file name says that it is built for. */
static const struct {
  const char *token, *name;
  bool (*read)(const char *digits, size_t count, version *out);
} builds[] = {
    {"cuda", "CUDA", read_cuda},         {"cu", "CUDA", read_cuda},
    {"rocm", "ROCm", read_rocm},         {"xpu", "oneAPI", read_oneapi},
    {"cpython-", "Python", read_python}, {"cp", "Python", read_python},
};

typedef struct {
  check_library *library;
  const char *key;  /* its path without the token */
  const char *name; /* "CUDA" */
  version version;
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
      if (!count || isalpha((unsigned char)digits[count]) ||
          !builds[i].read(digits, count, &out->version))
        continue;
      out->name = builds[i].name;
      *out_start = at;
      *out_end = (size_t)(digits - file) + count;
      return true;
    }
  }
  return false;
}

static const char *base_name(const char *path) {
  return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

bool check_names_a_version(const char *file) {
  alternative found;
  size_t start, end;
  return find_token(base_name(file), &found, &start, &end);
}

/* A file that the user names is asked about itself. */
static bool make_alternative(check *c, check_library *library, alternative *out) {
  const char *shown = check_display_path(c, library);
  size_t folder = (size_t)(base_name(shown) - shown), start, end;
  *out = (alternative){.library = library};
  if (library->is_named || !library->is_shared_object ||
      !find_token(shown + folder, out, &start, &end))
    return false;
  out->key = xarena_format(&c->arena, "%s\n%.*s*%s", library->group, (int)(folder + start), shown,
                           shown + folder + end);
  return true;
}

static int compare_versions(version a, version b) {
  int order = (a.major > b.major) - (a.major < b.major);
  return order ? order : (a.minor > b.minor) - (a.minor < b.minor);
}

static int compare_alternatives(const void *left, const void *right) {
  const alternative *a = left, *b = right;
  int order = strcmp(a->key, b->key);
  if (!order)
    order = strcmp(a->name, b->name);
  return order ? order : compare_versions(a->version, b->version);
}

/* Builds of one library have most kernels in common, and files that are only named alike have
 * not. */
static bool are_alike(const check_library *a, const check_library *b) {
  size_t common = 0;
  for (size_t i = 0, k = 0; i < a->kernel_count && k < b->kernel_count;) {
    uint64_t left = a->kernels[i], right = b->kernels[k];
    common += left == right;
    i += left <= right;
    k += right <= left;
  }
  return common && common * 2 >= a->kernel_count && common * 2 >= b->kernel_count;
}

/* ------------------------------------------------------------------------------------------ */
/* Versions with which libraries run                                                            */

typedef struct {
  version version;
  bool runs;
} offer;

/* Alternatives of which at least one runs, on one device. */
typedef struct {
  check_library *library; /* the one that answers */
  size_t device;
  const char *name; /* "CUDA" */
  offer *offers;    /* by version */
  size_t offer_count;
} choice;

typedef struct {
  choice *items;
  size_t count, capacity;
} choices;

static bool are_compatible(version a, version b) {
  return a.major == b.major && (a.minor == b.minor || a.minor == NO_MINOR || b.minor == NO_MINOR);
}

static bool runs_with(const choice *one, version with) {
  for (size_t i = 0; i < one->offer_count; ++i) {
    if (one->offers[i].runs && are_compatible(one->offers[i].version, with))
      return true;
  }
  return false;
}

static bool runs_at_all(const choice *one) {
  for (size_t i = 0; i < one->offer_count; ++i) {
    if (one->offers[i].runs)
      return true;
  }
  return false;
}

static int compare_offers(const void *left, const void *right) {
  return compare_versions(((const offer *)left)->version, ((const offer *)right)->version);
}

/* The versions that any of the choices offers, which run where all do. */
static choice merge_choices(const choice *items, size_t count) {
  choice all = items[0];
  size_t total = 0;
  for (size_t i = 0; i < count; ++i)
    total += items[i].offer_count;
  offer *offers = xcalloc(total, sizeof *offers);
  total = 0;
  for (size_t i = 0; i < count; ++i) {
    memcpy(offers + total, items[i].offers, items[i].offer_count * sizeof *offers);
    total += items[i].offer_count;
  }
  qsort(offers, total, sizeof *offers, compare_offers);
  all.offers = offers;
  all.offer_count = 0;
  for (size_t i = 0; i < total; ++i) {
    offer next = {offers[i].version, true};
    if (all.offer_count && !compare_offers(&offers[all.offer_count - 1], &next))
      continue;
    for (size_t k = 0; k < count; ++k)
      next.runs = next.runs && runs_with(&items[k], next.version);
    offers[all.offer_count++] = next;
  }
  return all;
}

static const char *print_version(check *c, version of) {
  return of.minor == NO_MINOR ? xarena_format(&c->arena, "%u", of.major)
                              : xarena_format(&c->arena, "%u.%u", of.major, of.minor);
}

/* "CUDA 12.8 or later"; NULL where all versions run. */
static const char *describe_versions(check *c, const choice *one) {
  size_t first = one->offer_count, last = 0, runs = 0;
  for (size_t i = 0; i < one->offer_count; ++i) {
    if (!one->offers[i].runs)
      continue;
    first = first < i ? first : i;
    last = i;
    ++runs;
  }
  if (runs == one->offer_count)
    return NULL;
  bool is_range = runs == last - first + 1;
  const char *from =
      xarena_format(&c->arena, "%s %s", one->name, print_version(c, one->offers[first].version));
  if (is_range && last + 1 == one->offer_count && runs > 1)
    return xarena_format(&c->arena, "%s or later", from);
  return last == first ? from
                       : xarena_format(&c->arena, "%s to %s%s", from,
                                       print_version(c, one->offers[last].version),
                                       is_range ? "" : ", not all");
}

/* ------------------------------------------------------------------------------------------ */
/* One answer                                                                                   */

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

static void add_choice(check *c, choices *all, const alternative *items, size_t count,
                       const alternative *chosen, size_t device) {
  choice one = {.library = chosen->library, .device = device, .name = chosen->name};
  one.offers = xarena_alloc(&c->arena, (count + 1) * sizeof *one.offers);
  for (size_t i = 0; i < count; ++i)
    one.offers[one.offer_count++] =
        (offer){items[i].version, check_answer_of(c, items[i].library, device) == CHECK_YES};
  all->items = xgrow(all->items, all->count, &all->capacity, 16, sizeof *all->items);
  all->items[all->count++] = one;
}

/* Of equal ones the latest version. */
static void choose(check *c, const alternative *items, size_t count, size_t device, choices *all) {
  const alternative *chosen = NULL;
  for (size_t i = 0; i < count; ++i) {
    if (check_answer_of(c, items[i].library, device) < CHECK_OTHER &&
        (!chosen || serves_better(c, &items[i], chosen, device)))
      chosen = &items[i];
  }
  if (!chosen)
    return;
  if (check_answer_of(c, chosen->library, device) == CHECK_YES)
    add_choice(c, all, items, count, chosen, device);
  for (size_t i = 0; i < count; ++i)
    items[i].library->verdicts[device].has_better_alternative = &items[i] != chosen;
}

static int compare_choices(const void *left, const void *right) {
  const choice *a = left, *b = right;
  int order = strcmp(a->library->group, b->library->group);
  if (!order)
    order = (a->device > b->device) - (a->device < b->device);
  return order ? order : strcmp(a->name, b->name);
}

/* The same versions must run all libraries of a package. */
static void combine_choices(check *c, const choice *items, size_t count) {
  const char *condition = NULL, *conflict = NULL;
  for (size_t from = 0, to; from < count; from = to) {
    for (to = from + 1; to < count && strcmp(items[from].name, items[to].name) == 0;)
      ++to;
    choice merged = merge_choices(items + from, to - from);
    const char *text = NULL;
    if (runs_at_all(&merged))
      text = describe_versions(c, &merged);
    else
      conflict = merged.name;
    if (text)
      condition = condition ? xarena_format(&c->arena, "%s and %s", condition, text)
                            : xarena_format(&c->arena, "with %s", text);
    free(merged.offers);
  }
  for (size_t i = 0; i < count; ++i) {
    check_verdict *verdict = &items[i].library->verdicts[items[i].device];
    verdict->condition = conflict ? NULL : condition;
    verdict->conflict = conflict;
  }
}

static bool is_same_line(const choice *a, const choice *b) {
  return a->device == b->device && strcmp(a->library->group, b->library->group) == 0;
}

void check_choose_alternatives(check *c) {
  alternative *items = xcalloc(c->library_count + 1, sizeof *items);
  choices all = {NULL, 0, 0};
  size_t count = 0;
  for (size_t i = 0; i < c->library_count; ++i)
    count += make_alternative(c, &c->libraries[i], &items[count]);
  if (count)
    qsort(items, count, sizeof *items, compare_alternatives);
  for (size_t from = 0, to; from < count; from = to) {
    for (to = from + 1; to < count && strcmp(items[from].key, items[to].key) == 0 &&
                        strcmp(items[from].name, items[to].name) == 0 &&
                        are_alike(items[to - 1].library, items[to].library);)
      ++to;
    for (size_t device = 0; device < c->devices.count && to - from > 1; ++device)
      choose(c, items + from, to - from, device, &all);
  }
  if (all.count)
    qsort(all.items, all.count, sizeof *all.items, compare_choices);
  for (size_t from = 0, to; from < all.count; from = to) {
    for (to = from + 1; to < all.count && is_same_line(&all.items[from], &all.items[to]);)
      ++to;
    combine_choices(c, all.items + from, to - from);
  }
  free(all.items);
  free(items);
}
