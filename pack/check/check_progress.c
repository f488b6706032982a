/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The progress line on a terminal: drawn when a file was read, at most ten times a second, not at
 * all for short checks, and erased at the end. */
#include "pack/check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { first_ms = 400, step_ms = 100, narrowest = 20, widest_bar = 40 };

/* "[=====>    ]" */
static void make_bar(char *to, size_t inside, double part) {
  size_t done = (size_t)(part * (double)inside);
  to[0] = '[';
  memset(to + 1, ' ', inside);
  memset(to + 1, '=', done < inside ? done : inside);
  if (done < inside)
    to[1 + done] = '>';
  to[1 + inside] = ']';
  to[2 + inside] = '\0';
}

/* The bar appears once all folders are walked: before that the total is unknown. */
static void draw_progress(const check *c) {
  struct winsize size;
  char text[256], bar[widest_bar + 3] = "", part[16] = "";
  bool is_told = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  size_t width = is_told ? size.ws_col : 80;
  if (c->is_walked && c->bytes_found) {
    double share = (double)c->bytes_done / (double)c->bytes_found;
    snprintf(part, sizeof part, "%3d%% ", (int)(share * 100));
    size_t room = width > 60 ? width - 60 : 0;
    if (room >= 8)
      make_bar(bar, room < widest_bar ? room : (size_t)widest_bar, share);
  }
  snprintf(text, sizeof text, "checking %s%s%s%zu files, %.1f GB", part, bar, *bar ? " " : "",
           c->files, (double)c->bytes_done / 1e9);
  if (width < narrowest)
    return;
  text[width - 1 < sizeof text - 1 ? width - 1 : sizeof text - 1] = '\0';
  fprintf(stderr, "\r%s\033[K", text);
  fflush(stderr);
}

static uint64_t progress_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void check_progress_begin(check *c) {
  const char *terminal = getenv("TERM");
  if (!c->as_json && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0)
    c->next_drawn = progress_now_ms() + first_ms;
}

void check_progress_step(check *c) {
  if (!c->next_drawn || progress_now_ms() < c->next_drawn)
    return;
  draw_progress(c);
  c->next_drawn = progress_now_ms() + step_ms;
  c->is_drawn = true;
}

void check_progress_end(const check *c) {
  if (c->is_drawn)
    fputs("\r\033[K", stderr);
}
