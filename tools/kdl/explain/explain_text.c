/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/devices.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "support/base/cxx_name.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/kinds.h"
#include "tools/common/report.h"
#include "tools/common/text.h"
#include "tools/kdl/explain/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns that are empty for all images are left out. */
enum { show_priority = 1, show_tag = 2, show_module = 4 };

static const struct {
  cli_column column;
  unsigned only_with;
} all_columns[] = {
    {{.title = "", .right = true, .tint = "1;32"}, 0},
    {{.title = "#", .right = true}, 0},
    {{.title = "MODULE", .right = true}, show_module},
    {{.title = "KIND"}, 0},
    {{.title = "ARCH", .shrinks = 1, .tint = "36"}, 0},
    {{.title = "PRIORITY", .right = true}, show_priority},
    {{.title = "TAG", .shrinks = 2}, show_tag},
    {{.title = "FIT"}, 0},
};
enum { column_count = sizeof all_columns / sizeof *all_columns };

static void print_labelled(const char *label, const char *text, const char *more) {
  printf("%-8s", label);
  cli_text_print(kdl_text_of(text), "");
  if (*more) {
    fputs("  ", stdout);
    cli_text_print(kdl_text_of(more), "");
  }
  putchar('\n');
}

static unsigned optional_columns(const cli_query *query, const cli_ranking *ranking) {
  unsigned show = query->module_count > 1 ? show_module : 0;
  for (size_t i = 0; i < ranking->count; ++i) {
    if (ranking->items[i].priority)
      show |= show_priority;
    if (kdl_image_value(query->input->lib, ranking->items[i].image, "variant_tag"))
      show |= show_tag;
  }
  return show;
}

static void add_verdict_row(cli_table *table, const cli_query *query, cli_ranking *ranking,
                            const kdl_verdict *verdict, unsigned show) {
  kdl_image_info image = {.size = sizeof image};
  const kdl_string *tag = kdl_image_value(query->input->lib, verdict->image, "variant_tag");
  kdl_image_get(query->input->lib, verdict->image, &image);
  cli_table_add(table, kdl_text_of(verdict->chosen ? "*" : verdict->eligible ? "+" : "."));
  cli_table_add_number(table, verdict->image);
  if (show & show_module)
    cli_table_add_number(table, image.module);
  char room[CLI_IMAGE_KIND_ROOM], arch[KDL_TEXT_SHORT + 1];
  cli_table_add(table, kdl_text_of(cli_image_kind_name(&image, room)));
  cli_table_add(table, kdl_text_short(image.arch, arch));
  if (show & show_priority)
    cli_table_add_number(table, verdict->priority);
  if (show & show_tag)
    cli_table_add(table, tag ? *tag : (kdl_string){"", 0});
  cli_table_add(table, kdl_text_of(verdict->eligible ? verdict->fit : ""));
  kdl_string when = cli_image_condition(query, verdict->image);
  if (when.data)
    cli_table_add_line(table, "when:", when);
  for (size_t i = 0; i < verdict->reason_count; ++i)
    cli_table_add_line(table, xarena_format(&ranking->arena, "%s:", verdict->reasons[i].code),
                       kdl_text_of(verdict->reasons[i].words));
}

static kdl_status print_images(const cli_query *query, cli_ranking *ranking, const bool *shown) {
  cli_column columns[column_count];
  size_t count = 0;
  unsigned show = optional_columns(query, ranking);
  for (size_t i = 0; i < column_count; ++i) {
    if ((all_columns[i].only_with & show) == all_columns[i].only_with)
      columns[count++] = all_columns[i].column;
  }
  cli_table *table = cli_table_create(columns, count);
  for (size_t i = 0; i < ranking->count; ++i) {
    if (shown[i])
      add_verdict_row(table, query, ranking, &ranking->items[i], show);
  }
  return cli_table_finish(table);
}

