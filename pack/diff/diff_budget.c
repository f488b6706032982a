/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A budget: a file of limits, one a line.
 *
 *     # limit   most  target     kernels
 *     registers 128   cubin*     *gemm*
 *     spills    0
 *     lost      0
 *
 * Numbers of kernels (registers, stack, ...) limit each kernel of the new side that matches both
 * patterns; names of changes limit how many kernels have that change. Patterns are those of a
 * shell; both may be left out. A number may end in K or M.
 */
#include "pack/diff/diff.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/input.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a limit is about, if not a change. */
typedef enum {
  limit_registers,
  limit_spills,
  limit_stack,
  limit_shared,
  limit_code_bytes,
  limit_kernel_numbers,
} kernel_number;

static const char *const number_names[limit_kernel_numbers] = {
    [limit_registers] = "registers", [limit_spills] = "spills",         [limit_stack] = "stack",
    [limit_shared] = "shared",       [limit_code_bytes] = "code_bytes",
};

typedef struct {
  int number; /* kernel_number; limit_kernel_numbers and up: a diff_change */
  uint64_t most;
  const char *target, *kernels; /* patterns; NULL: all */
  size_t line;
  const char *text;
} limit;

struct diff_budget {
  kdl_arena arena;
  limit *limits;
  size_t count, capacity;
};

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

static kdl_string next_word(kdl_string line, size_t *at) {
  while (*at < line.length && kdl_is_one_of(line.data[*at], " \t\r"))
    ++*at;
  size_t start = *at;
  *at = kdl_text_find(line, start, " \t\r");
  return (kdl_string){line.data + start, *at - start};
}

static bool find_number(kdl_string name, int *out_number) {
  diff_change change;
  for (int i = 0; i < limit_kernel_numbers; ++i) {
    if (kdl_text_is(name, number_names[i])) {
      *out_number = i;
      return true;
    }
  }
  if (!diff_change_parse(name, &change))
    return false;
  *out_number = limit_kernel_numbers + (int)change;
  return true;
}

static bool parse_most(kdl_string word, uint64_t *out_most) {
  uint32_t number;
  size_t at = 0;
  if (!kdl_text_parse_number(word, &at, &number))
    return false;
  uint64_t unit = 1;
  if (at + 1 == word.length && kdl_is_one_of(word.data[at], "KM"))
    unit = word.data[at++] == 'K' ? 1u << 10 : 1u << 20;
  *out_most = number * unit;
  return at == word.length;
}

static kdl_status unexpected(const char *path, size_t line, kdl_string found,
                             const char *expected) {
  char *shown = cli_check_alloc(cli_text_printable(found));
  kdl_status status = kdl_fail(KDL_BAD_FILE, "%s: line %zu: found \"%s\", expected %s", path, line,
                               shown, expected);
  free(shown);
  return status;
}

static const char *copy_pattern(diff_budget *budget, kdl_string word) {
  return word.length ? xarena_string(&budget->arena, word.data, word.length).data : NULL;
}

static kdl_status parse_line(diff_budget *budget, const char *path, size_t number,
                             kdl_string line) {
  size_t at = 0;
  line.length = kdl_text_find(line, 0, "#");
  kdl_string name = next_word(line, &at);
  if (!name.length)
    return KDL_OK;
  limit next = {.line = number};
  if (!find_number(name, &next.number))
    return unexpected(path, number, name,
                      "registers, spills, stack, shared, code_bytes, or a change such as lost");
  kdl_string most = next_word(line, &at);
  if (!parse_most(most, &next.most))
    return unexpected(path, number, most, "a number, perhaps with K or M");
  next.target = copy_pattern(budget, next_word(line, &at));
  next.kernels = copy_pattern(budget, next_word(line, &at));
  kdl_string more = next_word(line, &at);
  if (more.length)
    return unexpected(path, number, more, "the end of the line");
  next.text = xarena_format(&budget->arena, "%.*s %" PRIu64 "%s%s%s%s", (int)name.length, name.data,
                            next.most, next.target ? " " : "", next.target ? next.target : "",
                            next.kernels ? " " : "", next.kernels ? next.kernels : "");
  budget->limits =
      xgrow(budget->limits, budget->count, &budget->capacity, 16, sizeof *budget->limits);
  budget->limits[budget->count++] = next;
  return KDL_OK;
}

