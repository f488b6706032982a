/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Restricts the files that this process may use: Landlock (Linux 5.13) by its system calls. */
#ifndef KDL_LD_CONFINE_LANDLOCK_H
#define KDL_LD_CONFINE_LANDLOCK_H

#include <stdbool.h>

typedef struct ld_landlock {
  int rules;   /* a descriptor; -1: none */
  int version; /* of the interface; 0: none */
  int problem; /* errno of the call that failed */
} ld_landlock;

typedef enum ld_landlock_right {
  LD_LANDLOCK_READ,  /* read the file, or all files in a folder */
  LD_LANDLOCK_RUN,   /* read and execute */
  LD_LANDLOCK_WRITE, /* write the file */
} ld_landlock_right;

ld_landlock ld_landlock_begin(void);

/* Adds a rule. A path that does not exist needs none. */
void ld_landlock_allow(ld_landlock *landlock, const char *path, ld_landlock_right right);

/* Puts the rules in force and frees them. False with `problem` where that fails. */
bool ld_landlock_end(ld_landlock *landlock);

#endif
