/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The summary as text: whether each package runs on each device, why not, and what to do about
 * it. */
#include "lib/inspect/devices.h"
#include "pack/check/check.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/output.h"
#include "tools/common/text.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Reasons for users                                                                            */

/* Causes that are not of an image: of its library, and of a driver that takes sources. */
enum { OF_RUNTIME = KDL_CAUSE_COUNT, OF_HOST, OF_SOURCE };

static unsigned cause_of(const check_gap *gap) {
  unsigned bit = 0;
  while (bit < KDL_REASON_COUNT && strcmp(gap->code, kdl_reasons[bit].code) != 0)
    ++bit;
  return gap->needs_source                           ? OF_SOURCE
         : bit < KDL_REASON_COUNT                    ? (unsigned)kdl_reasons[bit].cause
         : strcmp(gap->code, "runtime_too_new") == 0 ? OF_RUNTIME
         : strcmp(gap->code, "other_host") == 0      ? OF_HOST
                                                     : KDL_CAUSE_CODE;
}

static const char *cause_text(unsigned cause) {
  static const char *const words[] = {
      [KDL_CAUSE_ARCH] = "built for other architectures",
      [KDL_CAUSE_VENDOR] = "for other devices",
      [KDL_CAUSE_DRIVER] = "the driver is too old",
      [KDL_CAUSE_SETTINGS] = "built for other settings",
      [KDL_CAUSE_LIMITS] = "needs what the device lacks",
      [KDL_CAUSE_CODE] = "no driver loads it",
      [KDL_CAUSE_UNNAMED] = "its architecture is not known",
      [KDL_CAUSE_UNKNOWN_KIND] = "of a kind that is not known",
      [KDL_CAUSE_HOLLOW] = "", /* explain_gap */
      [OF_RUNTIME] = "needs a newer CUDA driver",
      [OF_HOST] = "its CPU code is for x86-64",
      [OF_SOURCE] = "the driver takes OpenCL C alone",
  };
  return words[cause];
}

void check_add_advice(check *c, cli_table *table, const check_gap *gap, const check_gap *near,
                      size_t device) {
  kdl_device_info about = {.size = sizeof about};
  if (kdl_device_get(c->devices.items[device].device, &about) != KDL_OK)
    return;
  const char *label = "try", *advice = gap->fix;
  switch (cause_of(gap)) {
  case KDL_CAUSE_ARCH:
    advice = xarena_format(&c->arena, "a build with code for %.*s; the nearest here is for %s",
                           (int)strcspn(about.arch, ":+"), about.arch,
                           near && near->arch && *near->arch ? near->arch : "another");
    break;
  case KDL_CAUSE_VENDOR:
    advice = xarena_format(&c->arena, "a build for %s",
                           kdl_backend_words_of(kdl_text_of(about.backend)).devices);
    break;
  case OF_HOST:
    advice = "a build for aarch64";
    break;
  default:
    label = "fix";
  }
  if (*advice)
    cli_table_add_line(table, label, kdl_text_of(advice));
}

/* ------------------------------------------------------------------------------------------ */
/* Packages                                                                                     */

/* The group of a library without a package: its archive, or a folder below the operand. */
static const char *name_group(check *c, const check_library *library) {
  if (library->package)
    return library->package;
  const char *path = library->path;
  const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  if (library->member)
    return base;
  size_t below = strlen(c->operands[library->operand].display_path);
  if (below >= strlen(path)) /* the operand is the file itself */
    return base;
  while (path[below] == '/')
    ++below;
  size_t end = below + strcspn(path + below, "/");
  if (!path[end] || !below) /* directly in the folder, or from a process */
    end = (size_t)(base - path);
  while (end > 1 && path[end - 1] == '/')
    --end;
  return end ? check_copy_substring(c, path, end) : base;
}

void check_assign_groups(check *c) {
  for (size_t i = 0; i < c->library_count; ++i)
    c->libraries[i].group = name_group(c, &c->libraries[i]);
}

