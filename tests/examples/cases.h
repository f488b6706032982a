/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The example kernels, each with a problem and what C on this machine says of it. */
#ifndef KDL_TEST_CASES_H
#define KDL_TEST_CASES_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* An argument: a number, or memory that is sent and fetched again. */
typedef struct argument {
  const void *value; /* of a number; NULL for memory */
  void *memory;
  size_t size;
} argument;

enum { MOST_ARGUMENTS = 8 };

typedef struct problem {
  kdl_extent items;
  argument arguments[MOST_ARGUMENTS];
  size_t argument_count;
  size_t result;      /* the argument to compare */
  const double *want; /* what it is to be */
  size_t count;       /* elements of it */
  bool is_integer;    /* they are uint32_t, and exact; else float */
  double tolerance;   /* of the difference, relative to the largest of all */
} problem;

typedef struct test_case {
  const char *kernel;
  void (*make)(problem *out); /* fills buffers of its own, anew each time */
} test_case;

/* Problems of a few groups, for what interprets kernels. */
extern bool test_cases_are_small;
extern const test_case test_cases[];
extern const size_t test_case_count;

#endif
