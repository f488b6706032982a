/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A temporary folder for one run of the program, flat or in OCI's layout. It is removed at the end,
 * also when a signal ends the program (SIGINT, SIGTERM, SIGHUP, and SIGBUS by
 * tools/common/guard.c). */
#ifndef KDL_TOOLS_COMMON_TEMP_FOLDER_H
#define KDL_TOOLS_COMMON_TEMP_FOLDER_H

#include <stdbool.h>
#include <time.h>

/* Creates it as mkdtemp does: `path` ends with XXXXXX. False with errno. Only one can exist at a
 * time. */
bool temp_folder_create(char *path);

/* Removes it and its contents, if it was not renamed. */
void temp_folder_remove(void);

/* Removes the regular files of a folder that are at least `age` seconds old; false where it had
 * none. */
bool temp_folder_remove_files(const char *path, time_t age);

#endif
