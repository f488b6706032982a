/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report as text: a line per package, files that could not be read, and if wanted, for each
 * device what runs, what does not, and why. */
#include "pack/check/check.h"
#include "support/base/cxx_name.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/output.h"
#include "tools/common/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *check_outcome_name(check_outcome outcome) {
  static const char *const names[] = {"native", "jit", "partly", "none", "other"};
  return names[outcome];
}

const char *check_display_path(check *c, const check_library *library) {
  return library->member ? xarena_format(&c->arena, "%s!%s", library->path, library->member)
                         : library->path;
}

/* ------------------------------------------------------------------------------------------ */
/* One device                                                                                   */

typedef struct {
  size_t libraries, whole, in_part, alternatives, other, empty;
  size_t kernels, native, jit, hollow;
} sums;

static sums sum_outcomes(const check *c, size_t device) {
  sums all = {0};
  for (size_t i = 0; i < c->library_count; ++i) {
    const check_verdict *verdict = &c->libraries[i].verdicts[device];
    check_answer answer = check_answer_of(c, &c->libraries[i], device);
    if (answer >= CHECK_OTHER) {
      ++*(answer == CHECK_EMPTY             ? &all.empty
          : verdict->has_better_alternative ? &all.alternatives
                                            : &all.other);
      continue;
    }
    ++all.libraries;
    all.whole += verdict->outcome <= CHECK_JIT;
    all.in_part += verdict->outcome == CHECK_PARTIAL;
    all.kernels += verdict->coverage.kernels;
    all.native += verdict->coverage.kernels_native;
    all.jit += verdict->coverage.kernels_run - verdict->coverage.kernels_native;
    all.hollow += verdict->coverage.kernels_hollow;
  }
  return all;
}

/* "8 more are alternatives of these, 1 more is for other devices, 2 more have no kernels" */
static void print_not_applicable(const sums *all, const char *one, const char *several) {
  const struct {
    size_t count;
    const char *of_one, *of_several;
  } rows[] = {
      {all->alternatives, "is an alternative of these", "are alternatives of these"},
      {all->other, "is for other devices", "are for other devices"},
      {all->empty, "has no kernels", "have no kernels"},
  };
  const char *before = "";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (!rows[i].count)
      continue;
    bool is_one = rows[i].count == 1;
    printf("%s%zu %s %s", before, rows[i].count, is_one ? one : several,
           is_one ? rows[i].of_one : rows[i].of_several);
    before = ", ";
  }
}

/* "k, l and 3 more"; where all are listed, "_Z1kv (k), _Z1lv (l)", so that other tools find them */
static void add_names(const check *c, cli_table *table, const check_gap *gap) {
  char *text;
  size_t size;
  if (!gap->name_count)
    return;
  FILE *stream = xtext_stream(&text, &size);
  for (size_t i = 0; i < gap->name_count; ++i) {
    char plain[128];
    kdl_string name = cli_demangle(c->demangler, gap->names[i]);
    bool is_cxx = kdl_cxx_name(name, plain, sizeof plain);
    if (is_cxx && !c->all_names)
      name = kdl_text_of(plain);
    fprintf(stream, "%s%.*s%s", i ? ", " : "", name.length < 160 ? (int)name.length : 160,
            name.data, name.length < 160 ? "" : "...");
    if (is_cxx && c->all_names)
      fprintf(stream, " (%s)", plain);
  }
  if (gap->kernels > gap->name_count)
    fprintf(stream, " and %zu more", gap->kernels - gap->name_count);
  xtext_close(stream);
  cli_table_add_line(table, "missing", (kdl_string){text, size});
  free(text);
}

static void add_gap_row(check *c, cli_table *table, const check_gap *gap, bool is_other,
                        size_t device) {
  size_t count = gap->kernels ? gap->kernels : gap->modules;
  const char *label =
      xarena_format(&c->arena, "%zu %s%s: %s:", count, gap->kernels ? "kernel" : "module",
                    count == 1 ? "" : "s", gap->code);
  cli_table_add_line(table, label, kdl_text_of(gap->words));
  if (!is_other)
    add_names(c, table, gap);
  check_add_advice(c, table, gap, gap, device);
}

