/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One line on a terminal that says how far the check is: a thread of its own draws it, a few times
 * a second, and not at all where the check is over soon. It is gone when the thread ends. */
#include "check/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { first_ms = 400, step_ms = 100, narrowest = 20, widest_bar = 40 };

static size_t terminal_width(void) {
  struct winsize size;
  bool is_told = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_told ? size.ws_col : 80;
}

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

/* While folders are still walked, what there is to do is not known: the bar comes after that. */
static void draw(check_progress *progress) {
  check *c = progress->c;
  char text[256], bar[widest_bar + 3] = "", part[16] = "";
  size_t width = terminal_width();
  pthread_mutex_lock(&c->lock);
  uint64_t found = c->bytes_found, done = c->bytes_done;
  size_t files = c->files;
  bool is_walked = c->is_walked;
  pthread_mutex_unlock(&c->lock);
  if (is_walked && found) {
    double share = (double)done / (double)found;
    snprintf(part, sizeof part, "%3d%% ", (int)(share * 100));
    size_t room = width > 60 ? width - 60 : 0;
    if (room >= 8)
      make_bar(bar, room < widest_bar ? room : (size_t)widest_bar, share);
  }
  snprintf(text, sizeof text, "checking %s%s%s%zu files, %.1f GB", part, bar, *bar ? " " : "",
           files, (double)done / 1e9);
  if (width < narrowest)
    return;
  text[width - 1 < sizeof text - 1 ? width - 1 : sizeof text - 1] = '\0';
  fprintf(stderr, "\r%s\033[K", text);
  fflush(stderr);
  progress->is_drawn = true;
}

static void *run(void *user) {
  check_progress *progress = user;
  struct timespec next;
  long pause_ms = first_ms;
  clock_gettime(CLOCK_REALTIME, &next);
  pthread_mutex_lock(&progress->lock);
  while (!progress->is_over) {
    next.tv_nsec += pause_ms * 1000000;
    next.tv_sec += next.tv_nsec / 1000000000;
    next.tv_nsec %= 1000000000;
    int waited = 0;
    while (!progress->is_over && waited != ETIMEDOUT)
      waited = pthread_cond_timedwait(&progress->wakes, &progress->lock, &next);
    if (!progress->is_over)
      draw(progress);
    pause_ms = step_ms;
  }
  pthread_mutex_unlock(&progress->lock);
  return NULL;
}

void check_progress_begin(check *c, check_progress *progress) {
  const char *terminal = getenv("TERM");
  *progress = (check_progress){
      .c = c, .lock = PTHREAD_MUTEX_INITIALIZER, .wakes = PTHREAD_COND_INITIALIZER};
  progress->is_there = !c->as_json && isatty(STDERR_FILENO) && terminal &&
                       strcmp(terminal, "dumb") != 0 &&
                       pthread_create(&progress->thread, NULL, run, progress) == 0;
}

void check_progress_end(check_progress *progress) {
  if (!progress->is_there)
    return;
  pthread_mutex_lock(&progress->lock);
  progress->is_over = true;
  pthread_cond_signal(&progress->wakes);
  pthread_mutex_unlock(&progress->lock);
  pthread_join(progress->thread, NULL);
  if (progress->is_drawn)
    fputs("\r\033[K", stderr);
}
