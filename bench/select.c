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
                                                                  const problem *asked) {
  return llvm->create_and_match(asked->data, asked->size, asked->device_triple, asked->device_arch);
}

static __attribute__((noinline, used)) size_t llvm_match(const llvm_peer *llvm,
                                                         const problem *asked) {
  return llvm->first_compatible(asked->triples, asked->archs, asked->count, asked->device_triple,
                                asked->device_arch);
}

static int run_llvm(const problem *asked, long count) {
  const llvm_peer *llvm = suite_llvm();
  if (!llvm) {
    fprintf(stderr, "bench_select: %s\n", peer_error());
    return 77;
  }
  for (long i = 0; i < count; ++i) {
    if (llvm_open_and_match(llvm, asked) != asked->count - 1 ||
        llvm_match(llvm, asked) != asked->count - 1)
      return 1;
  }
  return 0;
}

static int run_kdl(const problem *asked, long count) {
  for (long i = 0; i < count; ++i) {
    kdl_library *lib = problem_open(asked);
    problem_select_first(asked, lib);
    problem_close(lib);
  }
  kdl_library *lib = problem_open(asked);
  problem_select_first(asked, lib);
  size_t before = allocations;
  for (long i = 0; i < count; ++i)
    problem_select_again(asked, lib);
  size_t used = allocations - before;
  problem_close(lib);
  printf("allocations in %ld choices that are remembered: %zu\n", count, used);
  return used != 0 || allocations == 0;
}

int main(int argc, char **argv) {
  long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
  long images = argc > 2 ? strtol(argv[2], NULL, 10) : 3;
  problem asked;
  if (images < 1 || problem_make((size_t)images, &asked) != KDL_OK) {
    fprintf(stderr, "bench_select: %s\n", kdl_error_message());
    return 1;
  }
  int code = argc > 3 ? run_llvm(&asked, count) : run_kdl(&asked, count);
  problem_free(&asked);
  return code;
}
