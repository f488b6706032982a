/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prints text from files, which may contain anything, so that it cannot control a terminal or break
 * JSON: as it is, and in tables. */
#ifndef KDL_TOOLS_COMMON_TEXT_H
#define KDL_TOOLS_COMMON_TEXT_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A malloc'ed copy that is safe to print: characters that the locale cannot print become \xNN. */
char *cli_text_printable(kdl_string text);

/* Writes the text as cli_text_printable does, without allocating. */
void cli_text_put(FILE *file, kdl_string text);

/* Writes it, and `end`, on standard output. */
void cli_text_print(kdl_string text, const char *end);

/* printf for text from files: the newlines that the format begins and ends with are written, and
 * all else as cli_text_put does. */
void cli_text_printf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One line, "LABEL       TEXT". */
void cli_print_row(const char *label, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* kdl_text_short for each word of a line, such as a device's; `room` takes as much as the line. */
kdl_string cli_text_short_words(kdl_string line, char *room, size_t size);

/* ------------------------------------------------------------------------------------------ */
/* Columns                                                                                      */

/* An aligned table on standard output. On a terminal it is cut to the width, the least important
 * columns first; elsewhere nothing is cut. */
typedef struct cli_column {
  const char *title;
  const char *tint; /* "31" or another SGR code, or NULL; used with colours */
  size_t keeps;     /* cut below this only after the others */
  int shrinks;      /* cut order on a terminal: the highest first; 0 never */
  bool right;       /* align right */
  bool middle;      /* cut in the middle: both ends of a path matter */
  bool wraps;       /* of the last column: words go on in the next line instead of being cut */
} cli_column;

typedef struct cli_table cli_table;

/* `columns` must outlive the table. */
cli_table *cli_table_create(const cli_column *columns, size_t count);
void cli_table_destroy(cli_table *table);

/* The next cell of the current row; a full row starts the next one. An empty cell is shown as
 * "-". */
void cli_table_add(cli_table *table, kdl_string text);

void cli_table_add_number(cli_table *table, uint64_t number);
void cli_table_tint(cli_table *table, const char *tint); /* of the cell that was added last */

/* For a cell whose text could not be allocated: ends the program. */
void cli_table_add_failed(cli_table *table);

/* An indented line below the current row, never cut; on a terminal it wraps. The label must outlive
 * the table; a NULL label, for which memory ran out, ends the program. */
void cli_table_add_line(cli_table *table, const char *label, kdl_string text);

kdl_status cli_table_print(cli_table *table);

/* Prints and destroys the table. */
kdl_status cli_table_finish(cli_table *table);

/* The same for too many lines to keep in memory: `below` is called after each row with its number,
 * and prints the lines below it with cli_table_print_line. A failure ends the table. */
typedef kdl_status cli_table_below(void *user, cli_table *table, size_t row);
kdl_status cli_table_print_with(cli_table *table, cli_table_below *below, void *user);
kdl_status cli_table_print_line(cli_table *table, const char *label, kdl_string text);

/* The columns that its rows take uncut. */
size_t cli_table_width(const cli_table *table);

/* The width of the terminal on standard output; 0 where it is not a terminal. */
size_t cli_terminal_width(void);

/* Writes words and ends the line. The first is at column `at`; a word that would end beyond `limit`
 * starts a new line, indented. A limit of 0 is none. */
void cli_text_wrap(FILE *file, kdl_string words, size_t at, size_t indent, size_t limit);

#endif
