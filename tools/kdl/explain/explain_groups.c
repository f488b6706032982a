/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Summarizes many images by kind, architecture and outcome. */
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/text.h"
#include "tools/kdl/explain/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One image; after sorting, images of a group are adjacent. */
typedef struct {
  const kdl_verdict *verdict;
  kdl_string arch;
  size_t module;
  kdl_image_kind kind;
} member;

typedef struct {
  const kdl_verdict *first; /* in rank order */
  member sample;
  size_t images, modules;
  bool chosen;
} group;

static const char *verdict_outcome(const kdl_verdict *verdict) {
  return verdict->eligible ? verdict->fit : verdict->reasons[0].code;
}

static int compare_groups(const member *a, const member *b) {
  if (a->kind != b->kind)
    return a->kind < b->kind ? -1 : 1;
  int order = kdl_text_compare(a->arch, b->arch);
  if (order == 0)
    order = a->verdict->eligible - b->verdict->eligible;
  return order ? order : strcmp(verdict_outcome(a->verdict), verdict_outcome(b->verdict));
}

static int compare_members(const void *left, const void *right) {
  const member *a = left;
  const member *b = right;
  int order = compare_groups(a, b);
  return order ? order : (a->module > b->module) - (a->module < b->module);
}

static int compare_group_ranks(const void *left, const void *right) {
  const group *a = left;
  const group *b = right;
  return (a->first->position > b->first->position) - (a->first->position < b->first->position);
}

static size_t list_members(const cli_query *query, const cli_ranking *ranking, const bool *shown,
                           member *members) {
  size_t count = 0;
  for (size_t i = 0; i < ranking->count; ++i) {
    if (!shown[i])
      continue;
    kdl_image_info image = cli_image_at(query->input->lib, ranking->items[i].image);
    members[count++] = (member){&ranking->items[i], image.arch, image.module, image.kind};
  }
  qsort(members, count, sizeof *members, compare_members);
  return count;
}

static size_t make_groups(const member *members, size_t count, group *groups) {
  size_t made = 0;
  for (size_t i = 0; i < count; ++i) {
    bool is_new = i == 0 || compare_groups(&members[i - 1], &members[i]) != 0;
    if (is_new)
      groups[made++] = (group){.first = members[i].verdict, .sample = members[i]};
    group *at = &groups[made - 1];
    ++at->images;
    at->modules += is_new || members[i].module != members[i - 1].module;
    at->chosen |= members[i].verdict->chosen != 0;
    if (members[i].verdict->position < at->first->position)
      at->first = members[i].verdict;
  }
  qsort(groups, made, sizeof *groups, compare_group_ranks);
  return made;
}

static void add_group(cli_table *table, cli_ranking *ranking, const group *at) {
  char room[CLI_COUNT_ROOM];
  const kdl_verdict *first = at->first;
  cli_table_add(table, kdl_text_of(at->chosen ? "*" : first->eligible ? "+" : "."));
  cli_table_add(table, kdl_text_of(kdl_image_kind_name(at->sample.kind)));
  cli_table_add(table, at->sample.arch);
  cli_table_add(table, kdl_text_of(cli_count(at->images, room)));
  cli_table_add(table, kdl_text_of(cli_count(at->modules, room)));
  cli_table_add(table, kdl_text_of(first->eligible ? first->fit : ""));
  for (size_t i = 0; i < first->reason_count; ++i)
    cli_table_add_line(table, xarena_format(&ranking->arena, "%s:", first->reasons[i].code),
                       kdl_text_of(first->reasons[i].words));
}

static kdl_status print_groups(cli_ranking *ranking, const group *groups, size_t count) {
  static const cli_column columns[] = {
      {.title = "", .right = true, .tint = "1;32"},  {.title = "KIND"},
      {.title = "ARCH", .shrinks = 1, .tint = "36"}, {.title = "IMAGES", .right = true},
      {.title = "MODULES", .right = true},           {.title = "FIT"},
  };
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < count; ++i)
    add_group(table, ranking, &groups[i]);
  return cli_table_finish(table);
}

kdl_status cli_explain_groups(const cli_query *query, cli_ranking *ranking, const bool *shown) {
  member *members = xcalloc(ranking->count, sizeof *members);
  group *groups = xcalloc(ranking->count, sizeof *groups);
  size_t count = list_members(query, ranking, shown, members);
  kdl_status status = print_groups(ranking, groups, make_groups(members, count, groups));
  free(members);
  free(groups);
  return status;
}
