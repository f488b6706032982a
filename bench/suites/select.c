/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What choosing costs a program, through the public API: to open a library and choose its first
 * image, compared with LLVM's reader and its compatibility check over the same bytes; and to choose
 * again, once the choice is remembered. */
#include "suite.h"

#include "cases.h"
#include "measure/must.h"
#include "measure/progress.h"
#include "objects.h"
#include "problem.h"

#include <stdio.h>

typedef struct {
  problem asked;
  kdl_library *lib; /* in which the choice is remembered */
  const llvm_peer *llvm;
} choice;

/* What measuring itself takes: an indirect call. */
static void nothing(void *context) {
  bench_keep(context);
}

static void open_alone(void *context) {
  const choice *at = context;
  problem_close(problem_open(&at->asked));
}

static void open_and_select(void *context) {
  const choice *at = context;
  kdl_library *lib = problem_open(&at->asked);
  problem_select_first(&at->asked, lib);
  problem_close(lib);
}

static void select_again(void *context) {
  const choice *at = context;
  problem_select_again(&at->asked, at->lib);
}

static void llvm_open_and_match(void *context) {
  const choice *at = context;
  const problem *asked = &at->asked;
  if (at->llvm->create_and_match(asked->data, asked->size, asked->device_triple,
                                 asked->device_arch) != asked->count - 1)
    bench_die("OffloadBinary::create and areTargetsCompatible");
}

static void llvm_match(void *context) {
  const choice *at = context;
  const problem *asked = &at->asked;
  if (at->llvm->first_compatible(asked->triples, asked->archs, asked->count, asked->device_triple,
                                 asked->device_arch) != asked->count - 1)
    bench_die("areTargetsCompatible");
}

enum { first = 2, first_of_llvm = 4 };

static kdl_status measure_choice(size_t images, size_t blocks, const llvm_peer *llvm,
                                 bench_results *results) {
  static bench_run run;
  choice at = {.llvm = llvm};
  kdl_status status = problem_make(images, &at.asked);
  if (status == KDL_OK) {
    char prefix[48];
    snprintf(prefix, sizeof prefix, "select/%zu images", images);
    at.lib = problem_open(&at.asked);
    problem_select_first(&at.asked, at.lib);
    bench_case cases[] = {
        {"an empty call", nothing, NULL},
        {"kdl_open_memory and kdl_close", open_alone, &at},
        {"kdl_open_memory, first kdl_select, kdl_close", open_and_select, &at},
        {"kdl_select, remembered", select_again, &at},
        {"LLVM OffloadBinary::create, areTargetsCompatible, first match", llvm_open_and_match, &at},
        {"LLVM areTargetsCompatible alone, first match", llvm_match, &at},
    };
    cases_run what = {.prefix = prefix,
                      .cases = cases,
                      .count = llvm ? sizeof cases / sizeof *cases : first_of_llvm,
                      .blocks = blocks,
                      .milliseconds = 1,
                      .operations = 1};
    cases_measure(&what, results, &run);
    if (llvm)
      cases_compare(&what, &run, first, first_of_llvm, results);
    problem_close(at.lib);
  }
  problem_free(&at.asked);
  return status;
}

kdl_status suite_select(const suite_built_in *built_in, size_t blocks, bench_results *results) {
  (void)built_in;
  const llvm_peer *llvm = suite_llvm();
  if (!llvm)
    bench_skip_add(results, "LLVM", peer_error());
  else
    bench_note_add(results, "LLVM", "%s", llvm->version);
  kdl_status status = measure_choice(3, blocks, llvm, results);
  if (status == KDL_OK && !bench_stopped())
    status = measure_choice(1000, blocks, llvm, results);
  return status;
}
