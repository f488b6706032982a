/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Messages quote files, and files hold anything. */
#ifndef KDL_BASE_PLAIN_H
#define KDL_BASE_PLAIN_H

#include <stddef.h>

/* Writes control characters in `text`, which has room for `size` bytes, as \xNN, so that
 * printing it prints one message: what was quoted can neither begin a line of its own nor command a
 * terminal. A message of several lines has two spaces at the start of each further one, and keeps
 * these newlines; tabs stay. What no longer fits is cut off. Done twice it changes nothing. */
void kdl_plain(char *text, size_t size);

#endif
