/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The machine a measurement was made on, and how far its clock and its quiet can be trusted. */
#ifndef KDL_BENCH_MEASURE_MACHINE_H
#define KDL_BENCH_MEASURE_MACHINE_H

#include <stdbool.h>

typedef struct bench_machine {
  char host[64];
  char cpu[96];      /* "AMD EPYC 9B45"; "" where the system does not tell */
  char kernel[96];   /* "Linux 6.18.5 x86_64" */
  char date[32];     /* "2026-11-15T07:40:12", UTC */
  unsigned cpus;     /* that the process may use */
  int pinned;        /* the CPU that this thread is pinned to; -1 for none */
  char governor[32]; /* of its frequency; "" where the system does not tell */
  double mhz;        /* of that CPU at the start; 0 likewise */
  double load;       /* processes that want a CPU, one minute's average */
  double timer_ns;   /* what reading the clock costs, which is subtracted */
  double step_ns;    /* the least that the clock moves by */
  double noise;      /* how much slower the slowest twentieth of equal work is than its median */
  double others; /* share of the CPUs' time that others had while it was measured; -1: unknown */
  bool is_virtual;
} bench_machine;

/* Pins the calling thread to one CPU of those it may use: the last, since interrupts prefer the
 * first; or to `cpu`. -2 leaves it alone. False where that is not allowed. */
enum { BENCH_PIN_ANY = -1, BENCH_PIN_NONE = -2 };
bool bench_machine_pin(int cpu, bench_machine *machine);

/* Fills the rest; takes some milliseconds to look at the clock. */
void bench_machine_describe(bench_machine *machine);

/* Everything was measured: fills in what others had since bench_machine_describe. */
void bench_machine_finish(bench_machine *machine);

/* Of this, what is known of the clock. */
void bench_machine_clock(bench_machine *machine);

/* What reading the clock costs right now, in ns; takes less than a millisecond. */
double bench_machine_timer(void);

/* Lets the thread run again where it could before it was pinned; for processes that are to start as
 * any program would. */
void bench_machine_unpin(void);

#endif