static void add_library_row(check *c, cli_table *table, const check_library *library, size_t device,
                            bool has_hollow) {
  const check_verdict *verdict = &library->verdicts[device];
  const kdl_coverage *coverage = &verdict->coverage;
  bool runs = check_answer_of(c, library, device) == CHECK_YES;
  cli_table_add(table, kdl_text_of(verdict->conflict                  ? "."
                                   : verdict->outcome == CHECK_NATIVE ? "*"
                                   : verdict->outcome == CHECK_JIT    ? "+"
                                   : runs                             ? "~"
                                                                      : "."));
  cli_table_add(table, kdl_text_of(library->group));
  cli_table_add(table, kdl_text_of(check_display_path(c, library)));
  cli_table_add(table, kdl_text_of(check_outcome_name(verdict->outcome)));
  cli_table_add_number(table, coverage->kernels_native);
  cli_table_add_number(table, coverage->kernels_run - coverage->kernels_native);
  if (has_hollow)
    cli_table_add_number(table, coverage->kernels_hollow);
  cli_table_add_number(table, coverage->kernels - coverage->kernels_run - coverage->kernels_hollow);
  if (verdict->conflict)
    cli_table_add_line(
        table, "conflict",
        kdl_text_of(xarena_format(&c->arena, "no version of %s runs all libraries of its package",
                                  verdict->conflict)));
  for (size_t i = 0; i < library->dependency_count && verdict->runtime == CHECK_COMPAT_UNKNOWN;
       ++i) {
    if (!library->dependencies[i].version)
      cli_table_add_line(table, "runtime",
                         KDL_TEXT("CUDA's is linked into it; which driver it takes is not known"));
  }
  for (size_t i = 0; i < verdict->gap_count; ++i)
    add_gap_row(c, table, &verdict->gaps[i], verdict->outcome == CHECK_OTHER_VENDOR, device);
}

static kdl_status print_device_section(check *c, size_t device) {
  static const cli_column all_columns[] = {
      {.title = "", .right = true, .tint = "1;32"},
      {.title = "PACKAGE", .shrinks = 2},
      {.title = "LIBRARY", .shrinks = 1, .middle = true, .tint = "36"},
      {.title = "RUNS"},
      {.title = "NATIVE", .right = true},
      {.title = "JIT", .right = true},
      {.title = "HOLLOW", .right = true}, /* only if there are any */
      {.title = "NOT", .right = true},
  };
  enum { column_count = sizeof all_columns / sizeof *all_columns, hollow_column = 6 };
  cli_column columns[column_count];
  kdl_device_info about = {.size = sizeof about};
  KDL_TRY(kdl_device_get(c->devices.items[device].device, &about));
  sums all = sum_outcomes(c, device);
  printf("device  ");
  cli_text_print(kdl_text_of(about.label), "  ");
  cli_text_print(kdl_text_of(about.name), "\n");
  if (!all.libraries) {
    printf("runs    nothing: ");
    print_not_applicable(&all, "library", "libraries");
    putchar('\n');
    return KDL_OK;
  }
  printf("runs    %zu of %zu libraries whole, ", all.whole, all.libraries);
  if (all.in_part)
    printf("%zu in part, ", all.in_part);
  printf("%zu of %zu kernels (%zu native, %zu jit", all.native + all.jit, all.kernels, all.native,
         all.jit);
  if (all.hollow)
    printf(", %zu hollow", all.hollow);
  putchar(')');
  if (all.alternatives || all.other || all.empty)
    printf("; ");
  print_not_applicable(&all, "more", "more");
  puts("\n");
  size_t count = 0;
  for (size_t i = 0; i < column_count; ++i) {
    if (i != hollow_column || all.hollow)
      columns[count++] = all_columns[i];
  }
  cli_table *table = cli_table_create(columns, count);
  for (size_t i = 0; i < c->library_count; ++i) {
    const check_library *library = &c->libraries[i];
    if (check_answer_of(c, library, device) < CHECK_OTHER)
      add_library_row(c, table, library, device, all.hollow != 0);
  }
  return cli_table_finish(table);
}

/* ------------------------------------------------------------------------------------------ */

kdl_status check_print_text(check *c) {
  printf("%zu file%s, %zu with device code", c->files, c->files == 1 ? "" : "s",
         c->files_with_code);
  if (c->library_count != c->files_with_code)
    printf(" (%zu libraries)", c->library_count);
  if (c->error_count)
    printf(", %zu not readable", c->error_count);
  puts("");
  if (c->library_count && c->devices.count) {
    putchar('\n');
    KDL_TRY(check_print_summary(c));
  }
  for (size_t i = 0; i < c->devices.count && c->library_count && c->is_verbose; ++i) {
    putchar('\n');
    KDL_TRY(print_device_section(c, i));
  }
  if (!c->is_verbose && check_any_fails(c))
    puts("\n-v names the libraries and why they do not run, -k every kernel of them");
  if (c->error_count)
    puts("\nnot readable:");
  for (size_t i = 0; i < c->error_count; ++i) {
    const check_error *error = &c->errors[i];
    printf("  ");
    if (!kdl_starts_with(error->message, error->path))
      cli_text_print(kdl_text_of(error->path), ": ");
    cli_text_print(kdl_text_of(error->message), "\n");
  }
  return cli_output_flush();
}
