/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Chooses among three images, N times, for callgrind (bench/instructions/select.sh), and says how
 * often that allocated: never, or it returns 1. What it costs in time is `kdl bench select`.
 */
#include "suites/problem.h"

#include <stdio.h>
#include <stdlib.h>

/* The linker sends our objects' malloc here, by names that are its own. */
static size_t allocations;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,misc-use-internal-linkage):
 * ld --wrap prescribes the names. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size) {
  ++allocations;
  return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  ++allocations;
  return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
  ++allocations;
  return __real_realloc(memory, size);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,misc-use-internal-linkage) */

int main(int argc, char **argv) {
  long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
  problem asked;
  if (problem_of_three(&asked) != KDL_OK || allocations == 0) {
    fprintf(stderr, "bench_select: %s\n", kdl_error_message());
    return 1;
  }
  size_t before = allocations;
  for (long i = 0; i < count; ++i) {
    if (problem_choose(&asked) != asked.expected)
      return 1;
  }
  size_t used = allocations - before;
  printf("allocations in %ld choices: %zu\n", count, used);
  problem_free(&asked);
  return used != 0;
}
