/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The recording functions. They check their arguments; what depends on a binding is checked when it
 * is bound. */
#include "lib/sequence/recording.h"

#include "lib/binding/variants.h"
#include "lib/launch/launch.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/sized.h"

#include <inttypes.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Slots                                                                                        */

static kdl_status check_slot_desc(const kdl_slot_desc *desc) {
  if (desc->kind < KDL_SLOT_BUFFER || desc->kind > KDL_SLOT_HOST)
    return kdl_fail(KDL_BAD_CALL, "kdl_sequence_add_slot: found %d, expected a kdl_slot_kind",
                    (int)desc->kind);
  if (desc->kind == KDL_SLOT_SCALAR && (desc->bytes == 0 || desc->bytes > KDL_LIMIT_SCALAR))
    return kdl_fail(KDL_BAD_CALL,
                    "kdl_sequence_add_slot: found a scalar of %" PRIu64 " bytes, expected 1 to %d",
                    desc->bytes, KDL_LIMIT_SCALAR);
  if (desc->kind == KDL_SLOT_ITEMS && desc->bytes)
    return kdl_fail(KDL_BAD_CALL,
                    "kdl_sequence_add_slot: found %" PRIu64 " bytes of items, expected 0",
                    desc->bytes);
  return KDL_OK;
}

kdl_status kdl_sequence_add_slot(kdl_sequence *sequence, const kdl_slot_desc *desc,
                                 kdl_slot *out_slot) {
  kdl_recording *recording;
  kdl_slot_desc full_desc;
  const kdl_sized what = {"kdl_sequence_add_slot", "desc", sizeof full_desc, sizeof full_desc};
  kdl_status status = KDL_GIVEN(sequence, desc, out_slot);
  if (status == KDL_OK)
    status = kdl_sized_read(what, desc, &full_desc);
  if (status == KDL_OK)
    status = check_slot_desc(&full_desc);
  if (status == KDL_OK)
    status = kdl_sequence_recording(sequence, __func__, &recording);
  if (status != KDL_OK)
    return status;
  kdl_recorded_slot slot = {full_desc.name ? full_desc.name : "", full_desc.kind, full_desc.bytes};
  status = kdl_recording_add_slot(recording, &slot);
  if (status == KDL_OK)
    *out_slot = (kdl_slot)recording->slot_count;
  else
    kdl_error_prefix("%s", __func__);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Operands                                                                                     */

static kdl_status check_slot_kind(const kdl_recording *recording, kdl_slot number,
                                  kdl_slot_kind expected, kdl_slot_kind other) {
  const kdl_recorded_slot *slot = kdl_recording_slot(recording, number);
  if (!slot)
    return KDL_BAD_CALL;
  if (slot->kind == expected || slot->kind == other)
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL, KDL_SLOT_FORMAT " is of kind %s, expected %s%s%s",
                  KDL_SLOT_WORDS(number, slot), kdl_slot_kind_name(slot->kind),
                  kdl_slot_kind_name(expected), other != expected ? " or " : "",
                  other != expected ? kdl_slot_kind_name(other) : "");
}

static kdl_status check_buffer(const kdl_recording *recording, const kdl_operand *operand,
                               uint64_t bytes) {
  const kdl_buffer *buffer = &operand->of.buffer;
  if (buffer->address && buffer->device != recording->device)
    return kdl_fail(KDL_BAD_CALL, "found a buffer of %s, expected one of %s",
                    buffer->device ? buffer->device->spec_lines[0] : "no device",
                    recording->runtime->label);
  if (operand->offset > buffer->size || bytes > buffer->size - operand->offset)
    return kdl_fail(KDL_BAD_CALL,
                    "found %" PRIu64 " bytes at offset %" PRIu64
                    ", expected them inside the buffer's %" PRIu64,
                    bytes, operand->offset, buffer->size);
  return KDL_OK;
}

