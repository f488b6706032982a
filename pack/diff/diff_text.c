/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report as text: a screen of counts and examples, or with --long every kernel. */
#include "pack/diff/diff.h"
#include "support/base/cxx_name.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/output.h"
#include "tools/common/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_rows = 14, longest_name = 100, longest_place = 60 };

static void print_side(const diff *d, int side) {
  const diff_side *of = &d->sides[side];
  printf("%s  ", side == DIFF_OLD ? "old" : "new");
  cli_text_print(kdl_text_of(of->path), "");
  size_t kernels = 0;
  for (size_t i = 0; i < d->target_count; ++i)
    kernels += d->kernels[i][side];
  printf(": %zu librar%s, %zu image%s, %zu kernel%s by target, %.1f MB of code", of->library_count,
         of->library_count == 1 ? "y" : "ies", of->images, of->images == 1 ? "" : "s", kernels,
         kernels == 1 ? "" : "s", (double)of->code_bytes / 1e6);
  if (of->unreadable)
    printf("; %zu image%s without readable kernels", of->unreadable,
           of->unreadable == 1 ? "" : "s");
  putchar('\n');
}

/* ------------------------------------------------------------------------------------------ */
/* Counts                                                                                       */

/* Kernels of one side alone are no change where devices run them in another form, but not equal. */
static bool target_changed(const diff *d, size_t target) {
  if (d->kernels[target][DIFF_OLD] != d->kernels[target][DIFF_NEW])
    return true;
  for (int change = 0; change < DIFF_CHANGES; ++change) {
    if (d->counts[target][change])
      return true;
  }
  return false;
}

static bool has_kernels(const diff *d, size_t target) {
  return d->kernels[target][DIFF_OLD] || d->kernels[target][DIFF_NEW];
}

static kdl_status print_targets(const diff *d) {
  cli_column columns[DIFF_CHANGES + 4] = {
      {.title = "TARGET", .shrinks = 1}, {"OLD", .right = true}, {"NEW", .right = true}};
  char titles[DIFF_CHANGES][16];
  size_t count = 3;
  for (int change = 0; change < DIFF_CHANGES; ++change) {
    size_t i = 0;
    for (const char *name = diff_change_name((diff_change)change); name[i]; ++i)
      titles[change][i] = (char)toupper((unsigned char)name[i]);
    titles[change][i] = '\0';
    if (d->totals[change])
      columns[count++] = (cli_column){.title = titles[change], .right = true};
  }
  columns[count++] = (cli_column){.title = "EQUAL", .right = true};
  cli_table *table = cli_table_create(columns, count);
  size_t rows = 0, equal = 0, left = 0, skipped = 0;
  for (size_t i = 0; i < d->target_count; ++i) {
    if (!has_kernels(d, i))
      continue;
    if (!d->is_compared[i]) {
      ++skipped;
      continue;
    }
    if (!d->is_long && (!target_changed(d, i) || rows == most_rows)) {
      left += target_changed(d, i);
      equal += !target_changed(d, i);
      continue;
    }
    ++rows;
    cli_table_add(table, kdl_text_of(d->targets[i].label));
    cli_table_add_number(table, d->kernels[i][DIFF_OLD]);
    cli_table_add_number(table, d->kernels[i][DIFF_NEW]);
    for (int change = 0; change < DIFF_CHANGES; ++change) {
      if (d->totals[change])
        cli_table_add_number(table, d->counts[i][change]);
    }
    cli_table_add_number(table, d->equal[i]);
  }
  kdl_status status = KDL_OK;
  if (rows) {
    putchar('\n');
    status = cli_table_finish(table);
  } else {
    cli_table_destroy(table);
  }
  if (left)
    printf("%zu more target%s changed: --long lists all\n", left, left == 1 ? "" : "s");
  if (equal)
    printf("%s%zu target%s without a change\n", rows ? "" : "\n", equal, equal == 1 ? "" : "s");
  if (skipped)
    printf("%s%zu target%s not compared: none of the given devices runs %s\n",
           rows || equal ? "" : "\n", skipped, skipped == 1 ? "" : "s",
           skipped == 1 ? "it" : "them");
  return status;
}