/* The result of a package's libraries on a device, and the most frequent reason. */
typedef struct {
  size_t by_answer[CHECK_EMPTY + 1]; /* libraries */
  check_counts counts;
  bool is_compiled;
  size_t native;             /* kernels with machine code for the device */
  size_t linked, translated; /* kernels that run by kdl-ld alone */
  bool decides_tools;        /* they, or SPIR-V that is not translated */
  bool is_blind;             /* the kernels of one cannot be listed: modules are counted */
  bool is_unsure;        /* CUDA's runtime is linked in, and the driver that it needs is unknown */
  const char *condition; /* of libraries that answer for their alternatives, or NULL */
  const char *conflict;
  size_t hollow;         /* kernels */
  const check_gap *gap;  /* the largest of those that keep a library from being answered with yes;
                            one for others, where nothing else is missing */
  const check_gap *lack; /* the same of libraries that are answered with yes */
  const check_gap *near; /* the nearest code for other architectures, also of libraries for which
                            an alternative answers */
} tally;

typedef struct {
  const char *name;
  tally *tallies; /* one per device */
} group;

typedef struct {
  group *items;
  size_t count;
} groups;

/* What is missing comes before code for others, and that before code for other vendors. */
static int compare_concern(const check_gap *a, const check_gap *b) {
  int ranks[] = {a->is_other + (cause_of(a) == KDL_CAUSE_VENDOR),
                 b->is_other + (cause_of(b) == KDL_CAUSE_VENDOR)};
  return ranks[0] - ranks[1];
}

static bool is_nearer(const check_gap *gap, const check_gap *than) {
  int order = compare_concern(gap, than);
  return order ? order < 0 : gap->distance < than->distance;
}

static bool is_larger(const check_gap *gap, const check_gap *than) {
  int order = compare_concern(gap, than);
  return order ? order < 0 : gap->kernels + gap->modules > than->kernels + than->modules;
}

static void keep_nearest(const check_verdict *verdict, tally *all) {
  for (size_t i = 0; i < verdict->gap_count; ++i) {
    const check_gap *gap = &verdict->gaps[i];
    if (cause_of(gap) == KDL_CAUSE_ARCH && *gap->arch && (!all->near || is_nearer(gap, all->near)))
      all->near = gap;
  }
}

static void count_library(const check *c, const check_library *library, size_t device, tally *all) {
  const check_verdict *verdict = &library->verdicts[device];
  check_answer answer = check_answer_of(c, library, device);
  ++all->by_answer[answer];
  if (verdict->outcome == CHECK_NONE && verdict->is_covered_by_sibling &&
      !verdict->has_better_alternative)
    all->counts.other += verdict->kernels_apart;
  if (answer == CHECK_PARTLY || answer == CHECK_NO || verdict->has_better_alternative)
    keep_nearest(verdict, all);
  all->decides_tools |= verdict->coverage.kernels_linked || verdict->coverage.kernels_translatable;
  if (answer >= CHECK_OTHER)
    return;
  check_counts counts = check_count(verdict);
  all->counts.run += counts.run;
  all->counts.missing += counts.missing;
  all->counts.other += counts.other;
  all->condition = all->condition ? all->condition : verdict->condition;
  all->conflict = all->conflict ? all->conflict : verdict->conflict;
  all->is_blind |= !verdict->coverage.kernels;
  all->native += verdict->coverage.kernels_native;
  all->linked += verdict->coverage.kernels_linked;
  all->translated += verdict->coverage.kernels_translated;
  all->is_compiled |= verdict->coverage.kernels_run > verdict->coverage.kernels_native;
  for (size_t i = 0; i < library->dependency_count && verdict->runtime == CHECK_COMPAT_UNKNOWN; ++i)
    all->is_unsure |= !library->dependencies[i].version;
  all->hollow += verdict->coverage.kernels_hollow;
  const check_gap **largest = answer == CHECK_YES ? &all->lack : &all->gap;
  for (size_t i = 0; i < verdict->gap_count; ++i) {
    const check_gap *gap = &verdict->gaps[i];
    if (!*largest || is_larger(gap, *largest))
      *largest = gap;
  }
}

static check_answer tally_answer(const tally *all) {
  const size_t *libraries = all->by_answer;
  if (libraries[CHECK_PARTLY] || (libraries[CHECK_YES] && libraries[CHECK_NO]))
    return CHECK_PARTLY;
  return libraries[CHECK_YES]     ? CHECK_YES
         : libraries[CHECK_NO]    ? CHECK_NO
         : libraries[CHECK_OTHER] ? CHECK_OTHER
                                  : CHECK_EMPTY;
}

