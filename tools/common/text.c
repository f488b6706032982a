/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/text.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/variables.h"
#include "tools/common/memory.h"
#include "tools/common/report.h"

#include <inttypes.h>
#include <langinfo.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { longest_printable = 4 * 4 + 1 }; /* for one character: four bytes, each as \xNN */

/* The printable form of the character at *at; moves *at past it and returns the length. */
static size_t next_printable(kdl_string text, size_t *at, char out[longest_printable]) {
  uint32_t code = 0;
  size_t length = kdl_utf8_decode(text.data + *at, text.length - *at, &code);
  char *end = out;
  if (length && !kdl_utf8_is_control(code) && wcwidth((wchar_t)code) > 0) {
    memcpy(out, text.data + *at, length);
    *at += length;
    return length;
  }
  for (size_t bytes = length ? length : 1; bytes; --bytes, ++*at)
    end += sprintf(end, "\\x%02x", (unsigned)(uint8_t)text.data[*at]);
  return (size_t)(end - out);
}

char *cli_text_printable(kdl_string text) {
  char *out = xmalloc(text.length * 4 + 1);
  char *end = out;
  for (size_t at = 0; at < text.length;) {
    char shown[longest_printable];
    size_t length = next_printable(text, &at, shown);
    memcpy(end, shown, length);
    end += length;
  }
  *end = '\0';
  return out;
}

void cli_text_put(FILE *file, kdl_string text) {
  for (size_t at = 0; at < text.length;) {
    char shown[longest_printable];
    size_t length = next_printable(text, &at, shown);
    fwrite(shown, 1, length, file);
  }
}

void cli_text_print(kdl_string text, const char *end) {
  cli_text_put(stdout, text);
  fputs(end, stdout);
}

void cli_text_printf(FILE *file, const char *format, ...) {
  const size_t begin = strspn(format, "\n");
  size_t after = strlen(format), end = 0;
  char room[PATH_MAX + 512], *text = room; /* a report of what is done needs no memory */
  va_list args;
  va_start(args, format);
  int length = vsnprintf(room, sizeof room, format, args);
  va_end(args);
  if ((size_t)length >= sizeof room) {
    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    cli_check_alloc(length < 0 ? NULL : text);
  }
  for (; after > begin && format[after - 1] == '\n'; ++end)
    --after;
  fwrite(format, 1, begin, file);
  cli_text_put(file, (kdl_string){text + begin, (size_t)length - begin - end});
  fputs(format + after, file);
  if (text != room)
    free(text);
}

void cli_print_row(const char *label, const char *format, ...) {
  char line[PATH_MAX + 512];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  printf("%-10s  ", label);
  cli_text_print(kdl_text_of(line), "\n");
}

kdl_string cli_text_short_words(kdl_string line, char *room, size_t size) {
  kdl_out out = {room, size, 0};
  *room = '\0';
  for (size_t at = 0, end; at < line.length; at = end + 1) {
    char short_room[KDL_TEXT_SHORT + 1];
    end = kdl_text_find(line, at, " ");
    kdl_string word = kdl_text_short((kdl_string){line.data + at, end - at}, short_room);
    kdl_out_format(&out, "%s%.*s", at ? " " : "", (int)word.length, word.data);
  }
  return (kdl_string){room, out.used};
}

/* The length of the longest prefix that takes at most `columns`. */
static size_t fit_prefix(const char *printable, size_t columns) {
  size_t size = strlen(printable);
  size_t at = 0;
  while (at < size) {
    uint32_t code = 0;
    size_t length = kdl_utf8_decode(printable + at, size - at, &code);
    size_t width = (size_t)wcwidth((wchar_t)code);
    if (width > columns)
      break;
    columns -= width;
    at += length;
  }
  return at;
}

/* The number of columns of a printable text. */
static size_t width_of(const char *printable) {
  size_t size = strlen(printable);
  size_t width = 0;
  for (size_t at = 0; at < size;) {
    uint32_t code = 0;
    at += kdl_utf8_decode(printable + at, size - at, &code);
    width += (size_t)wcwidth((wchar_t)code);
  }
  return width;
}

/* The start of the longest suffix that takes at most `columns`. */
static const char *fit_end(const char *printable, size_t columns) {
  const char *at = printable;
  for (size_t width = width_of(printable); width > columns;) {
    uint32_t code = 0;
    at += kdl_utf8_decode(at, strlen(at), &code);
    width -= (size_t)wcwidth((wchar_t)code);
  }
  return at;
}

/* ------------------------------------------------------------------------------------------ */
/* Columns                                                                                      */

