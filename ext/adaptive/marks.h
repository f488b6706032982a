/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Marks of first trials: which process tries which variant for which class. They are in a file that
 * is mapped, so that to set and clear one takes no system call, and a mark outlives a process that
 * ends in the trial.
 */
#ifndef KDL_ADAPTIVE_MARKS_H
#define KDL_ADAPTIVE_MARKS_H

#include "ext/adaptive/problem_class.h"

enum { KDL_MARKS = 128 };

typedef struct kdl_mark {
  _Atomic(uint32_t) process; /* 0: free */
  _Atomic(uint32_t) check;   /* of the members that follow and the process; else they are not set */
  uint64_t class_words[2];
  uint64_t variant; /* its identity */
} kdl_mark;

typedef struct kdl_marks {
  kdl_mark *slots; /* NULL: not mapped */
  bool is_failed;  /* the file cannot be made: nothing is marked */
} kdl_marks;

/* Maps the file of a table, of which `name` is the name. Without `creates` only one that is there.
 */
void kdl_marks_open(kdl_marks *marks, const char *name, bool creates);
void kdl_marks_close(kdl_marks *marks);

/* NULL where there is no room. */
kdl_mark *kdl_marks_set(kdl_marks *marks, const kdl_problem_class *key, uint64_t variant);
void kdl_mark_clear(kdl_mark *mark);

/* The next mark from *at that a process left which does not run any more; NULL after the last.
 * Incomplete ones are cleared. */
kdl_mark *kdl_marks_next(kdl_marks *marks, size_t *at);

#endif
