/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Files that shrink while they are read. Image bytes are mapped, and the size of a file is asked
 * for before each use of its mapping; where it is truncated between that and the reading, or a disk
 * fails, touching the page raises SIGBUS. A library cannot own a signal, a program can.
 *
 * Without a guard the program ends, with a message and exit code 1. A thread with a guard goes on:
 * the page reads as zeros, which the readers take as they take any file, and what was made of them
 * is thrown away by the function that set the guard.
 */
#ifndef KDL_TOOL_GUARD_H
#define KDL_TOOL_GUARD_H

#include <stdbool.h>

/* Takes the signal, for the rest of the program. */
void cli_guard_install(void);

/* From here on the calling thread goes on. */
void cli_guard_begin(void);

/* Whether a page was missing since cli_guard_begin, in this thread. */
bool cli_guard_was_hit(void);

void cli_guard_end(void);

#endif
