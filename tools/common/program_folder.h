/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that are installed with the program, by their path relative to its folder. A build tree has
 * the same layout. */
#ifndef KDL_TOOLS_COMMON_PROGRAM_FOLDER_H
#define KDL_TOOLS_COMMON_PROGRAM_FOLDER_H

#include <limits.h>
#include <stdbool.h>

/* False where it is unknown. */
bool cli_program_folder(char out_folder[PATH_MAX]);

/* FOLDER/NAME. False where the folder is unknown, or the path too long. */
bool cli_program_file(const char *name, char out_path[PATH_MAX]);

#endif