/* Packages first, in the order of the libraries. */
static int compare_groups(const void *left, const void *right) {
  const check_library *a = *(const check_library *const *)left;
  const check_library *b = *(const check_library *const *)right;
  return !a->package != !b->package ? (a->package ? -1 : 1) : strcmp(a->group, b->group);
}

static const check_library **sort_by_group(const check *c) {
  const check_library **sorted = xcalloc(c->library_count + 1, sizeof *sorted);
  for (size_t i = 0; i < c->library_count; ++i)
    sorted[i] = &c->libraries[i];
  if (c->library_count)
    qsort(sorted, c->library_count, sizeof *sorted, compare_groups);
  return sorted;
}

void check_mark_running_packages(check *c) {
  const check_library **sorted = sort_by_group(c);
  for (size_t device = 0; device < c->devices.count; ++device) {
    for (size_t from = 0, to; from < c->library_count; from = to) {
      bool runs = false;
      for (to = from; to < c->library_count && compare_groups(&sorted[from], &sorted[to]) == 0;
           ++to)
        runs |= check_answer_of(c, sorted[to], device) <= CHECK_PARTLY;
      for (size_t i = from; i < to; ++i)
        sorted[i]->verdicts[device].package_runs = runs;
    }
  }
  free(sorted);
}

static groups list_groups(check *c) {
  size_t count = c->library_count;
  const check_library **sorted = sort_by_group(c);
  groups all = {.items = xcalloc(count, sizeof *all.items)};
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || compare_groups(&sorted[i - 1], &sorted[i]) != 0) {
      size_t size = c->devices.count * sizeof(tally);
      all.items[all.count++] =
          (group){sorted[i]->group, memset(xarena_alloc(&c->arena, size + 1), 0, size)};
    }
    for (size_t device = 0; device < c->devices.count; ++device)
      count_library(c, sorted[i], device, &all.items[all.count - 1].tallies[device]);
  }
  free(sorted);
  return all;
}

/* Another checked version of the package that runs. Groups are sorted, so that versions of one
 * package are adjacent. */