static kdl_status print_devices(const diff *d) {
  static const cli_column columns[] = {
      {.title = "DEVICE"},
      {.title = "OLD RUN", .right = true},
      {.title = "NEW RUN", .right = true},
      {.title = "OLD NATIVE", .right = true},
      {.title = "NEW NATIVE", .right = true},
      {.title = "LOST", .right = true},
      {.title = "GAINED", .right = true},
      {.title = "JIT NOW", .right = true},
  };
  if (!d->walk.devices.count)
    return KDL_OK;
  putchar('\n');
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < d->walk.devices.count; ++i) {
    const diff_device *device = &d->devices[i];
    cli_table_add(table, kdl_text_of(d->walk.devices.items[i].name));
    cli_table_add_number(table, device->kernels[DIFF_OLD]);
    cli_table_add_number(table, device->kernels[DIFF_NEW]);
    cli_table_add_number(table, device->native[DIFF_OLD]);
    cli_table_add_number(table, device->native[DIFF_NEW]);
    cli_table_add_number(table, device->lost);
    cli_table_add_number(table, device->gained);
    cli_table_add_number(table, device->jit);
  }
  KDL_TRY(cli_table_finish(table));
  if (d->assumes_tools)
    cli_text_printf(stdout, "note: described devices are %s\n", CLI_ASSUMED_TOOLS);
  return KDL_OK;
}

