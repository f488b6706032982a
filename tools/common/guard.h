/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Files that shrink while they are read. Image bytes are mapped, and the size of a file is checked
 * before each use of its mapping. If the file is truncated after that, or a disk fails, touching
 * the page raises SIGBUS. A library must not install signal handlers; a program can.
 *
 * Without a guard the program ends with a message and exit code 1. A thread with a guard continues:
 * the page reads as zeros, which readers handle like any other bytes, and the function that set the
 * guard discards the result.
 */
#ifndef KDL_TOOLS_COMMON_GUARD_H
#define KDL_TOOLS_COMMON_GUARD_H

#include <stdbool.h>

/* Installs the handler. */
void cli_guard_install(void);

/* From now on the calling thread continues after SIGBUS. */
void cli_guard_begin(void);

/* Whether this thread touched a missing page since cli_guard_begin. */
bool cli_guard_was_hit(void);

void cli_guard_end(void);

#endif
