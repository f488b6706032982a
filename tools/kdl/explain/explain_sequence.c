/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prints a recorded sequence as text: its slots, its kernels, and its steps in order. */
#include "lib/inspect/metadata.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/text.h"
#include "tools/kdl/explain/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kdl_status print_slots(const kdl_seqfile *saved) {
  static const cli_column columns[] = {
      {.title = "#", .right = true},
      {.title = "SLOT", .tint = "36"},
      {.title = "KIND"},
      {.title = "BYTES", .right = true},
  };
  static const char *const kinds[] = {"", "buffer", "scalar", "items", "host"};
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  char name[CLI_SLOT_ROOM];
  for (uint32_t i = 0; i < saved->slot_count; ++i) {
    cli_table_add_number(table, i + 1);
    cli_table_add(table, kdl_text_of(cli_slot_name(saved, i + 1, name)));
    cli_table_add(table, kdl_text_of(kinds[saved->slots[i].kind]));
    if (saved->slots[i].kind == KDL_SLOT_ITEMS)
      cli_table_add(table, KDL_TEXT(""));
    else
      cli_table_add_number(table, saved->slots[i].bytes);
  }
  return cli_table_finish(table);
}

static void add_extent(cli_table *table, const uint32_t extent[3]) {
  char words[48] = "";
  if (extent[0])
    snprintf(words, sizeof words, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, extent[0], extent[1],
             extent[2]);
  cli_table_add(table, kdl_text_of(words));
}

static kdl_status print_kernels(const kdl_seqfile *saved) {
  static const cli_column columns[] = {
      {.title = "KERNEL", .tint = "32"},
      {.title = "LAUNCHES", .right = true},
      {.title = "SIGNATURE", .shrinks = 1},
      {.title = "BLOCK"},
      {.title = "TILE"},
      {.title = "LIBRARY", .shrinks = 2},
  };
  uint32_t *launches = xcalloc(saved->kernel_count, sizeof *launches);
  for (uint32_t i = 0; i < saved->step_count; ++i) {
    if (saved->steps[i].kind == KDL_STEP_LAUNCH)
      ++launches[saved->steps[i].of.launch->kernel];
  }
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  for (uint32_t i = 0; i < saved->kernel_count; ++i) {
    const kdl_seqfile_kernel *kernel = &saved->kernels[i];
    cli_table_add(table, kernel->name);
    cli_table_add_number(table, launches[i]);
    cli_table_add(table, kernel->sig);
    add_extent(table, kernel->block);
    add_extent(table, kernel->tile);
    cli_table_add(table, kernel->library);
  }
  free(launches);
  return cli_table_finish(table);
}

/* ------------------------------------------------------------------------------------------ */
/* Steps                                                                                        */

static void put_bytes(FILE *out, const kdl_operand *operand) {
  const uint8_t *bytes = operand->of.value;
  fputs("0x", out);
  for (uint64_t i = operand->bytes; i-- > 0;)
    fprintf(out, "%02x", bytes[i]);
}

/* Formatted by its type in the signature; hexadecimal without one. */
static void put_value(FILE *out, const kdl_param *param, const kdl_operand *operand) {
  uint64_t bits = 0;
  float single;
  double wide;
  if (operand->bytes > sizeof bits || !param) {
    put_bytes(out, operand);
    return;
  }
  memcpy(&bits, operand->of.value, operand->bytes);
  unsigned unused = (unsigned)(64 - operand->bytes * 8);
  if (param->kind == KDL_PARAM_INT) {
    fprintf(out, "%" PRId64, (int64_t)(bits << unused) >> unused);
  } else if (param->kind == KDL_PARAM_UINT) {
    fprintf(out, "%" PRIu64, bits);
  } else if (param->kind == KDL_PARAM_FLOAT && operand->bytes == sizeof single) {
    memcpy(&single, &bits, sizeof single);
    fprintf(out, "%.9g", (double)single);
  } else if (param->kind == KDL_PARAM_FLOAT && operand->bytes == sizeof wide) {
    memcpy(&wide, &bits, sizeof wide);
    fprintf(out, "%.17g", wide);
  } else {
    put_bytes(out, operand);
  }
}

static void put_operand(FILE *out, const kdl_seqfile *saved, const kdl_operand *operand) {
  char name[CLI_SLOT_ROOM];
  fputs(cli_slot_name(saved, operand->slot, name), out);
  if (operand->offset)
    fprintf(out, "+%" PRIu64, operand->offset);
}

