/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl_sequence_run: checks the bindings, applies them to a state, and runs it. */
#include "lib/sequence/capture_recorder.h"
#include "lib/sequence/sequence.h"
#include "support/base/error.h"

#include <inttypes.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Checks                                                                                       */

static kdl_status fail_wrong_size(size_t index, const kdl_recorded_slot *slot, uint64_t found) {
  return kdl_fail(KDL_BAD_CALL,
                  "kdl_sequence_run: " KDL_SLOT_FORMAT ": found %" PRIu64
                  " bytes, expected %s%" PRIu64,
                  KDL_SLOT_WORDS(index + 1, slot), found,
                  slot->kind == KDL_SLOT_SCALAR ? "" : "at least ", slot->bytes);
}

static kdl_status fail_wrong_device(const kdl_plan *plan, size_t index, const kdl_buffer *buffer) {
  const kdl_recorded_slot *slot = plan->slots[index].recorded;
  return kdl_fail(KDL_BAD_CALL,
                  "kdl_sequence_run: " KDL_SLOT_FORMAT ": found a buffer of %s, expected one of %s",
                  KDL_SLOT_WORDS(index + 1, slot),
                  buffer->device ? buffer->device->spec_lines[0] : "no device",
                  plan->recording->runtime->label);
}

/* A buffer of size 0 is a null pointer and belongs to no device. */
kdl_status kdl_sequence_check_binding(const kdl_plan *plan, size_t index,
                                      const kdl_binding *binding) {
  const kdl_recorded_slot *slot = plan->slots[index].recorded;
  switch (slot->kind) {
  case KDL_SLOT_BUFFER:
    if (binding->to.buffer.address && binding->to.buffer.device != plan->recording->device)
      return fail_wrong_device(plan, index, &binding->to.buffer);
    return binding->to.buffer.size >= slot->bytes
               ? KDL_OK
               : fail_wrong_size(index, slot, binding->to.buffer.size);
  case KDL_SLOT_SCALAR:
    if (binding->to.value.bytes != slot->bytes)
      return fail_wrong_size(index, slot, binding->to.value.bytes);
    break;
  case KDL_SLOT_HOST:
    if (binding->to.host.bytes < slot->bytes)
      return fail_wrong_size(index, slot, binding->to.host.bytes);
    break;
  default:
    return KDL_OK;
  }
  if (slot->bytes && !binding->to.value.data)
    return kdl_fail(KDL_BAD_CALL, "kdl_sequence_run: " KDL_SLOT_FORMAT ": found NULL, expected %s",
                    KDL_SLOT_WORDS(index + 1, slot),
                    slot->kind == KDL_SLOT_HOST ? "memory" : "a value");
  return KDL_OK;
}

/* Sorts the bindings by slot; each slot must occur once. */
static kdl_status sort_bindings(const kdl_plan *plan, const kdl_binding *bindings, size_t count,
                                kdl_binding *out_sorted) {
  for (size_t i = 0; i < plan->slot_count; ++i)
    out_sorted[i].slot = 0;
  for (size_t i = 0; i < count; ++i) {
    kdl_slot slot = bindings[i].slot;
    if (slot == 0 || slot > plan->slot_count)
      return kdl_fail(KDL_BAD_CALL,
                      "kdl_sequence_run: binding %zu: found slot %u, expected one of 1 to %zu", i,
                      (unsigned)slot, plan->slot_count);
    if (out_sorted[slot - 1].slot)
      return kdl_fail(KDL_BAD_CALL, "kdl_sequence_run: " KDL_SLOT_FORMAT " is bound twice",
                      KDL_SLOT_WORDS(slot, plan->slots[slot - 1].recorded));
    out_sorted[slot - 1] = bindings[i];
  }
  for (size_t i = 0; i < plan->slot_count; ++i) {
    if (!out_sorted[i].slot)
      return kdl_fail(KDL_BAD_CALL, "kdl_sequence_run: " KDL_SLOT_FORMAT " is not bound",
                      KDL_SLOT_WORDS(i + 1, plan->slots[i].recorded));
  }
  return KDL_OK;
}

