/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Allocations that fail when they are told to. They are those of every object of the program, by
 * the linker's --wrap; what libc and drivers allocate for themselves is not counted, but for calls
 * that say that there was no memory. */
#ifndef KDL_TESTS_FAIL_ALLOCATION_H
#define KDL_TESTS_FAIL_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum { KDL_FAIL_IN_ALL, KDL_FAIL_IN_FIRST, KDL_FAIL_IN_OTHERS } kdl_fail_where;

/* Which allocations fail. In all processes, one that is forked counts on from its parent; else each
 * counts its own. */
typedef struct {
  pid_t first; /* the process that all others come from */
  kdl_fail_where where;
  unsigned at;      /* this one, counted from 1; 0: none */
  bool onwards;     /* and every one after it */
  uint64_t place;   /* the first of this place instead; 0: by number */
  unsigned callers; /* how many of them make a place, the innermost first */
  int fd;           /* gets a byte when one has failed first */
} kdl_failure;

/* From now on, and in processes that are forked. */
__attribute__((visibility("default"))) void kdl_fail_allocation(const kdl_failure *which);

/* From now on each allocation of these processes, of which none fails, writes the number of its
 * place to `fd`, a uint64_t. Those with the same callers in this program have the same number, also
 * in another run. */
void kdl_survey_allocations(const kdl_failure *which);

#endif