enum { gap = 2, narrowest = 4 };

/* A cell, or a separate line below a row (column SIZE_MAX). */
typedef struct {
  char *text;
  const char *label;
  size_t column;
  const char *tint; /* NULL: the column's */
} item;

struct cli_table {
  const cli_column *columns;
  size_t column_count;
  item *items;
  size_t count;
  size_t capacity;
  size_t next_column;
  size_t *widths; /* set while it is printed */
  size_t limit;
  bool coloured;
};

cli_table *cli_table_create(const cli_column *columns, size_t count) {
  cli_table *table = xcalloc(1, sizeof *table);
  table->columns = columns;
  table->column_count = count;
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
  table->items = xgrow(table->items, table->count, &table->capacity, 64, sizeof *table->items);
  table->items[table->count++] = (item){cli_text_printable(text), label, column, NULL};
}

void cli_table_add(cli_table *table, kdl_string text) {
  add_item(table, text.length ? text : (kdl_string){"-", 1}, NULL, table->next_column);
  table->next_column = (table->next_column + 1) % table->column_count;
}

void cli_table_tint(cli_table *table, const char *tint) {
  table->items[table->count - 1].tint = tint;
}

void cli_table_add_number(cli_table *table, uint64_t number) {
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRIu64, number);
  cli_table_add(table, kdl_text_of(digits));
}

void cli_table_add_failed(cli_table *table) {
  (void)table;
  cli_out_of_memory();
}

void cli_table_add_line(cli_table *table, const char *label, kdl_string text) {
  if (!label)
    cli_out_of_memory();
  add_item(table, text, label, SIZE_MAX);
}

/* ------------------------------------------------------------------------------------------ */
/* Printing                                                                                     */

size_t cli_terminal_width(void) {
  if (!isatty(STDOUT_FILENO))
    return 0;
  const char *columns = kdl_environment(KDL_VARIABLE_COLUMNS);
  long asked = columns ? strtol(columns, NULL, 10) : 0;
  if (asked > 0 && asked < 10000)
    return (size_t)asked;
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
    return size.ws_col;
  return 80;
}

static void measure_columns(const cli_table *table, size_t *widths) {
  for (size_t i = 0; i < table->column_count; ++i)
    widths[i] = strlen(table->columns[i].title);
  for (size_t i = 0; i < table->count; ++i) {
    const item *cell = &table->items[i];
    if (cell->column == SIZE_MAX)
      continue;
    size_t width = width_of(cell->text);
    if (width > widths[cell->column])
      widths[cell->column] = width;
  }
}

size_t cli_table_width(const cli_table *table) {
  size_t total = (table->column_count - 1) * gap;
  size_t *widths = xcalloc(table->column_count, sizeof *widths);
  measure_columns(table, widths);
  for (size_t i = 0; i < table->column_count; ++i)
    total += widths[i];
  free(widths);
  return total;
}

/* Shrinks the columns of one rank until the table fits. */
static void shrink_rank(const cli_table *table, size_t *widths, int rank, bool keeps, size_t limit,
                        size_t *total) {
  for (size_t i = 0; i < table->column_count && *total > limit; ++i) {
    const cli_column *column = &table->columns[i];
    size_t title = strlen(column->title);
    size_t least = title > narrowest ? title : narrowest;
    if (keeps && column->keeps > least)
      least = column->keeps;
    if (column->shrinks != rank || widths[i] <= least)
      continue;
    size_t cut = widths[i] - least < *total - limit ? widths[i] - least : *total - limit;
    widths[i] -= cut;
    *total -= cut;
  }
}

static void shrink(const cli_table *table, size_t *widths, size_t limit) {
  size_t total = (table->column_count - 1) * gap;
  int most = 0;
  for (size_t i = 0; i < table->column_count; ++i) {
    total += widths[i];
    if (table->columns[i].shrinks > most)
      most = table->columns[i].shrinks;
  }
  for (int keeps = 1; keeps >= 0; --keeps) {
    for (int rank = most; rank > 0; --rank)
      shrink_rank(table, widths, rank, keeps, limit, &total);
  }
}

static void print_spaces(size_t columns) {
  printf("%*s", (int)columns, "");
}