static void put_arguments(FILE *out, const kdl_seqfile *saved, const kdl_seqfile_launch *launch) {
  kdl_string sig = saved->kernels[launch->kernel].sig;
  size_t at = 0;
  for (uint32_t i = 0; i < launch->arg_count; ++i) {
    const kdl_operand *operand = &launch->args[i];
    kdl_param param;
    bool is_told = kdl_signature_next(sig, &at, &param, NULL);
    fputs(i ? ", " : "(", out);
    if (operand->kind == KDL_OPERAND_SLOT)
      put_operand(out, saved, operand);
    else if (operand->kind == KDL_OPERAND_VALUE)
      put_value(out, is_told ? &param : NULL, operand);
    else
      fputs("null", out);
  }
  fputs(launch->arg_count ? ")" : "()", out);
}

void cli_sequence_put_shape(FILE *out, const kdl_seqfile *saved, const kdl_seqfile_launch *launch) {
  const kdl_extent *items = &launch->items.of.items;
  const uint32_t *grid = launch->desc.grid, *block = launch->desc.block;
  if (launch->items.kind == KDL_OPERAND_SLOT) {
    put_operand(out, saved, &launch->items);
    fputs(" items", out);
  } else if (launch->items.kind == KDL_OPERAND_ITEMS) {
    fprintf(out, "%" PRIu64 "x%" PRIu64 "x%" PRIu64 " items", items->x, items->y, items->z);
  } else {
    fprintf(out, "%" PRIu32 "x%" PRIu32 "x%" PRIu32 " groups", grid[0], grid[1], grid[2]);
    if (block[0])
      fprintf(out, " of %" PRIu32 "x%" PRIu32 "x%" PRIu32, block[0], block[1], block[2]);
  }
}

void cli_sequence_put_copy(FILE *out, const kdl_seqfile *saved, const kdl_seqfile_step *step) {
  const kdl_seqfile_copy *copy = step->of.copy;
  fprintf(out, "%s %" PRIu64 " bytes: ", step->kind == KDL_STEP_COPY ? "copy" : "fill",
          copy->bytes);
  put_operand(out, saved, &copy->to);
  fputs(" = ", out);
  if (step->kind == KDL_STEP_COPY) {
    put_operand(out, saved, &copy->from);
    return;
  }
  fputs("0x", out);
  for (uint32_t i = copy->pattern_size; i-- > 0;)
    fprintf(out, "%02x", copy->pattern[i]);
}

void cli_sequence_put_condition(FILE *out, const kdl_seqfile *saved, const kdl_operand *condition) {
  fputs("while ", out);
  put_operand(out, saved, condition);
}

static void print_step(const kdl_seqfile *saved, const kdl_seqfile_step *step) {
  static const char *const marks[] = {[KDL_STEP_FORK] = "fork",
                                      [KDL_STEP_BRANCH] = "branch",
                                      [KDL_STEP_JOIN] = "join",
                                      [KDL_STEP_END] = "end"};
  if (step->kind == KDL_STEP_LAUNCH) {
    cli_text_print(saved->kernels[step->of.launch->kernel].name, " ");
    put_arguments(stdout, saved, step->of.launch);
    fputs(": ", stdout);
    cli_sequence_put_shape(stdout, saved, step->of.launch);
  } else if (step->kind == KDL_STEP_WHILE) {
    cli_sequence_put_condition(stdout, saved, step->of.condition);
  } else if (step->kind == KDL_STEP_COPY || step->kind == KDL_STEP_FILL) {
    cli_sequence_put_copy(stdout, saved, step);
  } else {
    fputs(marks[step->kind], stdout);
  }
  putchar('\n');
}

/* Steps in a fork or a loop are indented. */
static void print_steps(const kdl_seqfile *saved) {
  int depth = 0;
  for (uint32_t i = 0; i < saved->step_count; ++i) {
    kdl_step_kind kind = saved->steps[i].kind;
    bool closes = kind == KDL_STEP_JOIN || kind == KDL_STEP_END;
    bool opens = kind == KDL_STEP_FORK || kind == KDL_STEP_WHILE;
    depth -= closes;
    printf("%5" PRIu32 "  %*s", i, 2 * (depth - (kind == KDL_STEP_BRANCH)), "");
    print_step(saved, &saved->steps[i]);
    depth += opens;
  }
}

kdl_status cli_sequence_print(const char *file, const cli_sequence *sequence) {
  const kdl_seqfile *saved = &sequence->saved;
  fputs("sequence ", stdout);
  cli_text_print(sequence->name, " of ");
  cli_text_print(kdl_text_of(file), "");
  printf(": launches: %" PRIu32 ", kernels: %" PRIu32 ", steps: %" PRIu32 ", slots: %" PRIu32 "\n",
         saved->launch_count, saved->kernel_count, saved->step_count, saved->slot_count);
  if (saved->slot_count)
    KDL_TRY(print_slots(saved));
  if (saved->kernel_count)
    KDL_TRY(print_kernels(saved));
  print_steps(saved);
  return KDL_OK;
}
