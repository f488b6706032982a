/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report as Markdown, for a comment on a pull request. */
#include "pack/diff/diff.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/output.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_kernels = 50 }; /* a change names, unless all are wanted */

/* Text as code; characters that end code or a cell are replaced. */
static void put_code(kdl_string text) {
  char *shown = cli_check_alloc(cli_text_printable(text));
  for (char *at = shown; *at; ++at) {
    if (*at == '`' || *at == '|')
      *at = '_';
  }
  printf("`%s`", shown);
  free(shown);
}

static void put_counts(const diff *d) {
  size_t skipped = 0;
  printf("| target | old | new |");
  for (int change = 0; change < DIFF_CHANGES; ++change) {
    if (d->totals[change])
      printf(" %s |", diff_change_name((diff_change)change));
  }
  printf(" equal |\n|---|---:|---:|");
  for (int change = 0; change < DIFF_CHANGES; ++change)
    fputs(d->totals[change] ? "---:|" : "", stdout);
  puts("---:|");
  for (size_t i = 0; i < d->target_count; ++i) {
    if (!d->kernels[i][DIFF_OLD] && !d->kernels[i][DIFF_NEW])
      continue;
    if (!d->is_compared[i]) {
      ++skipped;
      continue;
    }
    printf("| ");
    put_code(kdl_text_of(d->targets[i].label));
    printf(" | %zu | %zu |", d->kernels[i][DIFF_OLD], d->kernels[i][DIFF_NEW]);
    for (int change = 0; change < DIFF_CHANGES; ++change) {
      if (d->totals[change])
        printf(" %zu |", d->counts[i][change]);
    }
    printf(" %zu |\n", d->equal[i]);
  }
  if (skipped)
    printf("\n%zu target%s not compared: none of the given devices runs %s.\n", skipped,
           skipped == 1 ? "" : "s", skipped == 1 ? "it" : "them");
}

static void put_devices(const diff *d) {
  if (!d->walk.devices.count)
    return;
  puts("\n| device | kernels that run, old | new | lost | gained | compiled by the driver now |\n"
       "|---|---:|---:|---:|---:|---:|");
  for (size_t i = 0; i < d->walk.devices.count; ++i) {
    const diff_device *device = &d->devices[i];
    printf("| ");
    put_code(kdl_text_of(d->walk.devices.items[i].name));
    printf(" | %zu | %zu | %zu | %zu | %zu |\n", device->kernels[DIFF_OLD],
           device->kernels[DIFF_NEW], device->lost, device->gained, device->jit);
  }
  if (d->assumes_tools)
    cli_text_printf(stdout, "\nDescribed devices are %s.\n", CLI_ASSUMED_TOOLS);
}

static void put_change(const diff *d, diff_change change) {
  size_t count;
  diff_item *items = diff_list(d, DIFF_BIT(change), &count);
  printf("\n<details><summary>%s: %zu</summary>\n\n", diff_change_name(change), count);
  for (size_t i = 0; i < count && (d->is_long || i < most_kernels); ++i) {
    const diff_kernel *old =
        items[i].side == DIFF_NEW ? diff_partner(d, DIFF_NEW, items[i].kernel) : NULL;
    char *numbers = diff_item_text(d, &items[i]);
    printf("- ");
    put_code(kdl_text_of(diff_kernel_target(d, items[i].kernel)->label));
    putchar(' ');
    if (old && change == DIFF_RENAMED) {
      put_code(cli_demangle(d->demangler, diff_kernel_name(d, old)));
      printf(" → ");
    }
    put_code(cli_demangle(d->demangler, diff_kernel_name(d, items[i].kernel)));
    cli_text_printf(stdout, "%s%s\n", *numbers ? ": " : "", numbers);
    free(numbers);
  }
  if (!d->is_long && count > most_kernels)
    printf("- and %zu more\n", count - most_kernels);
  puts("\n</details>");
  free(items);
}

static void put_excesses(const diff *d) {
  if (!d->budget)
    return;
  printf("\nBudget: %zu exceeded.\n\n", d->excess_count);
  for (size_t i = 0; i < d->excess_count && (d->is_long || i < most_kernels); ++i) {
    const diff_excess *excess = &d->excesses[i];
    printf("- line %zu, ", diff_budget_line(d->budget, excess->limit));
    put_code(kdl_text_of(diff_budget_limit(d->budget, excess->limit)));
    printf(": found %" PRIu64, excess->found);
    if (excess->kernel) {
      printf(" in ");
      put_code(cli_demangle(d->demangler, diff_kernel_name(d, excess->kernel)));
      printf(", ");
      put_code(kdl_text_of(diff_kernel_target(d, excess->kernel)->label));
    }
    putchar('\n');
  }
}

kdl_status diff_print_markdown(diff *d) {
  uint32_t failures = diff_failures(d);
  printf("### Kernels of ");
  put_code(kdl_text_of(d->sides[DIFF_OLD].path));
  printf(" and ");
  put_code(kdl_text_of(d->sides[DIFF_NEW].path));
  puts("\n");
  put_counts(d);
  put_devices(d);
  for (int change = 0; change < DIFF_CHANGES; ++change) {
    if (d->totals[change] && change != DIFF_CODE)
      put_change(d, (diff_change)change);
  }
  if (d->bytes.is_compared && d->bytes.is_equal)
    puts("\nThe files are equal, byte for byte.");
  put_excesses(d);
  if (failures)
    printf("\nFails on:");
  for (int change = 0; change < DIFF_CHANGES; ++change) {
    if (failures >> change & 1)
      printf(" %s", diff_change_name((diff_change)change));
  }
  if (failures)
    puts("");
  for (size_t i = 0; i < d->walk.error_count; ++i) {
    fputs(i ? "" : "\nNot readable:\n\n", stdout);
    printf("- ");
    put_code(kdl_text_of(d->walk.errors[i].message));
    putchar('\n');
  }
  return cli_output_flush();
}
