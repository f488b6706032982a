/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/progress.h"

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

enum { first_ms = 1000, step_ms = 100, narrowest = 20, widest_bar = 40 };

static struct {
  const char *what; /* NULL: nothing is shown */
  int fd;
  uint64_t next_ms;
  bool is_drawn;
} shown;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

static void draw(double share, const char *detail) {
  struct winsize size;
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
  snprintf(text, sizeof text, "%s %s%s%s", shown.what, part, bar, detail);
  text[width - 1 < sizeof text - 1 ? width - 1 : sizeof text - 1] = '\0';
  dprintf(shown.fd, "\r%s\033[K", text);
  shown.is_drawn = true;
}

void cli_progress_begin(const char *what, int fd) {
  const char *terminal = getenv("TERM");
  if (!isatty(fd) || !terminal || strcmp(terminal, "dumb") == 0)
    return;
  pthread_mutex_lock(&lock);
  shown.what = what;
  shown.fd = fd;
  shown.next_ms = now_ms() + first_ms;
  pthread_mutex_unlock(&lock);
}

void cli_progress_step(double share, const char *format, ...) {
  char detail[160];
  va_list args;
  pthread_mutex_lock(&lock);
  if (shown.what && now_ms() >= shown.next_ms) {
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    draw(share, detail);
    shown.next_ms = now_ms() + step_ms;
  }
  pthread_mutex_unlock(&lock);
}

void cli_progress_clear(void) {
  pthread_mutex_lock(&lock);
  if (shown.is_drawn)
    dprintf(shown.fd, "\r\033[K");
  shown.is_drawn = false;
  pthread_mutex_unlock(&lock);
}

void cli_progress_end(void) {
  cli_progress_clear();
  pthread_mutex_lock(&lock);
  shown.what = NULL;
  pthread_mutex_unlock(&lock);
}
