/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A folder for one run of the program, flat or in OCI's layout: it goes at the end of the run, and
 * where a signal ends that (SIGINT, SIGTERM, SIGHUP, and SIGBUS by cli/guard.c). */
#ifndef KDL_TOOL_CLI_OWN_FOLDER_H
#define KDL_TOOL_CLI_OWN_FOLDER_H

#include <stdbool.h>
#include <time.h>

/* Makes it, with a name as mkdtemp makes it of `path`, which ends with XXXXXX; false with errno.
 * There is one at a time. */
bool own_folder_begin(char *path);

/* Removes it and all that is in it, where it still has its name. */
void own_folder_end(void);

/* Removes the regular files of a folder that are so many seconds old, and says whether there were
 * any. */
bool own_folder_remove_files(const char *path, time_t age);

#endif