static const char *find_runnable_version(const groups *all, const group *of, size_t device) {
  size_t name = strcspn(of->name, " ") + 1; /* including the blank before the version */
  const group *other = of;
  if (!of->name[name - 1])
    return NULL;
  while (other > all->items && strncmp(other[-1].name, of->name, name) == 0)
    --other;
  for (; other < all->items + all->count && strncmp(other->name, of->name, name) == 0; ++other) {
    if (tally_answer(&other->tallies[device]) == CHECK_YES)
      return other->name;
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */

/* As the user named it; a device that was given by number, by its name. */
static const char *device_name(check *c, size_t device, const kdl_device_info *about) {
  const char *asked = c->devices.items[device].name;
  const char *name = about->name[0] ? about->name : about->label;
  bool is_number = asked[strspn(asked, "0123456789")] == '\0';
  if (!is_number)
    return strlen(asked) <= 32 ? asked : name;
  return c->devices.count > 1 && *asked ? xarena_format(&c->arena, "%s: %s", asked, name) : name;
}

static const char *explain_gap(check *c, const tally *counted, const check_gap *gap) {
  unsigned cause = cause_of(gap);
  if (cause == KDL_CAUSE_HOLLOW)
    return xarena_format(&c->arena, "the code of %zu kernel%s does nothing", counted->hollow,
                         counted->hollow == 1 ? "" : "s");
  return cause_text(cause);
}

static const char *explain_answer(check *c, const tally *counted, check_answer answer) {
  const check_counts *counts = &counted->counts;
  switch (answer) {
  case CHECK_YES:
    if (counted->condition)
      return counted->condition;
    if (counted->lack && counts->missing * 10 > counts->run + counts->missing)
      return xarena_format(&c->arena, "missing: %s", explain_gap(c, counted, counted->lack));
    return counted->is_unsure     ? "its CUDA runtime is unknown"
           : counted->is_blind    ? "its kernels cannot be read"
           : counted->translated  ? "translated by libkdl when it is loaded"
           : counted->linked      ? "linked by kdl-ld when it is loaded"
           : counted->is_compiled ? "compiled when it is loaded"
                                  : "";
  case CHECK_PARTLY:
  case CHECK_NO:
    if (counted->conflict)
      return xarena_format(&c->arena, "its libraries run with different versions of %s",
                           counted->conflict);
    return counted->gap ? explain_gap(c, counted, counted->gap) : "its code cannot be read";
  case CHECK_OTHER:
    return "for other devices";
  case CHECK_EMPTY:
    break;
  }
  return "has no kernels";
}

/* Of a package that has code for the device: where most kernels do, or the others are code of other
 * architectures, a build with code for it is no advice. */
static void add_lack(check *c, cli_table *table, const tally *counted,
                     const kdl_device_info *about) {
  const check_gap *gap = counted->gap;
  const char *text, *label = "note";
  int length = (int)strcspn(about->arch, ":+");
  if (gap->is_other) {
    text = xarena_format(&c->arena, "no other kernel is for %.*s, many are for %s alone", length,
                         about->arch, gap->arch);
  } else if (counted->native > counted->counts.missing) {
    text = xarena_format(&c->arena,
                         "some kernels have no code for %.*s, many of them none nearer than for %s",
                         length, about->arch, gap->arch);
  } else {
    label = "try";
    text = xarena_format(
        &c->arena,
        "a build with code for %.*s in all kernels; the nearest of those without it is for %s",
        length, about->arch, counted->near ? counted->near->arch : gap->arch);
  }
  cli_table_add_line(table, label, kdl_text_of(text));
}

static void add_summary_row(check *c, cli_table *table, const groups *all, const group *of,
                            size_t device) {
  kdl_device_info about = {.size = sizeof about};
  if (kdl_device_get(c->devices.items[device].device, &about) != KDL_OK)
    return;
  const tally *counted = &of->tallies[device];
  check_answer answer = tally_answer(counted);
  cli_table_add(table, kdl_text_of(of->name));
  cli_table_add(table, kdl_text_of(device_name(c, device, &about)));
  cli_table_add(table, kdl_text_of(answer == CHECK_EMPTY ? "" : check_answer_name(answer)));
  const size_t numbers[] = {counted->counts.run, counted->counts.missing, counted->counts.other};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    if (answer < CHECK_OTHER)
      cli_table_add_number(table, numbers[i]);
    else
      cli_table_add(table, KDL_TEXT(""));
  }
  cli_table_add(table, kdl_text_of(explain_answer(c, counted, answer)));
  if (answer != CHECK_PARTLY && answer != CHECK_NO)
    return;
  const char *instead = find_runnable_version(all, of, device);
  if (instead)
    cli_table_add_line(table, "instead", kdl_text_of(instead));
  else if (counted->conflict)
    return;
  else if (counted->gap && cause_of(counted->gap) == KDL_CAUSE_ARCH &&
           (counted->native || (counted->gap->is_other && counted->counts.run)))
    add_lack(c, table, counted, &about);
  else if (counted->gap)
    check_add_advice(c, table, counted->gap, counted->near, device);
}

kdl_status check_print_summary(check *c) {
  static const cli_column columns[] = {
      {.title = "PACKAGE", .shrinks = 3, .keeps = 16, .middle = true, .tint = "36"},
      {.title = "DEVICE", .shrinks = 1, .keeps = 24},
      {.title = "RUNS"},
      {.title = "KERNELS", .right = true},
      {.title = "MISSING", .right = true},
      {.title = "OTHERS", .right = true},
      {.title = "WHY", .shrinks = 2, .wraps = true},
  };
  groups all = list_groups(c);
  bool assumes_tools = false;
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < all.count; ++i) {
    for (size_t device = 0; device < c->devices.count; ++device) {
      add_summary_row(c, table, &all, &all.items[i], device);
      assumes_tools |= all.items[i].tallies[device].decides_tools &&
                       cli_device_assumes_tools(&c->devices.items[device]);
    }
  }
  free(all.items);
  KDL_TRY(cli_table_finish(table));
  if (assumes_tools)
    cli_text_printf(stdout, "\nnote: described devices are %s\n", CLI_ASSUMED_TOOLS);
  return KDL_OK;
}
