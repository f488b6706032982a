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
  select_problem problem;
  kdl_library *lib; /* in which the choice is remembered */
  const llvm_peer *llvm;
} choice;

/* What measuring itself takes: an indirect call. */
static void call_nothing(void *context) {
  bench_do_not_optimize(context);
}

static void open_alone(void *context) {
  const choice *at = context;
  select_problem_close(select_problem_open(&at->problem));
}

static void open_and_select(void *context) {
  const choice *at = context;
  kdl_library *lib = select_problem_open(&at->problem);
  select_problem_first(&at->problem, lib);
  select_problem_close(lib);
}

static void select_again(void *context) {
  const choice *at = context;
  select_problem_again(&at->problem, at->lib);
}

static void llvm_open_and_match(void *context) {
  const choice *at = context;
  const select_problem *problem = &at->problem;
  if (at->llvm->create_and_match(problem->data, problem->size, problem->device_triple,
                                 problem->device_arch) != problem->count - 1)
    bench_die("OffloadBinary::create and areTargetsCompatible");
}

static void llvm_match(void *context) {
  const choice *at = context;
  const select_problem *problem = &at->problem;
  if (at->llvm->first_compatible(problem->triples, problem->archs, problem->count,
                                 problem->device_triple,
                                 problem->device_arch) != problem->count - 1)
    bench_die("areTargetsCompatible");
}

enum { first = 2, first_of_llvm = 4 };

static kdl_status measure_choice(size_t images, size_t blocks, const llvm_peer *llvm,
                                 bench_results *results) {
  static bench_run run;
  choice at = {.llvm = llvm};
  kdl_status status = select_problem_make(images, &at.problem);
  if (status == KDL_OK) {
    char prefix[48];
    snprintf(prefix, sizeof prefix, "select/%zu images", images);
    at.lib = select_problem_open(&at.problem);
    select_problem_first(&at.problem, at.lib);
    bench_case cases[] = {
        {"an empty call", call_nothing, NULL},
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
    select_problem_close(at.lib);
  }
  select_problem_free(&at.problem);
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
  if (status == KDL_OK && !bench_was_interrupted())
    status = measure_choice(1000, blocks, llvm, results);
  return status;
}