/* Libraries that only one side has. */
static void print_libraries(const diff *d, int side) {
  const diff_side *of = &d->sides[side];
  size_t count = 0;
  for (size_t i = 0; i < of->library_count; ++i)
    count += !of->libraries[i].is_matched && of->libraries[i].kernel_count;
  if (!count || !d->sides[!side].library_count)
    return;
  printf("\n%zu librar%s only in the %s one:", count, count == 1 ? "y" : "ies",
         side == DIFF_OLD ? "old" : "new");
  size_t shown = 0;
  for (size_t i = 0; i < of->library_count && (d->is_long || shown < DIFF_EXAMPLES); ++i) {
    if (of->libraries[i].is_matched || !of->libraries[i].kernel_count)
      continue;
    printf(shown++ ? ", " : " ");
    const char *place = of->libraries[i].place;
    size_t length = strlen(place);
    bool is_cut = !d->is_long && length > longest_place;
    printf("%s", is_cut ? "..." : "");
    cli_text_print(kdl_text_of(place + (is_cut ? length - longest_place : 0)), "");
  }
  printf(shown < count ? ", ...\n" : "\n");
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

static void print_name(const diff *d, const diff_kernel *kernel) {
  char plain[longest_name + 1];
  kdl_string name = cli_demangle(d->demangler, diff_kernel_name(d, kernel));
  if (!d->is_long && kdl_cxx_name(name, plain, sizeof plain))
    name = kdl_text_of(plain);
  bool is_cut = !d->is_long && name.length > longest_name;
  cli_text_put(stdout, (kdl_string){name.data, is_cut ? longest_name : name.length});
  if (is_cut)
    printf("...");
}

static void print_item(const diff *d, const diff_item *item) {
  const diff_kernel *old = item->side == DIFF_NEW ? diff_partner(d, DIFF_NEW, item->kernel) : NULL;
  cli_text_printf(stdout, "  %s  ", diff_kernel_target(d, item->kernel)->label);
  if (old && d->names.items[old->name].key != d->names.items[item->kernel->name].key) {
    print_name(d, old);
    printf(" -> ");
  }
  print_name(d, item->kernel);
  char *numbers = diff_item_text(d, item);
  cli_text_printf(stdout, "%s%s\n", *numbers ? "  " : "", numbers);
  free(numbers);
}

static void print_change(const diff *d, diff_change change) {
  diff_item items[DIFF_EXAMPLES];
  size_t count = diff_worst(d, change, items, DIFF_EXAMPLES);
  printf("\n%s: %zu\n", diff_change_name(change), d->totals[change]);
  for (size_t i = 0; i < count; ++i)
    print_item(d, &items[i]);
}

/* Every kernel with a change, below its library. */
static void print_all(const diff *d) {
  size_t count;
  diff_item *items = diff_list(d, DIFF_BIT(DIFF_CHANGES) - 1, &count);
  const char *path = NULL;
  for (size_t i = 0; i < count; ++i) {
    const diff_kernel *kernel = items[i].kernel;
    const char *next = d->sides[items[i].side].libraries[kernel->library].path;
    if (!path || strcmp(path, next) != 0) {
      putchar('\n');
      cli_text_print(kdl_text_of(next), "\n");
    }
    path = next;
    for (int change = 0, is_first = 1; change < DIFF_CHANGES; ++change) {
      if (kernel->changes >> change & 1)
        printf("%s%s", is_first ? "" : ",", diff_change_name((diff_change)change));
      is_first &= !(kernel->changes >> change & 1);
    }
    print_item(d, &items[i]);
  }
  free(items);
}

static void print_excesses(const diff *d) {
  if (d->budget)
    printf("\nbudget: %zu exceeded\n", d->excess_count);
  for (size_t i = 0; i < d->excess_count; ++i) {
    const diff_excess *excess = &d->excesses[i];
    if (!d->is_long && i == (size_t)4 * DIFF_EXAMPLES) {
      printf("  and %zu more: --long lists all\n", d->excess_count - i);
      break;
    }
    printf("  line %zu: ", diff_budget_line(d->budget, excess->limit));
    cli_text_print(kdl_text_of(diff_budget_limit(d->budget, excess->limit)), "");
    printf(": found %" PRIu64, excess->found);
    if (excess->kernel) {
      cli_text_printf(stdout, " in %s  ", diff_kernel_target(d, excess->kernel)->label);
      print_name(d, excess->kernel);
    }
    putchar('\n');
  }
}

static void print_bytes(const diff *d) {
  const diff_bytes *bytes = &d->bytes;
  if (!bytes->is_compared)
    return;
  if (bytes->is_equal) {
    puts("\nbytes: the files are equal");
    return;
  }
  printf("\nbytes: the first difference is at offset 0x%" PRIx64 "\n", bytes->offset);
  for (size_t i = 0; i < bytes->line_count; ++i) {
    if (!d->is_long && i == (size_t)4 * DIFF_EXAMPLES) {
      printf("  and %zu more: --long lists all\n", bytes->line_count - i);
      break;
    }
    printf("  ");
    cli_text_print(kdl_text_of(bytes->lines[i]), "\n");
  }
}

static void print_failures(const diff *d) {
  uint32_t failures = diff_failures(d);
  const char *separator = "\nfails on ";
  for (int change = 0; change < DIFF_CHANGES; ++change) {
    if (!(failures >> change & 1))
      continue;
    printf("%s%s (%zu)", separator, diff_change_name((diff_change)change), d->totals[change]);
    separator = ", ";
  }
  if (failures)
    putchar('\n');
}

kdl_status diff_print_text(diff *d) {
  print_side(d, DIFF_OLD);
  print_side(d, DIFF_NEW);
  KDL_TRY(print_targets(d));
  KDL_TRY(print_devices(d));
  print_libraries(d, DIFF_OLD);
  print_libraries(d, DIFF_NEW);
  if (d->is_long) {
    print_all(d);
  } else {
    for (int change = 0; change < DIFF_CODE; ++change) {
      if (d->totals[change])
        print_change(d, (diff_change)change);
    }
    if (d->totals[DIFF_RENAMED])
      print_change(d, DIFF_RENAMED);
  }
  print_bytes(d);
  print_excesses(d);
  print_failures(d);
  if (d->walk.error_count)
    puts("\nnot readable:");
  for (size_t i = 0; i < d->walk.error_count; ++i) {
    const check_error *error = &d->walk.errors[i];
    printf("  ");
    if (!kdl_starts_with(error->message, error->path))
      cli_text_print(kdl_text_of(error->path), ": ");
    cli_text_print(kdl_text_of(error->message), "\n");
  }
  return cli_output_flush();
}
