/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/progress.h"

#include "support/system/variables.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { first_ms = 1000, step_ms = 100, beat_ms = 500, narrowest = 20, widest_bar = 40 };

static struct {
  const char *what; /* NULL: nothing is shown */
  int fd;
  uint64_t began_ms, next_ms;
  double share;
  double from, to; /* the part */
  char detail[160];
  bool is_drawn;
  bool has_thread;
  pthread_t thread;
} shown;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* "[=====>    ] " */
static void make_bar(char *to, size_t room, double share) {
  size_t done = (size_t)(share * (double)room);
  to[0] = '[';
  memset(to + 1, ' ', room);
  memset(to + 1, '=', done < room ? done : room);
  if (done < room)
    to[1 + done] = '>';
  memcpy(to + 1 + room, "] ", 3);
}

static void draw(uint64_t now) {
  struct winsize size;
  double share = shown.share;
  char text[256], bar[widest_bar + 4] = "", part[16] = "";
  bool has_size = ioctl(shown.fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  size_t width = has_size ? size.ws_col : 80;
  if (width < narrowest)
    return;
  if (share >= 0) {
    share = share > 1 ? 1 : share;
    snprintf(part, sizeof part, "%3d%% ", (int)(share * 100));
    size_t room = width > 60 ? width - 60 : 0;
    if (room >= 8)
      make_bar(bar, room < widest_bar ? room : (size_t)widest_bar, share);
  }
  snprintf(text, sizeof text, "%s %s%s%s%s%d s", shown.what, part, bar, shown.detail,
           *shown.detail ? ", " : "", (int)((now - shown.began_ms) / 1000));
  text[width - 1 < sizeof text - 1 ? width - 1 : sizeof text - 1] = '\0';
  dprintf(shown.fd, "\r%s\033[K", text);
  shown.is_drawn = true;
}

static void draw_if_due(void) {
  uint64_t now = now_ms();
  if (now < shown.next_ms)
    return;
  draw(now);
  shown.next_ms = now + step_ms;
}

/* Draws the line in the middle of long steps too, such as the compression of a large member. */
static void *beat(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  while (shown.what) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t nanoseconds = (uint64_t)until.tv_nsec + (uint64_t)beat_ms * 1000000;
    until.tv_sec += (time_t)(nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    bool is_due = pthread_cond_timedwait(&ended, &lock, &until) != 0;
    if (is_due && shown.what)
      draw_if_due();
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

void cli_progress_begin(const char *what, int fd) {
  const char *terminal = kdl_environment(KDL_VARIABLE_TERM);
  if (!isatty(fd) || !terminal || strcmp(terminal, "dumb") == 0)
    return;
  pthread_mutex_lock(&lock);
  shown.what = what;
  shown.fd = fd;
  shown.began_ms = now_ms();
  shown.next_ms = shown.began_ms + first_ms;
  shown.share = -1;
  shown.from = 0;
  shown.to = 1;
  *shown.detail = '\0';
  /* Without the thread, steps alone draw. */
  shown.has_thread = pthread_create(&shown.thread, NULL, beat, NULL) == 0;
  pthread_mutex_unlock(&lock);
}

void cli_progress_step(double share, const char *format, ...) {
  va_list args;
  pthread_mutex_lock(&lock);
  if (shown.what) {
    shown.share = share;
    va_start(args, format);
    vsnprintf(shown.detail, sizeof shown.detail, format, args);
    va_end(args);
    draw_if_due();
  }
  pthread_mutex_unlock(&lock);
}

void cli_progress_part(double from, double to) {
  pthread_mutex_lock(&lock);
  shown.from = from;
  shown.to = to;
  pthread_mutex_unlock(&lock);
}

void cli_progress_within(double share) {
  pthread_mutex_lock(&lock);
  double now = shown.from + share * (shown.to - shown.from);
  if (shown.what && now > shown.share) {
    shown.share = now;
    draw_if_due();
  }
  pthread_mutex_unlock(&lock);
}

static void clear_line(void) {
  if (shown.is_drawn)
    dprintf(shown.fd, "\r\033[K");
  shown.is_drawn = false;
}

void cli_progress_clear(void) {
  pthread_mutex_lock(&lock);
  clear_line();
  pthread_mutex_unlock(&lock);
}

void cli_progress_end(void) {
  pthread_mutex_lock(&lock);
  clear_line();
  shown.what = NULL;
  bool has_thread = shown.has_thread;
  shown.has_thread = false;
  pthread_cond_signal(&ended);
  pthread_mutex_unlock(&lock);
  if (has_thread)
    pthread_join(shown.thread, NULL);
}
