/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that this process may use from some moment on, and no others: Linux's Landlock, from 5.13
 * on, by its system calls. */
#ifndef KDL_LD_LANDLOCK_H
#define KDL_LD_LANDLOCK_H

#include <stdbool.h>

typedef struct ld_landlock {
  int rules;   /* a descriptor; -1: none */
  int version; /* of the interface; 0: none */
  int problem; /* errno of what failed */
} ld_landlock;

typedef enum ld_landlock_right {
  LD_LANDLOCK_READ,  /* the file, or what a folder holds: read */
  LD_LANDLOCK_RUN,   /* likewise: read and execute */
  LD_LANDLOCK_WRITE, /* the file: write */
} ld_landlock_right;

ld_landlock ld_landlock_begin(void);

/* What is not there gets no right, and needs none. */
void ld_landlock_allow(ld_landlock *landlock, const char *path, ld_landlock_right right);

/* In force from now on; frees it. False with `problem` where that fails. */
bool ld_landlock_end(ld_landlock *landlock);

#endif
