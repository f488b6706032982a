/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "table.h"

#include "base/error.h"
#include "report.h"
#include "text.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { gap = 2, narrowest = 4 };

/* A cell, or a line of its own below a row (column SIZE_MAX). */
typedef struct {
  char *text;
  const char *label;
  size_t column;
} item;

struct cli_table {
  const cli_column *columns;
  size_t column_count;
  item *items;
  size_t count;
  size_t capacity;
  size_t next_column;
  bool out_of_memory;
};

cli_table *cli_table_create(const cli_column *columns, size_t count) {
  cli_table *table = calloc(1, sizeof *table);
  if (table) {
    table->columns = columns;
    table->column_count = count;
  }
  return table;
}

void cli_table_destroy(cli_table *table) {
  if (!table)
    return;
  for (size_t i = 0; i < table->count; ++i)
    free(table->items[i].text);
  free(table->items);
  free(table);
}

static void add_item(cli_table *table, kdl_string text, const char *label, size_t column) {
  if (table->count == table->capacity) {
    size_t capacity = table->capacity ? table->capacity * 2 : 64;
    item *items = realloc(table->items, capacity * sizeof *items);
    if (!items) {
      table->out_of_memory = true;
      return;
    }
    table->items = items;
    table->capacity = capacity;
  }
  char *printable = cli_text_printable(text);
  if (!printable) {
    table->out_of_memory = true;
    return;
  }
  table->items[table->count++] = (item){printable, label, column};
}

void cli_table_add(cli_table *table, kdl_string text) {
  add_item(table, text.length ? text : (kdl_string){"-", 1}, NULL, table->next_column);
  table->next_column = (table->next_column + 1) % table->column_count;
}

void cli_table_add_line(cli_table *table, const char *label, kdl_string text) {
  add_item(table, text, label, SIZE_MAX);
}

/* ------------------------------------------------------------------------------------------ */
/* Printing                                                                                     */

size_t cli_terminal_width(void) {
  if (!isatty(STDOUT_FILENO))
    return 0;
  const char *columns = getenv("COLUMNS");
  long asked = columns ? strtol(columns, NULL, 10) : 0;
  if (asked > 0 && asked < 10000)
    return (size_t)asked;
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
    return size.ws_col;
  return 80;
}

static void measure(const cli_table *table, size_t *widths) {
  for (size_t i = 0; i < table->column_count; ++i)
    widths[i] = strlen(table->columns[i].title);
  for (size_t i = 0; i < table->count; ++i) {
    const item *cell = &table->items[i];
    if (cell->column == SIZE_MAX)
      continue;
    size_t width = cli_text_width(cell->text);
    if (width > widths[cell->column])
      widths[cell->column] = width;
  }
}

static void shrink(const cli_table *table, size_t *widths, size_t limit) {
  size_t total = (table->column_count - 1) * gap;
  int rank = 0;
  for (size_t i = 0; i < table->column_count; ++i) {
    total += widths[i];
    if (table->columns[i].shrinks > rank)
      rank = table->columns[i].shrinks;
  }
  for (; rank > 0; --rank) {
    for (size_t i = 0; i < table->column_count && total > limit; ++i) {
      size_t title = strlen(table->columns[i].title);
      size_t least = title > narrowest ? title : narrowest;
      if (table->columns[i].shrinks != rank || widths[i] <= least)
        continue;
      size_t cut = widths[i] - least < total - limit ? widths[i] - least : total - limit;
      widths[i] -= cut;
      total -= cut;
    }
  }
}

static void pad(size_t columns) {
  printf("%*s", (int)columns, "");
}

/* The last column is not padded, so that no line ends in blanks. */
static void print_cell(const char *text, size_t room, bool right, bool last, const char *tint) {
  size_t width = cli_text_width(text);
  bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  const char *mark = width <= room ? "" : utf8 ? "…" : "~";
  size_t bytes = cli_text_fit(text, width <= room ? room : room - 1);
  size_t shown = width <= room ? width : room;
  if (right)
    pad(room - shown);
  printf("%s%s%s%.*s%s%s", tint ? "\033[" : "", tint ? tint : "", tint ? "m" : "", (int)bytes, text,
         mark, tint ? "\033[0m" : "");
  if (!right && !last)
    pad(room - shown);
  fputs(last ? "\n" : "  ", stdout);
}

/* The words of `text` from column `at` on; those that end beyond `limit` start a new line. */
static void print_words(const char *text, size_t at, size_t indent, size_t limit) {
  for (bool first = true; *text; first = false) {
    size_t length = strcspn(text, " ");
    bool wraps = !first && limit && at + 1 + length > limit;
    if (wraps) {
      putchar('\n');
      pad(indent);
      at = indent;
    } else if (!first) {
      putchar(' ');
      ++at;
    }
    printf("%.*s", (int)length, text);
    at += length;
    text += length;
    text += *text == ' ';
  }
  putchar('\n');
}

static void print_line(const cli_table *table, const size_t *widths, const item *line, size_t limit,
                       bool coloured) {
  size_t indent = (table->columns[0].right ? widths[0] : 0) + gap;
  pad(indent);
  printf("%s%s%s ", coloured ? "\033[2m" : "", line->label, coloured ? "\033[0m" : "");
  print_words(line->text, indent + strlen(line->label) + 1, indent + gap, limit);
}

kdl_status cli_table_print(const cli_table *table) {
  if (table->out_of_memory)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a table of %zu cells", table->count);
  size_t *widths = calloc(table->column_count, sizeof *widths);
  if (!widths)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a table");
  bool coloured = cli_stream_has_colour(stdout);
  size_t limit = cli_terminal_width();
  measure(table, widths);
  if (limit)
    shrink(table, widths, limit);
  for (size_t i = 0; i < table->column_count; ++i)
    print_cell(table->columns[i].title, widths[i], table->columns[i].right,
               i + 1 == table->column_count, coloured ? "1" : NULL);
  for (size_t i = 0; i < table->count; ++i) {
    const item *cell = &table->items[i];
    if (cell->column == SIZE_MAX) {
      print_line(table, widths, cell, limit, coloured);
      continue;
    }
    const cli_column *column = &table->columns[cell->column];
    print_cell(cell->text, widths[cell->column], column->right,
               cell->column + 1 == table->column_count, coloured ? column->tint : NULL);
  }
  free(widths);
  return KDL_OK;
}
