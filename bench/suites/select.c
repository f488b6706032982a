/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What choosing costs: among 3 images and among 1,000 with nothing remembered, beside LLVM's own
 * compatibility check over the same images; and once a choice is remembered. */
#include "suite.h"

#include "base/error.h"
#include "base/text.h"
#include "cases.h"
#include "measure/must.h"
#include "measure/progress.h"
#include "objects.h"
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
  problem asked;
  const llvm_peer *llvm;
} choice;

/* What measuring itself takes: an indirect call. */
static void nothing(void *context) {
  bench_keep(context);
}

static void choose(void *context) {
  choice *at = context;
  if (problem_choose(&at->asked) != at->asked.expected)
    bench_die("chose another image");
}

static void llvm_choose(void *context) {
  choice *at = context;
  const problem *asked = &at->asked;
  size_t found = at->llvm->first_compatible(asked->triples, asked->archs, asked->count,
                                            asked->device_triple, asked->device_arch);
  bench_keep(&found);
}

typedef struct {
  kdl_selector *selector;
  kdl_kernel_id kernel;
} remembered;

static void remember(void *context) {
  remembered *asked = context;
  const kdl_selection *selection;
  if (kdl_selector_find(asked->selector, &asked->kernel, &selection) != KDL_OK)
    bench_die("looking up");
  bench_keep(selection);
}

static kdl_status measure_choice(size_t images, size_t blocks, const llvm_peer *llvm,
                                 bench_results *results) {
  static bench_run run;
  choice at = {.llvm = llvm};
  kdl_status status =
      images == 3 ? problem_of_three(&at.asked) : problem_of_many(images, &at.asked);
  if (status == KDL_OK) {
    char prefix[48];
    snprintf(prefix, sizeof prefix, "select/%zu images", images);
    bench_case cases[] = {{"an empty call", nothing, NULL},
                          {"kdl, full rules", choose, &at},
                          {"LLVM areTargetsCompatible, first match", llvm_choose, &at}};
    cases_run what = {.prefix = prefix,
                      .cases = cases,
                      .count = llvm ? 3 : 2,
                      .blocks = blocks,
                      .milliseconds = 1,
                      .operations = 1};
    cases_measure(&what, results, &run);
    if (llvm)
      cases_compare(&what, &run, 1, 2, results);
  }
  problem_free(&at.asked);
  return status;
}

static kdl_status measure_memory(size_t blocks, bench_results *results) {
  kdl_pair pairs[] = {{{"triple", 6}, {"nvptx64-nvidia-cuda", 19}},
                      {{"arch", 4}, {"sm_90", 5}},
                      {{"kdl.kernel.saxpy", 16}, {"rev=1", 5}}};
  kdl_image image = {.kind = KDL_IMAGE_CUBIN, .pair_list = pairs, .pair_count = 3};
  kdl_image_read_keys(&image);
  kdl_container container = {.images = &image, .count = 1, .name = "bench"};
  kdl_catalog *catalog = NULL;
  kdl_device_spec spec;
  kdl_select_device device;
  remembered asked = {.kernel = kdl_kernel_id_of(KDL_TEXT("saxpy"))};
  kdl_status status = kdl_catalog_create(&container, &catalog);
  if (status == KDL_OK)
    status = kdl_device_spec_parse("cuda:sm_90", &spec);
  if (status == KDL_OK)
    status = kdl_select_device_init(&spec, &device);
  if (status == KDL_OK)
    status = kdl_selector_create(catalog, &(kdl_query){.device = &device}, &asked.selector);
  if (status == KDL_OK) {
    static bench_run run;
    remember(&asked);
    remembered interned = asked;
    interned.kernel.name = kdl_selector_peek(asked.selector, &asked.kernel)->name;
    bench_case cases[] = {{"an empty call", nothing, NULL},
                          {"kdl, by the name it handed out", remember, &interned},
                          {"kdl, by a name to be compared", remember, &asked}};
    cases_run what = {.prefix = "select/remembered",
                      .cases = cases,
                      .count = 3,
                      .blocks = blocks,
                      .milliseconds = 1,
                      .operations = 1};
    cases_measure(&what, results, &run);
  }
  kdl_catalog_destroy(catalog);
  kdl_arena_free(&container.arena);
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
  if (status == KDL_OK && !bench_stopped())
    status = measure_memory(blocks, results);
  return status;
}
