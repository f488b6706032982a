/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Creation, finishing and destruction of sequences, and the states of their runs. */
#include "lib/sequence/sequence.h"

#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/sized.h"
#include "support/system/environment.h"
#include "support/system/lock.h"

#include <stdio.h>
#include <stdlib.h>

kdl_status kdl_sequence_create(kdl_device *device, kdl_sequence **out_sequence) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(device, out_sequence));
  const kdl_runtime *runtime;
  kdl_sequence *sequence =
      kdl_runtime_create_object(device, "a sequence", sizeof *sequence, &runtime);
  if (!sequence)
    return kdl_error_status();
  sequence->recording.device = device;
  sequence->recording.runtime = runtime;
  sequence->recording.last = KDL_NO_NODE;
  pthread_mutex_init(&sequence->lock, NULL);
  *out_sequence = sequence;
  return KDL_OK;
}

static void destroy_instance(const kdl_sequence *sequence, kdl_state *state) {
  const kdl_runtime *runtime = sequence->recording.runtime;
  if (state->instance && kdl_runtime_usable(runtime) == KDL_OK)
    runtime->table->sequence_destroy(runtime->handle, state->instance);
  state->instance = NULL;
}

static void destroy_state(const kdl_sequence *sequence, kdl_state *state) {
  if (!state)
    return;
  destroy_instance(sequence, state);
  kdl_state_free(state);
}

void kdl_sequence_destroy(kdl_sequence *sequence) {
  KDL_NOT_CANCELLED;
  if (!sequence)
    return;
  destroy_state(sequence, atomic_load(&sequence->cached_state));
  while (sequence->idle) {
    kdl_state *state = sequence->idle;
    sequence->idle = state->next;
    destroy_state(sequence, state);
  }
  kdl_plan_free(&sequence->plan);
  const kdl_runtime *runtime = sequence->recording.runtime;
  kdl_recording_free(&sequence->recording);
  kdl_runtime_release(runtime);
  pthread_mutex_destroy(&sequence->lock);
  free(sequence);
}

kdl_status kdl_sequence_recording(kdl_sequence *sequence, const char *call,
                                  kdl_recording **out_recording) {
  if (!sequence)
    return kdl_fail_null(call, "sequence");
  if (sequence->is_finished)
    return kdl_fail(KDL_BAD_CALL, "%s: found a sequence that is finished", call);
  *out_recording = &sequence->recording;
  return kdl_runtime_usable(sequence->recording.runtime);
}

kdl_status kdl_sequence_get(const kdl_sequence *sequence, kdl_sequence_info *out_info) {
  KDL_TRY(KDL_GIVEN(sequence, out_info));
  const kdl_sized what = {"kdl_sequence_get", "info", sizeof *out_info, sizeof *out_info};
  KDL_TRY(kdl_sized_check(what, out_info));
  kdl_sequence_info info = {.size = sizeof info,
                            .slot_count = sequence->recording.slot_count,
                            .node_count = sequence->recording.node_count,
                            .launch_count = sequence->recording.launch_count,
                            .replay = atomic_load(&sequence->replay)};
  kdl_sized_write(what, &info, out_info);
  return KDL_OK;
}

kdl_status kdl_sequence_device(const kdl_sequence *sequence, kdl_device **out_device) {
  KDL_TRY(KDL_GIVEN(sequence, out_device));
  *out_device = sequence->recording.device;
  return KDL_OK;
}

kdl_status kdl_sequence_slot_get(const kdl_sequence *sequence, kdl_slot slot,
                                 kdl_slot_desc *out_desc) {
  KDL_TRY(KDL_GIVEN(sequence, out_desc));
  const kdl_sized what = {"kdl_sequence_slot_get", "desc", sizeof *out_desc, sizeof *out_desc};
  KDL_TRY(kdl_sized_check(what, out_desc));
  const kdl_recorded_slot *found = kdl_recording_slot(&sequence->recording, slot);
  if (!found) {
    kdl_error_prefix("kdl_sequence_slot_get");
    return KDL_BAD_CALL;
  }
  kdl_slot_desc desc = {sizeof desc, found->name, found->kind, 0, found->bytes};
  kdl_sized_write(what, &desc, out_desc);
  return KDL_OK;
}

kdl_status kdl_sequence_slot_find(const kdl_sequence *sequence, const char *name,
                                  kdl_slot *out_slot) {
  KDL_TRY(KDL_GIVEN(sequence, name, out_slot));
  for (size_t i = 0; *name && i < sequence->recording.slot_count; ++i) {
    if (strcmp(sequence->recording.slots[i].name, name) == 0) {
      *out_slot = (kdl_slot)(i + 1);
      return KDL_OK;
    }
  }
  return kdl_fail(KDL_NO_MATCH, "kdl_sequence_slot_find: found no slot \"%.256s\" among %zu", name,
                  sequence->recording.slot_count);
}

