/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One line on a terminal that shows how far a command is. It appears where the command takes longer
 * than a second, is drawn ten times a second at most, twice at least, and is gone at the end. */
#ifndef KDL_TOOLS_COMMON_PROGRESS_H
#define KDL_TOOLS_COMMON_PROGRESS_H

/* From now on steps are shown, as "thinning  45% [===>    ] 12 of 30 libraries, 9 s", on a
 * descriptor that is a terminal; on any other nothing is. */
void cli_progress_begin(const char *what, int fd);

/* `share` of the whole is done; negative where the whole is not known yet. Does nothing before
 * cli_progress_begin. From any thread. */
void cli_progress_step(double share, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What comes next is the part of the whole from one share to another, of which `share` is done. For
 * one thread. */
void cli_progress_part(double from, double to);
void cli_progress_within(double share);

/* Clears the line, before something else is printed; the next step may draw it again. */
void cli_progress_clear(void);

/* Clears the line; later steps are not shown. */
void cli_progress_end(void);

#endif
