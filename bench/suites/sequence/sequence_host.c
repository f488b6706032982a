/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* On the host, next to a loop that calls the kernel's function: what a program has that was written
 * for it. */
#include "sequence.h"

#include "measure/must.h"
#include "support/base/error.h"

#include <kdl/host_abi.h>

#include <stdlib.h>
#include <string.h>

static kdl_host_function *function_of(kdl_kernel *kernel) {
  void *native;
  kdl_host_function *function;
  bench_require(kdl_kernel_native(kernel, &native), "kdl_kernel_native");
  memcpy(&function, &native, sizeof function);
  return function;
}

typedef struct {
  const sequence_subject *subject;
  kdl_host_function *function;
} direct_case;

static void call_directly(void *context) {
  const direct_case *at = context;
  const kdl_host_group group = {
      .size = sizeof group, .group_count = {1, 1, 1}, .block = {1, 1, 1}, .tile = {1, 1, 1}};
  for (size_t i = 0; i < at->subject->count; ++i) {
    const void *args[] = {&at->subject->buffers[0]};
    at->function(&group, args);
  }
}

kdl_status sequence_measure_host(sequence_subject *subject, const char *prefix, size_t blocks,
                                 bench_results *results) {
  static bench_run run;
  direct_case direct = {subject, function_of(subject->kernel)};
  const bench_case cases[] = {{"replay", sequence_replay, subject},
                              {"replay, one slot bound anew", sequence_replay_one, subject},
                              {"replay, every slot bound anew", sequence_replay_every, subject},
                              {"launches", sequence_launch, subject},
                              {"direct calls", call_directly, &direct},
                              {"record, finish, run once and destroy", sequence_make, subject}};
  cases_run what = {.prefix = prefix,
                    .cases = cases,
                    .count = sizeof cases / sizeof *cases,
                    .blocks = blocks,
                    .milliseconds = 1,
                    .operations = (double)subject->count};
  kdl_status status = sequence_begin(subject);
  if (status != KDL_OK)
    return status;
  cases_measure(&what, results, &run);
  cases_compare(&what, &run, 0, 4, results);
  cases_compare(&what, &run, 0, 3, results);
  sequence_end(subject);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Forty launches that work                                                                     */

enum { launches = 40, elements = 4096, tile = 256 };

typedef struct {
  kdl_queue *queue;
  kdl_kernel *kernel;
  kdl_host_function *function;
  kdl_sequence *sequence;
  kdl_buffer x, y;
  kdl_binding bindings[2];
} work_case;

static const float factor = 0.5f;
static const uint32_t length = elements;

static void replay_work(void *context) {
  work_case *at = context;
  bench_require(kdl_sequence_run(at->sequence, at->queue, at->bindings, 2), "kdl_sequence_run");
}

static void launch_work(void *context) {
  work_case *at = context;
  for (int i = 0; i < launches; ++i)
    bench_require(kdl_launch_items(at->kernel, at->queue, kdl_extent1(elements),
                                   KDL_ARGS(&factor, &at->x, &at->y, &length)),
                  "kdl_launch_items");
}

static void call_work(void *context) {
  work_case *at = context;
  for (int i = 0; i < launches; ++i) {
    const void *args[] = {&factor, &at->x, &at->y, &length};
    kdl_host_group group = {.size = sizeof group,
                            .group_count = {elements / tile, 1, 1},
                            .block = {tile, 1, 1},
                            .tile = {tile, 1, 1}};
    for (uint32_t k = 0; k < elements / tile; ++k) {
      group.group[0] = k;
      at->function(&group, args);
    }
  }
}

static kdl_status record_work(kdl_device *device, work_case *at) {
  kdl_slot x, y;
  kdl_status status = kdl_sequence_create(device, &at->sequence);
  if (status == KDL_OK)
    status = kdl_sequence_add_buffer(at->sequence, "x", elements * sizeof(float), &x);
  if (status == KDL_OK)
    status = kdl_sequence_add_buffer(at->sequence, "y", elements * sizeof(float), &y);
  const kdl_operand args[] = {KDL_VALUE(&factor), kdl_operand_slot(1), kdl_operand_slot(2),
                              KDL_VALUE(&length)};
  for (int i = 0; i < launches && status == KDL_OK; ++i)
    status = kdl_sequence_launch_items(at->sequence, at->kernel,
                                       kdl_operand_items(kdl_extent1(elements)), args, 4);
  if (status == KDL_OK)
    status = kdl_sequence_finish(at->sequence);
  at->bindings[0] = kdl_bind_buffer(1, at->x);
  at->bindings[1] = kdl_bind_buffer(2, at->y);
  return status;
}

kdl_status sequence_measure_work(kdl_device *device, kdl_queue *queue, kdl_library *lib,
                                 size_t blocks, bench_results *results) {
  static bench_run run;
  const float one = 1;
  work_case at = {.queue = queue};
  kdl_status status = kdl_sym(lib, device, "accumulate", NULL, &at.kernel);
  if (status == KDL_OK)
    status = kdl_alloc(device, elements * sizeof one, &at.x);
  if (status == KDL_OK)
    status = kdl_alloc(device, elements * sizeof one, &at.y);
  if (status == KDL_OK)
    status = kdl_fill(queue, &at.x, 0, at.x.size, &one, sizeof one);
  if (status == KDL_OK)
    status = kdl_fill(queue, &at.y, 0, at.y.size, &one, sizeof one);
  if (status == KDL_OK)
    status = record_work(device, &at);
  if (status == KDL_OK) {
    at.function = function_of(at.kernel);
    const bench_case cases[] = {{"replay", replay_work, &at},
                                {"launches", launch_work, &at},
                                {"direct calls", call_work, &at}};
    cases_run what = {.prefix = "sequence/host/40 launches of 4096 elements",
                      .cases = cases,
                      .count = 3,
                      .blocks = blocks,
                      .milliseconds = 2,
                      .operations = launches};
    cases_measure(&what, results, &run);
    cases_compare(&what, &run, 0, 2, results);
    cases_compare(&what, &run, 0, 1, results);
  }
  kdl_sequence_destroy(at.sequence);
  (void)kdl_free(&at.x);
  (void)kdl_free(&at.y);
  return status;
}
