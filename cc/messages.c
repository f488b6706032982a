/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Clang's output is split into messages: each begins with a line that has a severity, or with the
 * "In file included from" lines before it, and includes its notes and source excerpts. The targets
 * are appended to the first line, where Clang puts the name of a warning.
 */
#include "cc/driver.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <stdint.h>
#include <string.h>

typedef struct {
  kdl_string text;
  bool is_from_kdl; /* from kdl, not from a compiler */
  bool *jobs;       /* by job: it has the message */
} message;

typedef struct {
  message *items;
  size_t count, capacity;
  size_t job_count;
} message_list;

/* "saxpy.c:8:19: error: " at the beginning of the text; else empty. */
static kdl_string location_prefix(kdl_string text) {
  static const char mark[] = ": error: ";
  kdl_string line = {text.data, kdl_text_find(text, 0, "\n")};
  const char *found = memmem(line.data, line.length, mark, sizeof mark - 1);
  bool has_column = found && found > line.data && kdl_is_digit(found[-1]);
  return (kdl_string){text.data, has_column ? (size_t)(found - line.data) + sizeof mark - 1 : 0};
}

/* An error at one location is printed once, even if targets word it differently; but two messages
 * of one target about a location are two. */
static bool is_duplicate(const message *m, kdl_string text, size_t job) {
  kdl_string location = location_prefix(text);
  return kdl_text_equal(m->text, text) ||
         (location.length && kdl_text_equal(location_prefix(m->text), location) && !m->jobs[job]);
}

static void message_list_add(message_list *all, kdl_string text, bool is_from_kdl, size_t job) {
  size_t i = 0;
  while (i < all->count && !is_duplicate(&all->items[i], text, job))
    ++i;
  if (i == all->count) {
    all->items = xgrow(all->items, i, &all->capacity, 16, sizeof *all->items);
    all->items[all->count++] = (message){text, is_from_kdl, xcalloc(all->job_count, sizeof(bool))};
  }
  all->items[i].jobs[job] = true;
}

/* ------------------------------------------------------------------------------------------ */
/* Splitting                                                                                    */

/* In colour, control sequences surround the words. */
static bool has_severity(kdl_string line) {
  return kdl_text_contains(line, "error: ") || kdl_text_contains(line, "warning: ") ||
         kdl_text_contains(line, "error   : ") || kdl_text_contains(line, "warning : ") ||
         kdl_text_contains(line, "remark: ");
}

static bool is_include(kdl_string line) {
  return kdl_text_starts(line, "In file included from ") ||
         kdl_text_starts(line, "                 from ");
}

/* "2 warnings and 1 error generated." */
static bool is_summary(kdl_string line) {
  return line.length && kdl_is_digit(line.data[0]) && kdl_text_contains(line, " generated.");
}

/* What follows the message of a compiler that crashed is for its developers. */
static kdl_string strip_crash_dump(kdl_string text) {
  static const char mark[] = "PLEASE submit a bug report";
  const char *found = memmem(text.data, text.length, mark, sizeof mark - 1);
  return found ? (kdl_string){text.data, (size_t)(found - text.data)} : text;
}

/* Errors that follow from a reported one: the code generator meets what Clang refused, Clang's
 * driver reports the failure, or SPIR-V's calling convention meets an undeclared function. */
static bool is_follow_up_error(kdl_string piece) {
  return kdl_text_contains(piece, "fatal error: error in backend: ") ||
         kdl_text_contains(piece, "error: clang frontend command failed ") ||
         kdl_text_contains(piece, "cannot use the spir_function calling convention");
}

static void add_split_message(message_list *all, kdl_string text, size_t begin, size_t end,
                              size_t job) {
  kdl_string piece = {text.data + begin, end - begin};
  bool is_first = !kdl_text_contains((kdl_string){text.data, begin}, "error: ");
  if (is_first || !is_follow_up_error(piece))
    message_list_add(all, piece, false, job);
}

static void split_messages(message_list *all, kdl_string text, size_t job) {
  size_t begin = 0; /* of the current message */
  bool in_includes = false;
  for (size_t at = 0; at < text.length;) {
    size_t end = kdl_text_find(text, at, "\n");
    kdl_string line = {text.data + at, end - at};
    bool starts = is_include(line) ? !in_includes : has_severity(line) && !in_includes;
    if ((starts || is_summary(line)) && at > begin)
      add_split_message(all, text, begin, at, job);
    if (starts || is_summary(line))
      begin = is_summary(line) ? end + 1 : at;
    in_includes = is_include(line);
    at = end + 1;
  }
  if (begin < text.length)
    add_split_message(all, text, begin, text.length, job);
}