/* All images, or if there are many, those that may have the kernel. */
static kdl_status print_ranking(const cli_query *query, cli_ranking *ranking) {
  bool *shown = xarena_alloc(&ranking->arena, ranking->count * sizeof *shown);
  size_t count = 0;
  for (size_t i = 0; i < ranking->count; ++i) {
    shown[i] = !cli_query_is_summarized(query, ranking->count) ||
               !cli_verdict_lacks_kernel(&ranking->items[i]);
    count += shown[i];
  }
  KDL_TRY(cli_query_is_summarized(query, count) ? cli_explain_groups(query, ranking, shown)
                                                : print_images(query, ranking, shown));
  char room[CLI_COUNT_ROOM];
  if (count < ranking->count)
    printf("%s images do not hold the kernel\n", cli_count(ranking->count - count, room));
  putchar('\n');
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The outcome                                                                                  */

const char *cli_count(size_t number, char room[CLI_COUNT_ROOM]) {
  char digits[24];
  size_t length = (size_t)snprintf(digits, sizeof digits, "%zu", number);
  size_t used = 0;
  for (size_t i = 0; i < length; ++i) {
    if (i && (length - i) % 3 == 0)
      room[used++] = ',';
    room[used++] = digits[i];
  }
  room[used] = '\0';
  return room;
}

/* "3 of 226 modules, 12 of 15,008 kernels" */
enum { coverage_room = 256 };

static const char *coverage_text(const kdl_coverage *coverage, char room[coverage_room]) {
  char counts[6][CLI_COUNT_ROOM];
  kdl_out out = {room, coverage_room, 0};
  kdl_out_format(
      &out, "%s of %s modules, %s of %s kernels", cli_count(coverage->modules_run, counts[0]),
      cli_count(coverage->modules, counts[1]), cli_count(coverage->kernels_run, counts[2]),
      cli_count(coverage->kernels, counts[3]));
  if (coverage->kernels_hollow)
    kdl_out_format(&out, "; the code of %s does nothing (hollow)",
                   cli_count(coverage->kernels_hollow, counts[5]));
  if (coverage->unreadable)
    kdl_out_format(&out, "; the kernels of %s image%s cannot be read",
                   cli_count(coverage->unreadable, counts[4]),
                   coverage->unreadable == 1 ? "" : "s");
  return room;
}

/* "runs    3 of 226 modules, 12 of 15,008 kernels", and an example that does not run. */
static void print_coverage(const kdl_coverage *coverage) {
  char room[coverage_room];
  print_labelled("runs", coverage_text(coverage, room), "");
  if (!coverage->missing.data)
    return;
  char text[512], plain[128], count[CLI_COUNT_ROOM];
  kdl_out out = {text, sizeof text, 0};
  kdl_string name = coverage->missing;
  size_t others = coverage->kernels - coverage->kernels_run - 1;
  kdl_out_format(&out, "%.*s%s", name.length < 160 ? (int)name.length : 160, name.data,
                 name.length < 160 ? "" : "...");
  if (kdl_cxx_name(name, plain, sizeof plain))
    kdl_out_format(&out, " (%s)", plain);
  if (others)
    kdl_out_format(&out, " and %s more", cli_count(others, count));
  print_labelled("missing", text, "");
}

/* An image that kdl-ld lowers is the last choice: what kdl cc would make for the device. */
static void print_native_target(const cli_ranking *ranking, const char *how) {
  char text[512];
  kdl_out out = {text, sizeof text, 0};
  kdl_string backend = {ranking->device, strcspn(ranking->device, ":")};
  const char *arch = kdl_backend_words_of(backend).target;
  if (!arch)
    arch = ranking->device + backend.length + (ranking->device[backend.length] == ':');
  kdl_out_format(
      &out,
      "no image is for this device: %s when it is loaded; 'kdl cc --targets=%.*s' makes a "
      "native one",
      how, (int)strcspn(arch, ":+ "), arch);
  print_labelled("native", text, "");
}

/* "chosen  image 0 (cubin sm_90a), exact", or the nearest image and what would help. */
static void print_choice(const cli_query *query, const cli_ranking *ranking) {
  const kdl_verdict *first = ranking->chosen ? ranking->chosen : &ranking->items[0];
  kdl_image_info image = cli_image_at(query->input->lib, first->image);
  char text[512], kind[CLI_IMAGE_KIND_ROOM], room[KDL_TEXT_SHORT + 1];
  kdl_out out = {text, sizeof text, 0};
  kdl_string arch = kdl_text_short(image.arch, room);
  kdl_out_format(&out, "%simage %zu (%s%s%.*s)", ranking->chosen ? "" : "none; the nearest is ",
                 first->image, cli_image_kind_name(&image, kind), arch.length ? " " : "",
                 (int)arch.length, arch.data);
  if (ranking->chosen)
    kdl_out_format(&out, ", %s", first->fit);
  print_labelled("chosen", text, "");
  if (ranking->chosen && kdl_family_of_triple(image.triple) == KDL_FAMILY_PORTABLE)
    print_native_target(ranking, "kdl-ld lowers the portable one");
  else if (ranking->chosen && strcmp(first->fit, "translated") == 0)
    print_native_target(ranking, "llvm-spirv and kdl-ld translate the SPIR-V one");
  if (ranking->is_hollow) {
    const kdl_reason_row *hollow = &kdl_reasons[KDL_REASON_HOLLOW];
    print_labelled("hollow", hollow->words, "");
    print_labelled("fix", hollow->fix, "");
  }
  for (size_t i = 0; i < first->reason_count; ++i) {
    if (first->reasons[i].fix[0])
      print_labelled("fix", first->reasons[i].fix, "");
  }
}

/* Where nothing fits: what the device was taken to have, if that decides about an image other than
 * the nearest, whose fix says it. */
static void print_assumed_tools(const cli_query *query, const cli_ranking *ranking) {
  for (size_t i = 1; i < ranking->count && !ranking->items[0].eligible; ++i) {
    const kdl_verdict *verdict = &ranking->items[i];
    char text[192];
    if (!cli_would_be_translated(query->input->lib, verdict))
      continue;
    snprintf(text, sizeof text,
             "the device has kdl-ld and no llvm-spirv, with which libkdl would translate image "
             "%zu; tools=kdl-ld+llvm-spirv describes one that has it",
             verdict->image);
    print_labelled("tools", text, "");
    return;
  }
}

static void print_outcome(const cli_query *query, const cli_ranking *ranking) {
  if (ranking->count == 0) {
    print_labelled("chosen", "none: the file holds no image", "");
    return;
  }
  bool several = !ranking->chosen && ranking->items[0].eligible;
  if (ranking->by_launch) {
    char text[128];
    snprintf(text, sizeof text,
             "by each launch, of %zu images; --args=items.x=N,NAME=N shows the one for it",
             ranking->by_launch);
    print_labelled("chosen", text, "");
  } else if (several && query->kernel)
    print_labelled("chosen", "none: each image that fits has a condition", "");
  if (!several)
    print_choice(query, ranking);
  print_assumed_tools(query, ranking);
  if (query->inventory)
    print_coverage(&ranking->coverage);
}

kdl_status cli_explain_text(const cli_query *query, cli_ranking *ranking, const char *before) {
  fputs(before, stdout);
  print_labelled("device", ranking->about.label, ranking->about.name);
  print_labelled("kernel", query->kernel ? query->kernel : "any", "");
  if (query->launch)
    print_labelled("args", query->launch->text, "");
  print_labelled("policy", kdl_policy_names[query->opts.policy], "");
  if (query->opts.variant_tag)
    print_labelled("tag", query->opts.variant_tag, "");
  putchar('\n');
  if (ranking->count)
    KDL_TRY(print_ranking(query, ranking));
  print_outcome(query, ranking);
  return cli_explain_link(query, ranking);
}
