/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The example kernels and those with barriers, each with a problem and what C says of it. */
#ifndef KDL_BENCH_SUITES_KERNELS_KERNELS_CASES_H
#define KDL_BENCH_SUITES_KERNELS_KERNELS_CASES_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

enum { KERNELS_SIZES = 3, KERNELS_BUFFERS = 4, KERNELS_ARGUMENTS = 6 };

/* A buffer, by its index, or a number. */
typedef struct kernels_argument {
  int buffer; /* below 0: a number */
  uint32_t bits;
} kernels_argument;

typedef struct kernels_problem {
  uint32_t n;
  kdl_extent items;
  void *buffers[KERNELS_BUFFERS]; /* what they hold at the start */
  size_t bytes[KERNELS_BUFFERS];
  size_t buffer_count;
  size_t result; /* the buffer that is compared; it holds zeros at the start unless it is read */
  kernels_argument arguments[KERNELS_ARGUMENTS];
  size_t argument_count;
} kernels_problem;

typedef struct kernels_case {
  const char *name;    /* in figures, in plain C and in CUDA C++ */
  const char *library; /* FOLDER/LIBRARY.offload; NULL: a product of matrices by libraries */
  const char *kernel;  /* in it */
  /* By size, "tiny", "small", "large": elements, rows, or the side of a square. */
  uint32_t on_cpu[KERNELS_SIZES], on_gpu[KERNELS_SIZES];
  void (*make)(uint32_t n, kernels_problem *problem);
  /* How far the result is from the reference, relative to the largest number of it. */
  double (*max_error)(const kernels_problem *problem, const void *result);
  double tolerance; /* 0: numbers are such that every order of operations gives the same bits */
} kernels_case;

extern const char *const kernels_sizes[KERNELS_SIZES];
extern const kernels_case kernels_cases[];
extern const size_t kernels_case_count;

/* The first so many are those of `kdl bench kernels`; the others are for `kdl bench scale`. */
enum { KERNELS_USUAL = 14 };

/* False when out of memory. */
bool kernels_problem_make(const kernels_case *of, uint32_t n, kernels_problem *out_problem);
void kernels_problem_free(kernels_problem *problem);

#endif
