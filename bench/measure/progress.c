/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "progress.h"

#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
  (void)number;
  interrupted = 1;
}

void bench_catch_interrupts(void) {
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
}

bool bench_was_interrupted(void) {
  return interrupted != 0;
}

static bool shown, hidden;

void bench_progress_hide(void) {
  hidden = true;
}

void bench_progress(const char *what, size_t done, size_t all) {
  static double next; /* when it is drawn next: a second after the first call, then every 100 ms */
  const char *terminal = getenv("TERM");
  double now = bench_now_ns();
  if (next == 0)
    next = now + 1e9;
  if (hidden || now < next || !isatty(STDERR_FILENO) || !terminal || !strcmp(terminal, "dumb"))
    return;
  next = now + 1e8;
  shown = true;
  fprintf(stderr, "\r\033[Kmeasuring %3zu%% %s: %zu of %zu", all ? done * 100 / all : 0, what, done,
          all);
  fflush(stderr);
}

void bench_progress_end(void) {
  if (shown)
    fputs("\r\033[K", stderr);
  shown = false;
}
