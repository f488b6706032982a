/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A folder that a command changes: made anew before each run, and looked at after it. */
#ifndef KDL_TESTS_FOLDER_H
#define KDL_TESTS_FOLDER_H

#include <stdint.h>

/* Puts a copy of the folder `from` into the place of the folder `to`. Ends the program where it
 * cannot. */
void kdl_folder_copy(const char *from, const char *to);

/* A number of what is in a folder, of the names that are in the folder `names`: types, rights,
 * links and bytes; not times. */
uint64_t kdl_folder_digest(const char *folder, const char *names);

#endif