kdl_status diff_budget_parse(const char *path, kdl_string text, diff_budget **out_budget) {
  diff_budget *budget = xcalloc(1, sizeof *budget);
  kdl_status status = KDL_OK;
  size_t number = 0;
  for (size_t at = 0; at < text.length && status == KDL_OK;) {
    size_t end = kdl_text_find(text, at, "\n");
    status = parse_line(budget, path, ++number, (kdl_string){text.data + at, end - at});
    at = end + 1;
  }
  if (status == KDL_OK && !budget->count)
    status = kdl_fail(KDL_BAD_FILE, "%s: found no limit in %zu lines, expected one", path, number);
  if (status != KDL_OK) {
    diff_budget_free(budget);
    return status;
  }
  *out_budget = budget;
  return KDL_OK;
}

kdl_status diff_budget_read(const char *path, diff_budget **out_budget) {
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read(path, &bytes));
  kdl_status status = diff_budget_parse(path, (kdl_string){bytes.data, bytes.size}, out_budget);
  cli_bytes_free(&bytes);
  return status;
}

void diff_budget_free(diff_budget *budget) {
  if (!budget)
    return;
  free(budget->limits);
  kdl_arena_free(&budget->arena);
  free(budget);
}

const char *diff_budget_limit(const diff_budget *budget, size_t number) {
  return budget->limits[number].text;
}

size_t diff_budget_line(const diff_budget *budget, size_t number) {
  return budget->limits[number].line;
}

/* ------------------------------------------------------------------------------------------ */
/* Applying                                                                                     */

static uint32_t number_of(const kdl_kernel_resources *uses, int number) {
  switch (number) {
  case limit_registers:
    return uses->vector_registers;
  case limit_spills:
    return diff_spills(uses);
  case limit_stack:
    return uses->stack;
  case limit_shared:
    return uses->shared;
  default:
    return uses->code_bytes;
  }
}

static bool matches(const diff *d, const limit *of, const diff_kernel *kernel) {
  if (of->target && fnmatch(of->target, diff_kernel_target(d, kernel)->label, 0) != 0 &&
      fnmatch(of->target, diff_kernel_target(d, kernel)->arch, 0) != 0)
    return false;
  return !of->kernels || fnmatch(of->kernels, diff_kernel_name(d, kernel).data, 0) == 0;
}

static void add_excess(diff *d, size_t number, uint64_t found, const diff_kernel *kernel) {
  d->excesses = xgrow(d->excesses, d->excess_count, &d->excess_capacity, 16, sizeof *d->excesses);
  d->excesses[d->excess_count++] = (diff_excess){number, found, kernel};
}

static void limit_kernels(diff *d, size_t number) {
  const limit *of = &d->budget->limits[number];
  const diff_side *side = &d->sides[DIFF_NEW];
  for (size_t i = 0; i < side->kernel_count; ++i) {
    const diff_kernel *kernel = &side->kernels[i];
    uint32_t found = number_of(&kernel->uses, of->number);
    bool is_asked = !d->walk.devices.count || kernel->devices;
    if (found != KDL_NO_RESOURCE && found > of->most && !kernel->is_copy && is_asked &&
        matches(d, of, kernel))
      add_excess(d, number, found, kernel);
  }
}

static void limit_changes(diff *d, size_t number) {
  const limit *of = &d->budget->limits[number];
  uint32_t bit = DIFF_BIT(of->number - limit_kernel_numbers);
  uint64_t found = 0;
  for (int side = 0; side < DIFF_SIDES; ++side) {
    for (size_t i = 0; i < d->sides[side].kernel_count; ++i) {
      const diff_kernel *kernel = &d->sides[side].kernels[i];
      found += (kernel->changes & bit) && matches(d, of, kernel);
    }
  }
  if (found > of->most)
    add_excess(d, number, found, NULL);
}

void diff_budget_apply(diff *d) {
  for (size_t i = 0; d->budget && i < d->budget->count; ++i) {
    if (d->budget->limits[i].number < limit_kernel_numbers)
      limit_kernels(d, i);
    else
      limit_changes(d, i);
  }
}
