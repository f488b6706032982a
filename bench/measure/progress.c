/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "progress.h"

#include "harness.h"

#include <signal.h>
#include <stdio.h>
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
  static double last;
  double now = bench_now_ns();
  if (hidden || !isatty(STDERR_FILENO) || now - last < 1e8)
    return;
  last = now;
  shown = true;
  fprintf(stderr, "\r\033[K%s: %zu of %zu", what, done, all);
  fflush(stderr);
}

void bench_progress_end(void) {
  if (shown)
    fputs("\r\033[K", stderr);
  shown = false;
}
