/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sequence.h"

#include "measure/must.h"
#include "measure/progress.h"
#include "support/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Cases                                                                                        */

static void replay_and_wait(sequence_subject *at, size_t which, const kdl_binding *bindings) {
  bench_require(kdl_sequence_run(at->sequences[which], at->queue, bindings, at->count),
                "kdl_sequence_run");
  bench_require(kdl_sync(at->queue), "kdl_sync");
}

void sequence_replay(void *subject) {
  sequence_subject *at = subject;
  replay_and_wait(at, 0, at->bindings[0]);
}

void sequence_replay_one(void *subject) {
  sequence_subject *at = subject;
  replay_and_wait(at, 1, at->bindings[++at->turns[1] % 2]);
}

void sequence_replay_every(void *subject) {
  sequence_subject *at = subject;
  replay_and_wait(at, 2, at->bindings[++at->turns[2] % 2 ? 2 : 0]);
}

void sequence_launch(void *subject) {
  const sequence_subject *at = subject;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  for (size_t i = 0; i < at->count; ++i)
    bench_require(kdl_launch(at->kernel, at->queue, &desc, KDL_ARGS(&at->buffers[0])),
                  "kdl_launch");
  bench_require(kdl_sync(at->queue), "kdl_sync");
}

kdl_sequence *sequence_record(const sequence_subject *at) {
  kdl_sequence *sequence;
  const kdl_launch_desc desc = kdl_grid(1, 1, 1);
  bench_require(kdl_sequence_create(at->device, &sequence), "kdl_sequence_create");
  for (size_t i = 0; i < at->count; ++i) {
    kdl_slot slot;
    bench_require(kdl_sequence_add_buffer(sequence, NULL, 0, &slot), "kdl_sequence_add_slot");
    const kdl_operand arg = kdl_operand_slot(slot);
    bench_require(kdl_sequence_launch(sequence, at->kernel, &desc, &arg, 1), "kdl_sequence_launch");
  }
  bench_require(kdl_sequence_finish(sequence), "kdl_sequence_finish");
  return sequence;
}

/* A driver's graph is made by the first run. */
void sequence_make(void *subject) {
  const sequence_subject *at = subject;
  kdl_sequence *sequence = sequence_record(at);
  bench_require(kdl_sequence_run(sequence, at->queue, at->bindings[0], at->count),
                "kdl_sequence_run");
  bench_require(kdl_sync(at->queue), "kdl_sync");
  kdl_sequence_destroy(sequence);
}

/* ------------------------------------------------------------------------------------------ */
/* Subjects                                                                                     */

static bool make_bindings(sequence_subject *at) {
  for (size_t i = 0; i < 3; ++i) {
    at->bindings[i] = calloc(at->count, sizeof **at->bindings);
    if (!at->bindings[i])
      return false;
    for (size_t k = 0; k < at->count; ++k) {
      bool is_other = i == 2 || (i == 1 && k == 0);
      at->bindings[i][k] = kdl_bind_buffer((kdl_slot)(k + 1), at->buffers[is_other]);
    }
  }
  return true;
}

kdl_status sequence_begin(sequence_subject *at) {
  for (size_t i = 0; i < 3; ++i)
    at->sequences[i] = sequence_record(at);
  if (!make_bindings(at)) {
    sequence_end(at);
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  }
  sequence_replay(at);
  sequence_replay_one(at);
  sequence_replay_every(at);
  return KDL_OK;
}

void sequence_end(sequence_subject *at) {
  for (size_t i = 0; i < 3; ++i) {
    kdl_sequence_destroy(at->sequences[i]);
    free(at->bindings[i]);
    at->sequences[i] = NULL;
    at->bindings[i] = NULL;
  }
}

static kdl_status measure_count(sequence_subject *at, const char *device, size_t blocks,
                                sequence_measure *measure, bench_results *results) {
  char prefix[64];
  snprintf(prefix, sizeof prefix, "sequence/%s/%zu launches", device, at->count);
  return measure(at, prefix, blocks, results);
}

static kdl_status measure_device(const suite_built_in *built_in, const char *name, size_t blocks,
                                 sequence_measure *measure, bool is_second,
                                 bench_results *results) {
  static const size_t counts[] = {1, 10, 100, 1000};
  sequence_subject at = {.is_second = is_second};
  kdl_library *lib;
  if (kdl_device_find(name, &at.device) != KDL_OK) {
    bench_skip_add(results, name, kdl_error_message());
    return KDL_OK;
  }
  kdl_status status = kdl_open_memory(built_in->data, built_in->size, NULL, &lib);
  if (status != KDL_OK)
    return status;
  status = kdl_sym(lib, at.device, built_in->kernel, NULL, &at.kernel);
  if (status == KDL_OK)
    status = kdl_queue_create(at.device, NULL, &at.queue);
  for (size_t i = 0; i < 2 && status == KDL_OK; ++i)
    status = kdl_alloc(at.device, 256, &at.buffers[i]);
  for (size_t i = 0;
       i < sizeof counts / sizeof *counts && status == KDL_OK && !bench_was_interrupted(); ++i) {
    at.count = counts[i];
    status = measure_count(&at, name, blocks, measure, results);
  }
  if (status == KDL_OK && measure == sequence_measure_host && !bench_was_interrupted())
    status = sequence_measure_work(at.device, at.queue, lib, blocks, results);
  for (size_t i = 0; i < 2; ++i)
    (void)kdl_free(&at.buffers[i]);
  kdl_queue_destroy(at.queue);
  kdl_close(lib);
  return status;
}

kdl_status suite_sequence(const suite_built_in *built_in, size_t blocks, bench_results *results) {
  bool is_second = getpid() % 2; /* a round is a process */
  kdl_status status =
      measure_device(built_in, "host", blocks, sequence_measure_host, is_second, results);
  if (status == KDL_OK && !bench_was_interrupted())
    status = measure_device(built_in, "cuda", blocks, sequence_measure_cuda, is_second, results);
  return status;
}
