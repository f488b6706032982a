/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text that came out of a file: it may hold anything, and a terminal or a JSON reader must not
 * notice. Alone and in columns. */
#ifndef KDL_TOOL_TEXT_H
#define KDL_TOOL_TEXT_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A malloc'ed copy that is safe to print: what the locale cannot print in a column of its own is
 * written as \xNN. */
char *cli_text_printable(kdl_string text);

/* Writes the text as cli_text_printable has it; without memory of its own. */
void cli_text_put(FILE *file, kdl_string text);

/* Writes it, and `end`, on standard output. */
void cli_text_print(kdl_string text, const char *end);

/* One line, "LABEL       TEXT". */
void cli_print_row(const char *label, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Words joined by '+', as the arch of a CPU with its features, in at most CLI_SHORT columns: those
 * that there is room for, and how many more there are. JSON has all of them. */
enum { CLI_SHORT = 48 };
kdl_string cli_text_short(kdl_string joined, char room[CLI_SHORT + 1]);

/* ------------------------------------------------------------------------------------------ */
/* Columns                                                                                      */

/* Aligned, on standard output. On a terminal the table is cut to its width, the columns that matter
 * least first; elsewhere nothing is ever cut. */
typedef struct cli_column {
  const char *title;
  bool right;       /* numbers */
  int shrinks;      /* may be cut to fit a terminal: the highest number first; 0 never */
  size_t keeps;     /* is cut below this only after the others are cut */
  bool middle;      /* then it is cut in the middle: of paths, both ends matter */
  const char *tint; /* "31" and the like, or NULL; used where colours are */
} cli_column;

typedef struct cli_table cli_table;

/* `columns` must outlive the table. */
cli_table *cli_table_create(const cli_column *columns, size_t count);
void cli_table_destroy(cli_table *table);

/* The next cell of the current row; a full row starts the next one. An empty cell shows as "-". */
void cli_table_add(cli_table *table, kdl_string text);

void cli_table_add_number(cli_table *table, uint64_t number);

/* A cell for whose text there was no memory: the program ends. */
void cli_table_add_failed(cli_table *table);

/* A line below the current row, indented, never cut; on a terminal it goes on below itself. The
 * label must outlive the table; NULL is one for which there was no memory. */
void cli_table_add_line(cli_table *table, const char *label, kdl_string text);

kdl_status cli_table_print(cli_table *table);

/* Prints and destroys it. */
kdl_status cli_table_finish(cli_table *table);

/* The same for lines too many to be kept until all widths are known: `below` is called after each
 * row, with its number, and prints what belongs below it by cli_table_print_line. A failure ends
 * the table.
 */
typedef kdl_status cli_table_below(void *user, cli_table *table, size_t row);
kdl_status cli_table_print_with(cli_table *table, cli_table_below *below, void *user);
kdl_status cli_table_print_line(cli_table *table, const char *label, kdl_string text);

/* Columns that its rows take where nothing is cut. */
size_t cli_table_width(const cli_table *table);

/* Columns of the terminal on standard output; 0 where there is none and nothing is to be cut. */
size_t cli_terminal_width(void);

#endif