static bool is_sorted(const kdl_plan *plan, const kdl_binding *bindings, size_t count) {
  bool sorted = count == plan->slot_count;
  for (size_t i = 0; i < count && sorted; ++i)
    sorted = bindings[i].slot == i + 1;
  return sorted;
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

static void destroy_instance(kdl_sequence *sequence, kdl_state *state) {
  const kdl_runtime *runtime = sequence->recording.runtime;
  runtime->table->sequence_destroy(runtime->handle, state->instance);
  state->instance = NULL;
}

/* Runs the backend's sequence if it can be used, else single launches. */
static kdl_status run_state(kdl_sequence *sequence, kdl_state *state, void *queue) {
  const kdl_runtime *runtime = sequence->recording.runtime;
  if (!state->instance && atomic_load_explicit(&sequence->has_instances, memory_order_relaxed)) {
    kdl_status status = kdl_sequence_instantiate(sequence, state);
    if (status != KDL_OK)
      return status;
    state->changed_count = 0;
  }
  if (!state->instance)
    return kdl_state_replay(&sequence->plan, state, queue);
  kdl_status status = runtime->table->sequence_run(runtime->handle, state->instance, queue,
                                                   state->changed, state->changed_count);
  if (status == KDL_OK) {
    state->is_instance_current = true;
    return KDL_OK;
  }
  state->is_instance_current = false;
  if (status == KDL_UNSUPPORTED)
    return kdl_state_replay(&sequence->plan, state, queue);
  destroy_instance(sequence, state);
  return status;
}

/* The same in a trace. Single launches are traced one by one. */
static kdl_status run_traced(kdl_sequence *sequence, kdl_state *state, void *queue) {
  const uint32_t grid[3] = {(uint32_t)sequence->recording.launch_count, 1, 1}, block[3] = {1, 1, 1};
  bool is_timed = atomic_load_explicit(&sequence->has_instances, memory_order_relaxed);
  kdl_trace_mark mark;
  kdl_tracing->begin(is_timed ? sequence->recording.runtime->handle : NULL, queue, &mark);
  kdl_status status = run_state(sequence, state, queue);
  kdl_tracing->end_launch(sequence->trace_subject, &mark, grid, block, queue, status);
  return status;
}

static kdl_status bind_sorted(const kdl_plan *plan, kdl_state *state, const kdl_binding *bindings) {
  for (size_t i = 0; i < plan->slot_count; ++i) {
    kdl_status status = kdl_sequence_check_binding(plan, i, &bindings[i]);
    if (status != KDL_OK)
      return status;
  }
  kdl_status status = kdl_state_bind(plan, state, bindings);
  if (status != KDL_OK)
    kdl_error_prefix("kdl_sequence_run");
  return status;
}

static kdl_status bind_unsorted(const kdl_plan *plan, kdl_state *state, const kdl_binding *bindings,
                                size_t count) {
  enum { few = 32 };
  kdl_binding room[few], *sorted = room;
  if (plan->slot_count > few)
    sorted = malloc(plan->slot_count * sizeof *sorted);
  if (!sorted)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the bindings of a sequence");
  kdl_status status = sort_bindings(plan, bindings, count, sorted);
  if (status == KDL_OK)
    status = bind_sorted(plan, state, sorted);
  if (sorted != room)
    free(sorted);
  return status;
}

/* Unchanged bindings were checked by the last run. */
static kdl_status bind_slots(const kdl_plan *plan, kdl_state *state, const kdl_binding *bindings,
                             size_t count) {
  if (kdl_state_is_bound(plan, state, bindings, count)) {
    state->changed_count = 0;
    return KDL_OK;
  }
  return is_sorted(plan, bindings, count) ? bind_sorted(plan, state, bindings)
                                          : bind_unsorted(plan, state, bindings, count);
}

kdl_status kdl_sequence_run(kdl_sequence *sequence, kdl_queue *queue, const kdl_binding *bindings,
                            size_t binding_count) {
  kdl_status status = KDL_GIVEN(sequence);
  if (status == KDL_OK && binding_count)
    status = KDL_GIVEN(bindings);
  if (status != KDL_OK)
    return status;
  const kdl_runtime *runtime = sequence->recording.runtime;
  if (!sequence->is_finished)
    return kdl_fail(KDL_BAD_CALL, "kdl_sequence_run: found a sequence that is not finished: call "
                                  "kdl_sequence_finish first");
  if (queue && queue->runtime != runtime)
    return kdl_fail(KDL_BAD_CALL, "kdl_sequence_run: found a queue of %s, expected one of %s",
                    queue->runtime->label, runtime->label);
  status = kdl_runtime_usable(runtime);
  if (status != KDL_OK)
    return status;
  void *where = queue ? queue->head.queue : runtime->queue.head.queue;
  kdl_capture *capture = kdl_capture_lookup(runtime, where);
  if (capture)
    return kdl_capture_run(capture, sequence, bindings, binding_count);
  kdl_state *state;
  status = kdl_sequence_acquire_state(sequence, where, &state);
  if (status != KDL_OK)
    return status;
  status = bind_slots(&sequence->plan, state, bindings, binding_count);
  if (status == KDL_OK) {
    status = sequence->trace_subject ? run_traced(sequence, state, where)
                                     : run_state(sequence, state, where);
    if (status != KDL_OK)
      kdl_error_prefix("kdl_sequence_run");
  }
  kdl_sequence_release_state(sequence, state);
  return status;
}