/* The type of a parameter in the kernel's signature; empty where there is none. */
static kdl_string param_type(const kdl_kernel *kernel, size_t index) {
  kdl_param param = {.text = {"", 0}};
  size_t at = 0;
  if (!kdl_kernel_has(&kernel->key, KDL_KERNEL_SIG))
    return param.text;
  for (size_t i = 0; kdl_signature_next(kernel->key.sig, &at, &param, NULL); ++i)
    if (i == index)
      return param.text;
  return (kdl_string){"", 0};
}

/* `*at` counts the arguments of all nodes, KDL_LIMIT_ARGS for each. */
kdl_status kdl_sequence_slot_type(const kdl_sequence *sequence, kdl_slot slot, uint64_t *at,
                                  kdl_string *out_type) {
  KDL_TRY(KDL_GIVEN(sequence, at, out_type));
  const kdl_recording *recording = &sequence->recording;
  if (!kdl_recording_slot(recording, slot)) {
    kdl_error_prefix("kdl_sequence_slot_type");
    return KDL_BAD_CALL;
  }
  *out_type = (kdl_string){"", 0};
  for (; *at / KDL_LIMIT_ARGS < recording->node_count && !out_type->length; ++*at) {
    const kdl_recorded_node *node = &recording->nodes[*at / KDL_LIMIT_ARGS];
    size_t index = *at % KDL_LIMIT_ARGS;
    if (node->kind != KDL_NODE_LAUNCH || index >= node->of.launch.arg_count)
      *at |= KDL_LIMIT_ARGS - 1; /* skip to the next node */
    else if (node->of.launch.args[index].kind == KDL_OPERAND_SLOT &&
             node->of.launch.args[index].slot == slot)
      *out_type = param_type(node->of.launch.kernel, index);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Finishing                                                                                    */

/* All further runs use single launches. */
static void fall_back_to_launches(kdl_sequence *sequence, const char *reason) {
  atomic_store(&sequence->has_instances, false);
  atomic_store(&sequence->replay, "launches");
  kdl_debug(KDL_DEBUG_LAUNCH, "%s: a sequence of %zu nodes is replayed by launches: %s",
            sequence->recording.runtime->label, sequence->plan.node_count, reason);
}

kdl_status kdl_sequence_instantiate(kdl_sequence *sequence, kdl_state *state) {
  const kdl_runtime *runtime = sequence->recording.runtime;
  kdl_backend_sequence made = {
      .size = sizeof made, .nodes = state->node_list, .node_count = sequence->plan.node_count};
  kdl_status status = runtime->table->sequence_create(runtime->handle, &made, &state->instance);
  if (status == KDL_UNSUPPORTED && !(made.flags & KDL_SEQUENCE_REFUSED)) {
    state->instance = NULL;
    fall_back_to_launches(sequence, kdl_error_message());
    return KDL_OK;
  }
  if (status != KDL_OK) {
    state->instance = NULL;
    return status;
  }
  state->tracks_arguments = !(made.flags & KDL_SEQUENCE_READS_ARGUMENTS);
  state->is_instance_current = true;
  atomic_store(&sequence->replay, made.replay ? made.replay : "sequence");
  return KDL_OK;
}

/* "sequence of 12 launches: saxpy, scale": each kernel once, truncated. */
static void make_trace_name(const kdl_recording *recording, char *name, size_t size) {
  enum { max_names = 8 };
  const char *seen[max_names];
  size_t count = 0;
  size_t used = (size_t)snprintf(name, size, "sequence of %zu launches", recording->launch_count);
  for (size_t i = 0; i < recording->node_count && count < max_names; ++i) {
    if (recording->nodes[i].kind != KDL_NODE_LAUNCH)
      continue;
    const char *kernel = recording->nodes[i].of.launch.kernel->name;
    size_t known = 0;
    while (known < count && strcmp(seen[known], kernel) != 0)
      ++known;
    if (known < count || used + strlen(kernel) + 3 > size)
      continue;
    used += (size_t)snprintf(name + used, size - used, "%s%s", count ? ", " : ": ", kernel);
    seen[count++] = kernel;
  }
}

/* A run is one launch in a trace. On the host, its kernels appear below it as single launches; a
 * driver's graph shows none. */
static bool begin_tracing(kdl_sequence *sequence) {
  const kdl_runtime *runtime = sequence->recording.runtime;
  char name[256];
  make_trace_name(&sequence->recording, name, sizeof name);
  sequence->trace_subject =
      kdl_tracing->subject_of(&(kdl_trace_phase_info){.kernel = name, .device = runtime->name});
  return runtime->device->routes[runtime->route]->spec.backend != KDL_BACKEND_HOST;
}

/* A driver's graph whose nodes were changed after its creation runs slower: by 15% on an H200 with
 * CUDA 13. So it is created in the first run, when slots have values. */
static bool is_instantiated_early(const kdl_sequence *sequence) {
  const kdl_backend_table *table = sequence->recording.runtime->table;
  return sequence->plan.use_count == 0 || !(table->flags & KDL_BACKEND_BINDS_SEQUENCES);
}

static kdl_status finish_sequence(kdl_sequence *sequence) {
  const kdl_runtime *runtime = sequence->recording.runtime;
  KDL_TRY(kdl_plan_create(&sequence->recording, &sequence->plan));
  kdl_state *state = NULL;
  kdl_status status = kdl_state_create(&sequence->plan, &state);
  bool has_instances = runtime->table->sequence_create && sequence->plan.node_count;
  if (kdl_tracing)
    has_instances &= begin_tracing(sequence);
  atomic_store(&sequence->has_instances, has_instances);
  if (status == KDL_OK && !has_instances)
    fall_back_to_launches(sequence, !runtime->table->sequence_create
                                        ? "the backend has no sequences"
                                    : kdl_tracing ? "it is traced"
                                                  : "it is empty");
  else if (status == KDL_OK && is_instantiated_early(sequence))
    status = kdl_sequence_instantiate(sequence, state);
  if (status != KDL_OK) {
    destroy_state(sequence, state);
    kdl_plan_free(&sequence->plan);
    sequence->plan = (kdl_plan){0};
    return status;
  }
  atomic_store(&sequence->cached_state, state);
  sequence->state_count = 1;
  return KDL_OK;
}

kdl_status kdl_sequence_finish(kdl_sequence *sequence) {
  KDL_NOT_CANCELLED;
  kdl_recording *recording;
  KDL_TRY(kdl_sequence_recording(sequence, __func__, &recording));
  if (recording->fork_count)
    return kdl_fail(KDL_BAD_CALL, "%s: found %zu forks that are not joined", __func__,
                    recording->fork_count);
  if (recording->loop_count)
    return kdl_fail(KDL_BAD_CALL, "%s: found %zu loops that are not ended", __func__,
                    recording->loop_count);
  kdl_status status = finish_sequence(sequence);
  if (status == KDL_OK)
    sequence->is_finished = true;
  else
    kdl_error_prefix("%s", __func__);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* States                                                                                       */

/* The number of states kept for queues that alternate. More threads at once have more states. */
enum { max_cached_states = 8 };

/* The state that last ran on the queue, else any unless `exact`. Called with the lock held. */
static kdl_state *pop_idle_state(kdl_sequence *sequence, const void *queue, bool exact) {
  kdl_state **found = &sequence->idle;
  for (kdl_state **at = found; *at; at = &(*at)->next) {
    if ((*at)->queue == queue || !(*at)->queue) {
      kdl_state *state = *at;
      *at = state->next;
      return state;
    }
  }
  kdl_state *state = exact ? NULL : *found;
  if (state)
    *found = state->next;
  return state;
}

static void push_idle_state(kdl_sequence *sequence, kdl_state *state) {
  state->next = sequence->idle;
  sequence->idle = state;
}

/* `idle` is an idle state of another queue, or NULL. */
static kdl_status acquire_other_state(kdl_sequence *sequence, kdl_state *idle, const void *queue,
                                      kdl_state **out_state) {
  kdl_lock(&sequence->lock);
  if (idle)
    push_idle_state(sequence, idle);
  kdl_state *state = pop_idle_state(sequence, queue, sequence->state_count < max_cached_states);
  if (!state)
    ++sequence->state_count;
  kdl_unlock(&sequence->lock);
  kdl_status status = state ? KDL_OK : kdl_state_create(&sequence->plan, &state);
  if (status != KDL_OK) {
    kdl_lock(&sequence->lock);
    --sequence->state_count;
    kdl_unlock(&sequence->lock);
    return status;
  }
  *out_state = state;
  return KDL_OK;
}

kdl_status kdl_sequence_acquire_state(kdl_sequence *sequence, void *queue, kdl_state **out_state) {
  kdl_state *state = atomic_exchange_explicit(&sequence->cached_state, NULL, memory_order_acquire);
  if (!state || (state->queue != queue && state->queue)) {
    kdl_status status = acquire_other_state(sequence, state, queue, &state);
    if (status != KDL_OK)
      return status;
  }
  state->queue = queue;
  *out_state = state;
  return KDL_OK;
}

void kdl_sequence_release_state(kdl_sequence *sequence, kdl_state *state) {
  kdl_state *none = NULL;
  if (atomic_compare_exchange_strong_explicit(&sequence->cached_state, &none, state,
                                              memory_order_release, memory_order_relaxed))
    return;
  kdl_lock(&sequence->lock);
  push_idle_state(sequence, state);
  kdl_unlock(&sequence->lock);
}
