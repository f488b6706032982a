/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices are rows and images columns: there are more devices than fit across a terminal, and most
 * files have few images. If there are too many columns, the table continues below. */
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/text.h"
#include "tools/kdl/explain/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const cli_query *query;
  const cli_devices *devices;
  size_t image_count;
  char *marks;           /* image_count per device */
  const char **archs;    /* per device */
  const char **outcomes; /* "0 exact", or why nothing fits */
  char (*titles)[24];    /* titles of the image columns */
  kdl_arena arena;
} matrix;

enum { fixed_columns = 3 };

/* Only the processor: settings and features would take the room of many images. */
static const char *base_arch(matrix *m, const kdl_device_info *device) {
  return xarena_format(&m->arena, "%.*s", (int)strcspn(device->arch, ":+"), device->arch);
}

static const char *ranking_outcome(matrix *m, const cli_ranking *ranking) {
  if (ranking->count == 0)
    return "none: no images";
  const kdl_verdict *first = &ranking->items[0];
  const kdl_coverage *coverage = &ranking->coverage;
  if (!first->eligible)
    return xarena_format(&m->arena, "none: %s", first->reasons[0].code);
  if (ranking->by_launch)
    return xarena_format(&m->arena, "each launch: of %zu", ranking->by_launch);
  if (!ranking->chosen)
    return xarena_format(&m->arena, "%zu of %zu modules", coverage->modules_run, coverage->modules);
  if (ranking->fits)
    return xarena_format(&m->arena, "%zu, %s", ranking->chosen->image, ranking->chosen->fit);
  return xarena_format(&m->arena, "%zu, %s; %zu of %zu kernels", ranking->chosen->image,
                       ranking->chosen->fit, coverage->kernels_run, coverage->kernels);
}