/* ------------------------------------------------------------------------------------------ */
/* Printing                                                                                     */

/* The length of a sequence by which LLVM selects a colour, at the beginning of the text; else 0. */
static size_t colour_length(kdl_string text) {
  static const char *const selections[] = {"\033[0m", "\033[1m", "\033[7m"};
  for (size_t i = 0; i < sizeof selections / sizeof *selections; ++i) {
    if (kdl_text_starts(text, selections[i]))
      return strlen(selections[i]);
  }
  static const char *const colours[] = {"\033[0;1;3", "\033[0;3"};
  for (size_t i = 0; i < sizeof colours / sizeof *colours; ++i) {
    size_t at = strlen(colours[i]);
    if (kdl_text_starts(text, colours[i]) && at + 1 < text.length && kdl_is_digit(text.data[at]) &&
        text.data[at + 1] == 'm')
      return at + 2;
  }
  return 0;
}

/* A name in #line may hold a newline: what follows it must not look like a line of kdl's. */
static bool looks_like_ours(kdl_string line) {
  for (size_t length; (length = colour_length(line)) > 0;)
    line = kdl_text_substr(line, length);
  size_t own = strlen(cli_report_name());
  return kdl_text_starts(line, "kdl:") ||
         (kdl_text_starts(line, cli_report_name()) && own < line.length && line.data[own] == ':');
}

/* As UTF-8 in every locale, which Clang's excerpts are: columns stay below one another. */
static void print_line(kdl_string line, bool coloured) {
  if (looks_like_ours(line))
    fputs("  ", stderr);
  for (size_t at = 0; at < line.length;) {
    kdl_string left = kdl_text_substr(line, at);
    uint32_t code = 0;
    size_t length = coloured ? colour_length(left) : 0;
    if (!length) {
      length = kdl_utf8_decode(left.data, left.length, &code);
      if (code != '\t' && kdl_utf8_is_control(code))
        length = 0;
    }
    if (length)
      fwrite(left.data, 1, length, stderr);
    else
      fprintf(stderr, "\\x%02x", (unsigned)(uint8_t)*left.data);
    at += length ? length : 1;
  }
}

/* Compilers quote sources, and names from them, which may hold anything. */
static void print_text(kdl_string text, bool coloured) {
  for (size_t at = 0, end; at < text.length; at = end + 1) {
    end = kdl_text_find(text, at, "\n");
    print_line((kdl_string){text.data + at, end - at}, coloured);
    if (end < text.length)
      fputc('\n', stderr);
  }
}

static void print_targets(const message *m, const cc_job *jobs, size_t count) {
  size_t concerned = 0;
  for (size_t i = 0; i < count; ++i)
    concerned += m->jobs[i];
  if (concerned == count && count > 3) {
    fprintf(stderr, " [all %zu targets]", count);
    return;
  }
  const char *join = " [";
  for (size_t i = 0; i < count; ++i) {
    if (!m->jobs[i])
      continue;
    fputs(join, stderr);
    cli_text_put(stderr, kdl_text_of(jobs[i].label));
    join = ", ";
  }
  fputs("]", stderr);
}

static void print_message(const message *m, const cc_job *jobs, size_t count) {
  if (m->is_from_kdl) {
    bool coloured = cli_stream_has_colour(stderr);
    fprintf(stderr, "%s: %serror:%s ", cli_report_name(), coloured ? "\033[1;31m" : "",
            coloured ? "\033[0m" : "");
  }
  size_t first = 0; /* after the line with the severity */
  do
    first = kdl_text_find(m->text, first ? first + 1 : 0, "\n");
  while (first < m->text.length && is_include((kdl_string){m->text.data, first}) &&
         !has_severity((kdl_string){m->text.data, first}));
  print_text((kdl_string){m->text.data, first}, jobs->plan->colour);
  print_targets(m, jobs, count);
  print_text(kdl_text_substr(m->text, first), jobs->plan->colour);
  if (first == m->text.length || m->text.data[m->text.length - 1] != '\n')
    fputc('\n', stderr);
}

void cc_messages_print(const cc_job *jobs, size_t count) {
  message_list all = {.job_count = count};
  for (size_t i = 0; i < count; ++i) {
    const kdl_string *messages = jobs[i].messages.items;
    for (size_t k = 0; k < jobs[i].messages.count; ++k)
      split_messages(&all, strip_crash_dump(messages[k]), i);
    if (jobs[i].error)
      message_list_add(&all, kdl_text_of(jobs[i].error), !jobs[i].has_location, i);
  }
  fflush(stdout);
  for (size_t i = 0; i < all.count; ++i) {
    print_message(&all.items[i], jobs, count);
    free(all.items[i].jobs);
  }
  free(all.items);
}
