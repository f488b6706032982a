/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * bench_select N IMAGES [llvm]: opens a library of so many images and chooses one of them, N times,
 * and N times again in one library, for callgrind (bench/instructions/select.sh). Prints how often
 * a choice that is remembered allocated: never, or it returns 1. With `llvm`, LLVM's reader and
 * its check do the first instead, and its check alone after that. What it costs in time is
 * `kdl bench select`.
 */
#include "suites/objects.h"
#include "suites/problem.h"

#include "peers/peer.h"

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

/* Not inlined: callgrind counts by function. */
static __attribute__((noinline, used)) size_t llvm_open_and_match(const llvm_peer *llvm,
                                                                  const select_problem *problem) {
  return llvm->create_and_match(problem->data, problem->size, problem->device_triple,
                                problem->device_arch);
}

static __attribute__((noinline, used)) size_t llvm_match(const llvm_peer *llvm,
                                                         const select_problem *problem) {
  return llvm->first_compatible(problem->triples, problem->archs, problem->count,
                                problem->device_triple, problem->device_arch);
}

static int run_llvm(const select_problem *problem, long count) {
  const llvm_peer *llvm = suite_llvm();
  if (!llvm) {
    fprintf(stderr, "bench_select: %s\n", peer_error());
    return 77;
  }
  for (long i = 0; i < count; ++i) {
    if (llvm_open_and_match(llvm, problem) != problem->count - 1 ||
        llvm_match(llvm, problem) != problem->count - 1)
      return 1;
  }
  return 0;
}

static int run_kdl(const select_problem *problem, long count) {
  for (long i = 0; i < count; ++i) {
    kdl_library *lib = select_problem_open(problem);
    select_problem_first(problem, lib);
    select_problem_close(lib);
  }
  kdl_library *lib = select_problem_open(problem);
  select_problem_first(problem, lib);
  size_t before = allocations;
  for (long i = 0; i < count; ++i)
    select_problem_again(problem, lib);
  size_t used = allocations - before;
  select_problem_close(lib);
  printf("allocations in %ld choices that are remembered: %zu\n", count, used);
  return used != 0 || allocations == 0;
}

int main(int argc, char **argv) {
  long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
  long images = argc > 2 ? strtol(argv[2], NULL, 10) : 3;
  select_problem problem;
  if (images < 1 || select_problem_make((size_t)images, &problem) != KDL_OK) {
    fprintf(stderr, "bench_select: %s\n", kdl_error_message());
    return 1;
  }
  int code = argc > 3 ? run_llvm(&problem, count) : run_kdl(&problem, count);
  select_problem_free(&problem);
  return code;
}
