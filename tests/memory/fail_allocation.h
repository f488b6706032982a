/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Allocations that fail when they are told to. They are those of every object of the program, by
 * the linker's --wrap; what libc and drivers allocate for themselves is not counted. */
#ifndef KDL_TESTS_FAIL_ALLOCATION_H
#define KDL_TESTS_FAIL_ALLOCATION_H

#include <stdbool.h>

/* From now on allocation `at`, counted from 1, fails, and with `onwards` every one after it. A byte
 * is written to `fd` when the first one has failed. */
void kdl_fail_allocation(unsigned at, bool onwards, int fd);

/* From now on each allocation writes the number of its place to `fd`, a uint64_t: those with the
 * same callers have the same number. */
void kdl_survey_allocations(int fd);

#endif