/* Checks the memory of a copy or fill; *out_is_host: it is host memory. */
static kdl_status check_memory_operand(const kdl_recording *recording, const kdl_operand *operand,
                                       uint64_t bytes, bool *out_is_host) {
  *out_is_host = operand->kind == KDL_OPERAND_HOST;
  if (operand->kind == KDL_OPERAND_HOST)
    return operand->of.host ? KDL_OK : kdl_fail(KDL_BAD_CALL, "found NULL for memory of the host");
  if (operand->kind == KDL_OPERAND_BUFFER)
    return check_buffer(recording, operand, bytes);
  if (operand->kind != KDL_OPERAND_SLOT)
    return kdl_fail(KDL_BAD_CALL, "found an operand of kind %d, expected memory",
                    (int)operand->kind);
  KDL_TRY(check_slot_kind(recording, operand->slot, KDL_SLOT_BUFFER, KDL_SLOT_HOST));
  if (bytes > UINT64_MAX - operand->offset)
    return kdl_fail(KDL_BAD_CALL,
                    "found %" PRIu64 " bytes at offset %" PRIu64 ", which is too much", bytes,
                    operand->offset);
  *out_is_host = recording->slots[operand->slot - 1].kind == KDL_SLOT_HOST;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

static kdl_status check_size(const kdl_kernel *kernel, size_t index, uint64_t found) {
  uint32_t expected = kernel->param_count < 0 ? 0 : kernel->param_sizes[index];
  if (expected == 0 || expected == found)
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL, "found %" PRIu64 " bytes, expected %u", found, (unsigned)expected);
}

static kdl_status check_slot_argument(const kdl_recording *recording, const kdl_kernel *kernel,
                                      size_t index, const kdl_operand *operand) {
  KDL_TRY(check_slot_kind(recording, operand->slot, KDL_SLOT_BUFFER, KDL_SLOT_SCALAR));
  const kdl_recorded_slot *slot = &recording->slots[operand->slot - 1];
  if (slot->kind == KDL_SLOT_BUFFER)
    return operand->offset < UINT64_MAX ? check_size(kernel, index, sizeof(uint64_t))
                                        : kdl_fail(KDL_BAD_CALL, "found an offset beyond memory");
  if (operand->offset)
    return kdl_fail(KDL_BAD_CALL, "found an offset into a scalar, expected 0");
  return check_size(kernel, index, slot->bytes);
}

static kdl_status check_argument(const kdl_recording *recording, const kdl_kernel *kernel,
                                 size_t index, const kdl_operand *operand) {
  kdl_status status;
  switch (operand->kind) {
  case KDL_OPERAND_VALUE:
    if (!operand->of.value || operand->bytes == 0 || operand->bytes > KDL_LIMIT_SCALAR)
      return kdl_fail(KDL_BAD_CALL, "found a value of %" PRIu64 " bytes%s, expected 1 to %d",
                      operand->bytes, operand->of.value ? "" : " at NULL", KDL_LIMIT_SCALAR);
    return check_size(kernel, index, operand->bytes);
  case KDL_OPERAND_BUFFER:
    status = check_buffer(recording, operand, 0);
    return status == KDL_OK ? check_size(kernel, index, sizeof(uint64_t)) : status;
  case KDL_OPERAND_SLOT:
    return check_slot_argument(recording, kernel, index, operand);
  default:
    return kdl_fail(KDL_BAD_CALL, "found an operand of kind %d, expected a value, buffer or slot",
                    (int)operand->kind);
  }
}

static kdl_status check_launch(const kdl_recording *recording, kdl_kernel *kernel,
                               const kdl_operand *args, size_t count) {
  if (kernel->runtime != recording->runtime)
    return kdl_fail(KDL_BAD_CALL, "found a kernel of %s, expected one of %s",
                    kernel->runtime->label, recording->runtime->label);
  kdl_status status = kdl_kernel_bind(kernel);
  if (status != KDL_OK)
    return status;
  if (kernel->param_count >= 0 && count != (uint64_t)kernel->param_count)
    return kdl_fail(KDL_BAD_CALL, "found %zu arguments, expected %" PRId64, count,
                    kernel->param_count);
  if (count + kernel->key.hidden > KDL_LIMIT_ARGS)
    return kdl_fail(KDL_BAD_CALL, "found %zu arguments, expected at most %d", count,
                    KDL_LIMIT_ARGS);
  for (size_t i = 0; i < count; ++i) {
    status = check_argument(recording, kernel, i, &args[i]);
    if (status != KDL_OK) {
      kdl_error_prefix("argument %zu", i);
      return status;
    }
  }
  return KDL_OK;
}

static kdl_status check_items(const kdl_recording *recording, const kdl_kernel *kernel,
                              const kdl_operand *items) {
  kdl_launch_desc desc;
  if (items->kind == KDL_OPERAND_SLOT)
    return check_slot_kind(recording, items->slot, KDL_SLOT_ITEMS, KDL_SLOT_ITEMS);
  if (items->kind == KDL_OPERAND_ITEMS)
    return kdl_items_to_grid(kernel, &items->of.items, &desc);
  return kdl_fail(KDL_BAD_CALL, "found an operand of kind %d, expected items or a slot of them",
                  (int)items->kind);
}

/* Replaces a kernel of which images have conditions. Values that replays set are not known, so that
 * conditions on them do not hold. */
