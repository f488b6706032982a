/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum { END, ERROR, PINNED, NOTE, SKIP, FIGURE, COMPARISON, CHECK, CURVE, POINT } kind;

/* What is sent: this, then `count` values, twice of a check. */
typedef struct {
  kind kind;
  size_t count;
  double number;
  char name[BENCH_NAME];
  char other[BENCH_ERROR_SIZE];
} message;
_Static_assert(sizeof(((bench_note *)0)->text) <= BENCH_ERROR_SIZE, "a note fits");

/* ------------------------------------------------------------------------------------------ */
/* Sending                                                                                      */

static bool write_bytes(int to, const void *data, size_t size) {
  for (const char *at = data; size;) {
    ssize_t written = write(to, at, size);
    if (written < 0 && errno != EINTR)
      return false;
    at += written > 0 ? written : 0;
    size -= written > 0 ? (size_t)written : 0;
  }
  return true;
}

static bool send_message(int to, kind what, const char *name, const char *other, double number) {
  message head = {.kind = what, .number = number};
  snprintf(head.name, sizeof head.name, "%s", name);
  snprintf(head.other, sizeof head.other, "%s", other);
  return write_bytes(to, &head, sizeof head);
}

static bool send_values(int to, kind what, const char *name, const char *other, double number,
                        const bench_series *first, const bench_series *second) {
  message head = {.kind = what, .number = number, .count = first->count};
  snprintf(head.name, sizeof head.name, "%s", name);
  snprintf(head.other, sizeof head.other, "%s", other);
  return write_bytes(to, &head, sizeof head) &&
         write_bytes(to, first->values, first->count * sizeof *first->values) &&
         (!second || write_bytes(to, second->values, second->count * sizeof *second->values));
}

static bool send_curve(int to, const bench_results *results, const bench_curve *curve) {
  bool ok = send_message(to, CURVE, curve->name, curve->parameter, 0);
  for (size_t i = 0; ok && i < curve->count; ++i)
    ok = send_message(to, POINT, curve->name, results->figures[curve->figures[i]].name,
                      curve->at[i]);
  return ok;
}

bool bench_results_send(const bench_results *results, int to) {
  bool ok = send_message(to, PINNED, "", "", results->machine.pinned);
  for (size_t i = 0; ok && i < results->note_count; ++i)
    ok = send_message(to, NOTE, results->notes[i].key, results->notes[i].text, 0);
  for (size_t i = 0; ok && i < results->skip_count; ++i)
    ok = send_message(to, SKIP, results->skips[i].what, results->skips[i].why, 0);
  for (size_t i = 0; ok && i < results->figure_count; ++i) {
    const bench_figure *figure = &results->figures[i];
    ok = send_values(to, FIGURE, figure->name, "", figure->step, &figure->series, NULL);
  }
  for (size_t i = 0; ok && i < results->comparison_count; ++i) {
    const bench_comparison *each = &results->comparisons[i];
    ok = send_values(to, COMPARISON, each->of, each->to, 0, &each->ratios, NULL);
  }
  for (size_t i = 0; ok && i < results->check_count; ++i) {
    const bench_check *check = &results->checks[i];
    ok = send_values(to, CHECK, check->name, "", check->slack, &check->sums, &check->totals);
  }
  for (size_t i = 0; ok && i < results->curve_count; ++i)
    ok = send_curve(to, results, &results->curves[i]);
  return ok && send_message(to, END, "", "", 0);
}

bool bench_error_send(const char *words, int to) {
  return send_message(to, ERROR, "", words, 0);
}

/* ------------------------------------------------------------------------------------------ */
/* Receiving                                                                                    */

static bool read_bytes(int from, void *data, size_t size) {
  for (char *at = data; size;) {
    ssize_t more = read(from, at, size);
    if (more == 0 || (more < 0 && errno != EINTR))
      return false;
    at += more > 0 ? more : 0;
    size -= more > 0 ? (size_t)more : 0;
  }
  return true;
}

static void add_curve_point(bench_results *results, const message *head) {
  const bench_figure *figure = bench_figure_find(results, head->other);
  size_t curve = bench_curve_add(results, head->name, "");
  if (figure)
    bench_curve_point(results, curve, head->number, (size_t)(figure - results->figures));
}

static void add_message(bench_results *results, const message *head, const double *values) {
  switch (head->kind) {
  case PINNED:
    results->machine.pinned = (int)head->number;
    break;
  case NOTE:
    bench_note_add(results, head->name, "%s", head->other);
    break;
  case SKIP:
    bench_skip_add(results, head->name, head->other);
    break;
  case FIGURE:
    bench_figure_add(results, head->name, values, head->count, head->number);
    break;
  case COMPARISON:
    bench_comparison_add(results, head->name, head->other, values, head->count);
    break;
  case CHECK:
    bench_check_add(results, head->name, values, values + head->count, head->count, head->number);
    break;
  case CURVE:
    bench_curve_add(results, head->name, head->other);
    break;
  case POINT:
    add_curve_point(results, head);
    break;
  case END:
  case ERROR:
    break;
  }
}

bench_received bench_results_receive(bench_results *results, int from,
                                     char error[BENCH_ERROR_SIZE]) {
  message head;
  while (read_bytes(from, &head, sizeof head)) {
    if (head.kind == END)
      return BENCH_RECEIVED;
    if (head.kind == ERROR) {
      snprintf(error, BENCH_ERROR_SIZE, "%s", head.other);
      return BENCH_RECEIVED_ERROR;
    }
    size_t count = head.kind == CHECK ? 2 * head.count : head.count;
    double *values = calloc(count + 1, sizeof *values);
    bool ok = values && read_bytes(from, values, count * sizeof *values);
    if (ok)
      add_message(results, &head, values);
    free(values);
    if (!ok)
      break;
  }
  return BENCH_RECEIVED_NOTHING;
}