/* The last column is not padded, so that no line ends with blanks. */
static void print_cell(const char *text, size_t room, const cli_column *column, bool last,
                       const char *tint) {
  bool right = column->right;
  size_t width = width_of(text);
  bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  const char *mark = width <= room ? "" : utf8 ? "…" : "~";
  size_t head = width <= room ? room : column->middle ? (room - 1) / 3 : room - 1;
  size_t bytes = fit_prefix(text, head);
  const char *tail = width > room && column->middle ? fit_end(text, room - 1 - head) : "";
  size_t shown = width <= room ? width : room;
  if (right)
    print_spaces(room - shown);
  printf("%s%s%s%.*s%s%s%s", tint ? "\033[" : "", tint ? tint : "", tint ? "m" : "", (int)bytes,
         text, mark, tail, tint ? "\033[0m" : "");
  if (!right && !last)
    print_spaces(room - shown);
  fputs(last ? "\n" : "  ", stdout);
}

/* Whether every word fits into a line of its own. */
static bool words_fit(const char *text, size_t room) {
  for (size_t length; *text; text += length + (text[length] == ' ')) {
    length = strcspn(text, " ");
    if (fit_prefix(text, room) < length)
      return false;
  }
  return true;
}

/* The last cell of a row, which may take several lines. */
static void print_last_cell(const cli_table *table, char *text, const char *tint) {
  const size_t last = table->column_count - 1, room = table->widths[last];
  size_t indent = last * gap;
  for (size_t i = 0; i < last; ++i)
    indent += table->widths[i];
  while (table->columns[last].wraps && words_fit(text, room)) {
    size_t end = fit_prefix(text, room);
    if (!text[end])
      break;
    char *blank = text[end] == ' ' ? text + end : memrchr(text, ' ', end);
    *blank = '\0';
    print_cell(text, room, &table->columns[last], true, tint);
    *blank = ' ';
    print_spaces(indent);
    text = blank + 1;
  }
  print_cell(text, room, &table->columns[last], true, tint);
}

void cli_text_wrap(FILE *file, kdl_string words, size_t at, size_t indent, size_t limit) {
  for (size_t from = 0; from < words.length;) {
    size_t end = kdl_text_find(words, from, " "), length = end - from;
    if (from && limit && at + 1 + length > limit) {
      fprintf(file, "\n%*s", (int)indent, "");
      at = indent;
    } else if (from) {
      fputc(' ', file);
      ++at;
    }
    fprintf(file, "%.*s", (int)length, words.data + from);
    at += length;
    from = end + 1;
  }
  fputc('\n', file);
}

static void print_line(const cli_table *table, const char *label, const char *text) {
  size_t indent = (table->columns[0].right ? table->widths[0] : 0) + gap;
  print_spaces(indent);
  printf("%s%s%s ", table->coloured ? "\033[2m" : "", label, table->coloured ? "\033[0m" : "");
  cli_text_wrap(stdout, kdl_text_of(text), indent + strlen(label) + 1, indent + gap, table->limit);
}

kdl_status cli_table_print_line(cli_table *table, const char *label, kdl_string text) {
  char *printable = cli_text_printable(text);
  print_line(table, label, printable);
  free(printable);
  return KDL_OK;
}

static kdl_status print_items(cli_table *table, cli_table_below *below, void *user) {
  size_t row = 0;
  for (size_t i = 0; i < table->count; ++i) {
    const item *cell = &table->items[i];
    if (cell->column == SIZE_MAX) {
      print_line(table, cell->label, cell->text);
      continue;
    }
    const cli_column *column = &table->columns[cell->column];
    bool is_last = cell->column + 1 == table->column_count;
    const char *tint = !table->coloured ? NULL : cell->tint ? cell->tint : column->tint;
    if (is_last)
      print_last_cell(table, cell->text, tint);
    else
      print_cell(cell->text, table->widths[cell->column], column, false, tint);
    if (is_last && below)
      KDL_TRY(below(user, table, row++));
  }
  return KDL_OK;
}

kdl_status cli_table_print_with(cli_table *table, cli_table_below *below, void *user) {
  table->widths = xcalloc(table->column_count, sizeof *table->widths);
  table->coloured = cli_stream_has_colour(stdout);
  table->limit = cli_terminal_width();
  measure_columns(table, table->widths);
  if (table->limit)
    shrink(table, table->widths, table->limit);
  for (size_t i = 0; i < table->column_count; ++i)
    print_cell(table->columns[i].title, table->widths[i], &table->columns[i],
               i + 1 == table->column_count, table->coloured ? "1" : NULL);
  kdl_status status = print_items(table, below, user);
  free(table->widths);
  table->widths = NULL;
  return status;
}

kdl_status cli_table_print(cli_table *table) {
  return cli_table_print_with(table, NULL, NULL);
}

kdl_status cli_table_finish(cli_table *table) {
  kdl_status status = cli_table_print(table);
  cli_table_destroy(table);
  return status;
}
