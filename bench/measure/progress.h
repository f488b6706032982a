/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How far a measurement is, on a terminal, and whether it was asked to end. */
#ifndef KDL_BENCH_MEASURE_PROGRESS_H
#define KDL_BENCH_MEASURE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* From now on an interrupt (Ctrl-C) only sets what bench_was_interrupted tells, so that what was
 * measured can still be printed; a second one ends the program. */
void bench_catch_interrupts(void);
bool bench_was_interrupted(void);

/* Shows "measuring  12% cold: 12 of 100" on standard error where that is a terminal, a second after
 * the first call, and at most ten times a second. */
void bench_progress(const char *what, size_t done, size_t all);
void bench_progress_end(void);

/* From now on nothing is shown: the caller shows how far it is. */
void bench_progress_hide(void);

#endif