static kdl_status select_variant(const kdl_recording *recording, kdl_kernel **kernel,
                                 const kdl_operand *items, const kdl_operand *args, size_t count) {
  const void *values[KDL_LIMIT_ARGS];
  if ((*kernel)->runtime != recording->runtime || count > KDL_LIMIT_ARGS)
    return KDL_OK; /* check_launch fails */
  for (size_t i = 0; i < count; ++i)
    values[i] = args[i].kind == KDL_OPERAND_VALUE ? args[i].of.value : NULL;
  const kdl_args known = {count, values, NULL};
  bool are_items_known = items && items->kind == KDL_OPERAND_ITEMS;
  return kdl_kernel_for_launch(kernel, NULL, are_items_known ? &items->of.items : NULL, &known);
}

/* Records a launch of items or, if they are NULL, of the descriptor. */
static kdl_status record_kernel_launch(kdl_sequence *sequence, const char *call, kdl_kernel *kernel,
                                       const kdl_operand *items, const kdl_launch_desc *desc,
                                       const kdl_operand *args, size_t arg_count) {
  kdl_recording *recording;
  if (arg_count && !args)
    return kdl_fail_null(call, "args");
  KDL_TRY(kdl_sequence_recording(sequence, call, &recording));
  kdl_status status = select_variant(recording, &kernel, items, args, arg_count);
  kdl_recorded_node node = {
      .kind = KDL_NODE_LAUNCH,
      .of.launch = {.kernel = kernel,
                    .args = (kdl_operand *)(uintptr_t)args,
                    .arg_count = arg_count},
  };
  if (items)
    node.of.launch.items = *items;
  else
    node.of.launch.desc = *desc;
  node.of.launch.desc.flags &= ~(uint32_t)KDL_LAUNCH_EARLY;
  if (status == KDL_OK)
    status = check_launch(recording, kernel, args, arg_count);
  if (status == KDL_OK)
    status = items ? check_items(recording, kernel, items) : kdl_launch_check_grid(kernel, desc);
  if (status == KDL_OK)
    status = kdl_recording_add(recording, &node);
  if (status != KDL_OK)
    kdl_error_prefix("%s: %s", call, kernel->name);
  return status;
}

kdl_status kdl_sequence_launch_items(kdl_sequence *sequence, kdl_kernel *kernel, kdl_operand items,
                                     const kdl_operand *args, size_t arg_count) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(sequence, kernel);
  return status == KDL_OK
             ? record_kernel_launch(sequence, __func__, kernel, &items, NULL, args, arg_count)
             : status;
}

kdl_status kdl_sequence_launch(kdl_sequence *sequence, kdl_kernel *kernel,
                               const kdl_launch_desc *desc, const kdl_operand *args,
                               size_t arg_count) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(sequence, kernel, desc);
  return status == KDL_OK
             ? record_kernel_launch(sequence, __func__, kernel, NULL, desc, args, arg_count)
             : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

static kdl_status record_copy(kdl_recording *recording, const kdl_operand *to,
                              const kdl_operand *from, uint64_t size) {
  bool to_host, from_host;
  kdl_status status = check_memory_operand(recording, from, size, &from_host);
  if (status != KDL_OK) {
    kdl_error_prefix("from");
    return status;
  }
  status = check_memory_operand(recording, to, size, &to_host);
  if (status != KDL_OK) {
    kdl_error_prefix("to");
    return status;
  }
  if (to_host && from_host)
    return kdl_fail(KDL_BAD_CALL, "found memory of the host on both sides, expected a buffer");
  kdl_recorded_node node = {
      .kind = to_host     ? KDL_NODE_READ
              : from_host ? KDL_NODE_WRITE
                          : KDL_NODE_COPY,
      .of.copy = {.to = *to, .from = *from, .bytes = size},
  };
  return size ? kdl_recording_add(recording, &node) : KDL_OK;
}

kdl_status kdl_sequence_copy(kdl_sequence *sequence, kdl_operand to, kdl_operand from,
                             uint64_t size) {
  kdl_recording *recording;
  KDL_TRY(kdl_sequence_recording(sequence, __func__, &recording));
  kdl_status status = record_copy(recording, &to, &from, size);
  if (status != KDL_OK)
    kdl_error_prefix("%s", __func__);
  return status;
}