static kdl_status fill_row(matrix *m, size_t row, bool *out_fits) {
  const cli_query *query = m->query;
  cli_ranking ranking;
  kdl_status status = cli_ranking_make(query, m->devices->items[row].device, &ranking);
  if (status == KDL_OK) {
    for (size_t i = 0; i < ranking.count; ++i) {
      const kdl_verdict *verdict = &ranking.items[i];
      m->marks[row * m->image_count + verdict->image] = verdict->chosen     ? '*'
                                                        : verdict->eligible ? '+'
                                                                            : '.';
    }
    m->archs[row] = base_arch(m, &ranking.about);
    m->outcomes[row] = ranking_outcome(m, &ranking);
    *out_fits |= ranking.fits;
  }
  cli_ranking_free(&ranking);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Printing                                                                                     */

static bool any_has(const matrix *m, const char *key) {
  for (size_t i = 0; i < m->image_count; ++i) {
    if (kdl_image_value(m->query->input->lib, i, key))
      return true;
  }
  return false;
}

/* A legend of the numbers in the header. */
static kdl_status print_images(const matrix *m) {
  static const struct {
    const char *name, *title;
  } keys[] = {{"variant_priority", "PRIORITY"}, {"variant_tag", "TAG"}};
  enum { key_count = sizeof keys / sizeof *keys, plain_count = 3 };
  cli_column columns[plain_count + key_count] = {
      {.title = "#", .right = true}, {.title = "KIND"}, {.title = "ARCH", .tint = "36"}};
  const char *shown[key_count];
  size_t count = 0;
  for (size_t i = 0; i < key_count; ++i) {
    if (any_has(m, keys[i].name)) {
      columns[plain_count + count] = (cli_column){.title = keys[i].title};
      shown[count++] = keys[i].name;
    }
  }
  cli_table *table = cli_table_create(columns, plain_count + count);
  for (size_t i = 0; i < m->image_count; ++i) {
    kdl_image_info image = cli_image_at(m->query->input->lib, i);
    cli_table_add(table, kdl_text_of(m->titles[i]));
    char room[CLI_IMAGE_KIND_ROOM], arch[KDL_TEXT_SHORT + 1];
    cli_table_add(table, kdl_text_of(cli_image_kind_name(&image, room)));
    cli_table_add(table, kdl_text_short(image.arch, arch));
    for (size_t k = 0; k < count; ++k) {
      const kdl_string *value = kdl_image_value(m->query->input->lib, i, shown[k]);
      cli_table_add(table, value ? *value : (kdl_string){"", 0});
    }
  }
  return cli_table_finish(table);
}

/* The table with the columns of images [from, to). */
static kdl_status print_block(matrix *m, size_t from, size_t to) {
  size_t count = to - from + fixed_columns;
  cli_column *columns = xarena_alloc(&m->arena, count * sizeof *columns);
  cli_table *table = cli_table_create(columns, count);
  columns[0] = (cli_column){.title = "DEVICE", .shrinks = 1};
  columns[1] = (cli_column){.title = "ARCH", .shrinks = 2, .tint = "36"};
  for (size_t i = from; i < to; ++i)
    columns[i - from + 2] = (cli_column){.title = m->titles[i], .right = true};
  columns[count - 1] = (cli_column){.title = "CHOSEN"};
  for (size_t row = 0; row < m->devices->count; ++row) {
    cli_table_add(table, kdl_text_of(m->devices->items[row].name));
    cli_table_add(table, kdl_text_of(m->archs[row]));
    for (size_t i = from; i < to; ++i) {
      const char *mark = &m->marks[row * m->image_count + i];
      cli_table_add(table, (kdl_string){mark, 1});
      cli_table_tint(table, *mark == '*' ? "1;32" : *mark == '.' ? "2" : NULL);
    }
    cli_table_add(table, kdl_text_of(m->outcomes[row]));
  }
  return cli_table_finish(table);
}

static size_t widest(const char *title, const char *const *texts, size_t count) {
  size_t width = strlen(title);
  for (size_t i = 0; i < count; ++i)
    width = strlen(texts[i]) > width ? strlen(texts[i]) : width;
  return width;
}

/* How many image columns, from one on, fit on a line, next to the device and the outcome. */
static size_t block_size(const matrix *m, size_t from) {
  enum { gap = 2, widest_name = 16 };
  size_t width = cli_terminal_width(), count = 0, name = strlen("DEVICE");
  for (size_t i = 0; i < m->devices->count; ++i)
    name = strlen(m->devices->items[i].name) > name ? strlen(m->devices->items[i].name) : name;
  size_t used = (name < widest_name ? name : widest_name) + gap +
                widest("ARCH", m->archs, m->devices->count) + gap +
                widest("CHOSEN", m->outcomes, m->devices->count);
  while (from + count < m->image_count &&
         (!width || !count || used + strlen(m->titles[from + count]) + gap <= width))
    used += strlen(m->titles[from + count++]) + gap;
  return count;
}

static kdl_status print_matrix(matrix *m) {
  KDL_TRY(print_images(m));
  for (size_t from = 0, to; from < m->image_count; from = to) {
    to = from + block_size(m, from);
    putchar('\n');
    KDL_TRY(print_block(m, from, to));
  }
  puts("\n* chosen   + would do   . refused");
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Many images: coverage                                                                        */

static void add_share(cli_table *table, size_t some, size_t all) {
  char rooms[2][CLI_COUNT_ROOM];
  char text[2 * CLI_COUNT_ROOM + 8];
  snprintf(text, sizeof text, "%s of %s", cli_count(some, rooms[0]), cli_count(all, rooms[1]));
  cli_table_add(table, kdl_text_of(text));
}

static kdl_status add_coverage(matrix *m, cli_table *table, size_t row, bool *out_fits) {
  kdl_coverage coverage;
  size_t route;
  kdl_device_info about = {.size = sizeof about};
  const cli_device *device = &m->devices->items[row];
  KDL_TRY(kdl_device_cover(device->device, m->query->inventory, &coverage, &route));
  KDL_TRY(kdl_device_route_get(device->device, route, &about));
  cli_table_add(table, kdl_text_of(device->name));
  cli_table_add(table, kdl_text_of(base_arch(m, &about)));
  add_share(table, coverage.modules_run, coverage.modules);
  add_share(table, coverage.kernels_run, coverage.kernels);
  *out_fits |= coverage.is_complete;
  return KDL_OK;
}

static const cli_column of_coverage[] = {{.title = "DEVICE", .shrinks = 1},
                                         {.title = "ARCH", .shrinks = 2, .tint = "36"},
                                         {.title = "MODULES", .right = true},
                                         {.title = "KERNELS", .right = true}};

/* For one kernel: what each device selects, without image columns. */
static kdl_status add_choice(matrix *m, cli_table *table, size_t row, bool *out_fits) {
  cli_ranking ranking;
  const cli_device *device = &m->devices->items[row];
  kdl_status status = cli_ranking_make(m->query, device->device, &ranking);
  if (status == KDL_OK) {
    cli_table_add(table, kdl_text_of(device->name));
    cli_table_add(table, kdl_text_of(base_arch(m, &ranking.about)));
    cli_table_add(table, kdl_text_of(ranking_outcome(m, &ranking)));
    *out_fits |= ranking.fits;
  }
  cli_ranking_free(&ranking);
  return status;
}

static const cli_column of_choices[] = {{.title = "DEVICE", .shrinks = 1},
                                        {.title = "ARCH", .shrinks = 2, .tint = "36"},
                                        {.title = "CHOSEN"}};

/* A row per device. */
static kdl_status print_device_rows(matrix *m, bool *out_fits) {
  const bool is_coverage = m->query->inventory != NULL;
  cli_table *table = is_coverage
                         ? cli_table_create(of_coverage, sizeof of_coverage / sizeof *of_coverage)
                         : cli_table_create(of_choices, sizeof of_choices / sizeof *of_choices);
  kdl_status status = KDL_OK;
  for (size_t row = 0; row < m->devices->count && status == KDL_OK; ++row)
    status = (is_coverage ? add_coverage : add_choice)(m, table, row, out_fits);
  if (status == KDL_OK)
    status = cli_table_print(table);
  cli_table_destroy(table);
  return status;
}

/* A column per image. */
static kdl_status fill_and_print_matrix(matrix *m, bool *out_fits) {
  size_t devices = m->devices->count;
  m->marks = xarena_alloc(&m->arena, devices * m->image_count + 1);
  m->archs = xarena_alloc(&m->arena, (devices + 1) * sizeof *m->archs);
  m->outcomes = xarena_alloc(&m->arena, (devices + 1) * sizeof *m->outcomes);
  m->titles = xarena_alloc(&m->arena, (m->image_count + 1) * sizeof *m->titles);
  m->titles[0][0] = '\0';
  for (size_t i = 0; i < m->image_count; ++i)
    snprintf(m->titles[i], sizeof m->titles[i], "%zu", i);
  for (size_t i = 0; i < devices; ++i)
    KDL_TRY(fill_row(m, i, out_fits));
  return print_matrix(m);
}

kdl_status cli_explain_matrix(const cli_query *query, const cli_devices *devices, bool *out_fits) {
  matrix m = {
      .query = query, .devices = devices, .image_count = kdl_image_count(query->input->lib)};
  bool sums_up = cli_query_is_summarized(query, m.image_count);
  kdl_status status =
      sums_up ? print_device_rows(&m, out_fits) : fill_and_print_matrix(&m, out_fits);
  kdl_arena_free(&m.arena);
  return status;
}
