/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Marks of first trials: which process tries which variant for which class. They are in a file that
 * is mapped, so that to set and clear one takes no file operation, and a mark outlives a process
 * that ends in the trial.
 *
 * Machines and containers may share the file. A PID means something in one PID namespace since one
 * boot, and there it is used again; so a mark has all of them. A mark from elsewhere counts as left
 * behind after some minutes, which a trial never takes.
 */
#ifndef KDL_EXT_ADAPTIVE_MARKS_H
#define KDL_EXT_ADAPTIVE_MARKS_H

#include "ext/adaptive/problem_class.h"
#include "support/system/lock.h"

enum { KDL_MARKS = 64, KDL_MARK_SECONDS = 600 };

typedef struct kdl_mark {
  _Atomic(uint32_t) process; /* 0: free */
  _Atomic(uint32_t) check;   /* of process, class and variant; another: the mark is not set */
  _Atomic(uint64_t) class_words[2];
  _Atomic(uint64_t) variant; /* its identity */
  _Atomic(uint64_t) place;   /* the boot and the PID namespace of the process; 0: not known */
  _Atomic(uint64_t) start;   /* of the process, in ticks since the boot; 0: not known */
  _Atomic(uint64_t) seconds; /* when it was set, since 1970 */
} kdl_mark;

typedef struct kdl_mark_process {
  uint32_t number;
  uint64_t place, start; /* as in kdl_mark */
} kdl_mark_process;

typedef struct kdl_marks {
  _Atomic(kdl_mark *) slots; /* NULL: not mapped */
  atomic_bool is_failed;     /* the file cannot be made: nothing is marked */
  kdl_work opening;
  kdl_mark_process self; /* that mapped them */
} kdl_marks;

/* Maps the file of a table, of which `name` is the name. Without `creates` only one that is there.
 */
void kdl_marks_open(kdl_marks *marks, const char *name, bool creates);
void kdl_marks_close(kdl_marks *marks);

/* NULL where there is no room. */
kdl_mark *kdl_marks_set(kdl_marks *marks, const kdl_problem_class *key, uint64_t variant);
void kdl_mark_clear(kdl_mark *mark);

/* The next mark from *at that a process left which does not run any more; NULL after the last.
 * Incomplete ones of this place are cleared. */
kdl_mark *kdl_marks_next(kdl_marks *marks, size_t *at);

#endif