static kdl_status record_fill(kdl_recording *recording, const kdl_operand *to, uint64_t size,
                              const void *pattern, size_t pattern_size) {
  bool is_host;
  kdl_recorded_node node = {.kind = KDL_NODE_FILL, .of.copy = {.to = *to, .bytes = size}};
  bool is_power = pattern_size && pattern_size <= 16 && !(pattern_size & (pattern_size - 1));
  if (!is_power || to->offset % pattern_size || size % pattern_size)
    return kdl_fail(KDL_BAD_CALL,
                    "found a pattern of %zu bytes for %" PRIu64 " bytes at offset %" PRIu64
                    ", expected 1, 2, 4, 8 or 16 that divide both",
                    pattern_size, size, to->offset);
  kdl_status status = check_memory_operand(recording, to, size, &is_host);
  if (status == KDL_OK && is_host)
    status = kdl_fail(KDL_BAD_CALL, "found memory of the host, expected a buffer");
  if (status != KDL_OK || size == 0)
    return status;
  memcpy(node.of.copy.pattern, pattern, pattern_size);
  node.of.copy.pattern_size = pattern_size;
  return kdl_recording_add(recording, &node);
}

kdl_status kdl_sequence_fill(kdl_sequence *sequence, kdl_operand to, uint64_t size,
                             const void *pattern, size_t pattern_size) {
  kdl_recording *recording;
  kdl_status status = KDL_GIVEN(sequence);
  if (status == KDL_OK && size)
    status = KDL_GIVEN(pattern);
  if (status == KDL_OK)
    status = kdl_sequence_recording(sequence, __func__, &recording);
  if (status != KDL_OK)
    return status;
  status = record_fill(recording, &to, size, pattern, pattern_size);
  if (status != KDL_OK)
    kdl_error_prefix("%s", __func__);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Events and marks                                                                             */

static kdl_status record_event(kdl_sequence *sequence, const char *call, kdl_event *event,
                               kdl_node_kind kind) {
  kdl_recording *recording;
  KDL_TRY(kdl_sequence_recording(sequence, call, &recording));
  if (kdl_event_runtime(event) != recording->runtime)
    return kdl_fail(KDL_BAD_CALL, "%s: found an event of %s, expected one of %s", call,
                    kdl_event_runtime(event)->label, recording->runtime->label);
  kdl_recorded_node node = {.kind = kind, .of.event = event};
  return kdl_recording_add(recording, &node);
}

kdl_status kdl_sequence_event_record(kdl_sequence *sequence, kdl_event *event) {
  kdl_status status = KDL_GIVEN(sequence, event);
  return status == KDL_OK ? record_event(sequence, __func__, event, KDL_NODE_RECORD) : status;
}

kdl_status kdl_sequence_event_wait(kdl_sequence *sequence, kdl_event *event) {
  kdl_status status = KDL_GIVEN(sequence, event);
  return status == KDL_OK ? record_event(sequence, __func__, event, KDL_NODE_WAIT) : status;
}

static kdl_status record_mark(kdl_sequence *sequence, const char *call,
                              kdl_status (*make)(kdl_recording *recording)) {
  kdl_recording *recording;
  KDL_TRY(kdl_sequence_recording(sequence, call, &recording));
  kdl_status status = make(recording);
  if (status != KDL_OK)
    kdl_error_prefix("%s", call);
  return status;
}

kdl_status kdl_sequence_fork(kdl_sequence *sequence) {
  return record_mark(sequence, __func__, kdl_recording_fork);
}

kdl_status kdl_sequence_branch(kdl_sequence *sequence) {
  return record_mark(sequence, __func__, kdl_recording_branch);
}

kdl_status kdl_sequence_join(kdl_sequence *sequence) {
  return record_mark(sequence, __func__, kdl_recording_join);
}

/* ------------------------------------------------------------------------------------------ */
/* Loops                                                                                        */

static kdl_status record_while(kdl_recording *recording, const kdl_operand *condition) {
  bool is_host;
  kdl_status status = check_memory_operand(recording, condition, sizeof(uint32_t), &is_host);
  if (status == KDL_OK && is_host)
    status = kdl_fail(KDL_BAD_CALL, "found memory of the host, expected a buffer");
  if (status == KDL_OK && condition->offset % sizeof(uint32_t))
    status =
        kdl_fail(KDL_BAD_CALL, "found a condition at offset %" PRIu64 ", expected a multiple of 4",
                 condition->offset);
  return status == KDL_OK ? kdl_recording_while(recording, condition) : status;
}

kdl_status kdl_sequence_while(kdl_sequence *sequence, kdl_operand condition) {
  kdl_recording *recording;
  KDL_TRY(kdl_sequence_recording(sequence, __func__, &recording));
  kdl_status status = record_while(recording, &condition);
  if (status != KDL_OK)
    kdl_error_prefix("%s", __func__);
  return status;
}

kdl_status kdl_sequence_end_while(kdl_sequence *sequence) {
  return record_mark(sequence, __func__, kdl_recording_end_while);
}
