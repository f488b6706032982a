/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/sequence/capture_recorder.h"

#include "lib/sequence/sequence.h"
#include "support/base/array.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/system/lock.h"

#include <stdlib.h>

/* A buffer that is a slot. */
typedef struct {
  kdl_buffer buffer;
  kdl_slot slot;
} slot_memory;

typedef struct {
  kdl_capture head;
  pthread_mutex_t lock; /* held while a call is recorded */
  kdl_sequence *sequence;
  bool has_addresses; /* memory has addresses; else it is a handle */
  slot_memory *slots;
  size_t slot_count, slot_capacity;
} recorder;

static recorder *recorder_of(kdl_capture *capture) {
  return (recorder *)capture;
}

static void destroy_recorder(recorder *capture) {
  kdl_capture_remove(&capture->head);
  pthread_mutex_destroy(&capture->lock);
  free(capture->slots);
  free(capture);
}

static void discard_recorder(kdl_capture *capture) {
  kdl_sequence_destroy(recorder_of(capture)->sequence);
  destroy_recorder(recorder_of(capture));
}

/* ------------------------------------------------------------------------------------------ */
/* Slots                                                                                        */

/* If two slots overlapped, the first would get the shared memory. */
static kdl_status check_no_overlap(const recorder *capture, const kdl_buffer *buffer,
                                   const char *name) {
  for (size_t i = 0; i < capture->slot_count; ++i) {
    const kdl_buffer *other = &capture->slots[i].buffer;
    bool is_behind = buffer->address >= other->address;
    uint64_t between =
        is_behind ? buffer->address - other->address : other->address - buffer->address;
    if (!buffer->size || !other->size ||
        between >= (!capture->has_addresses ? 1
                    : is_behind             ? other->size
                                            : buffer->size))
      continue;
    const kdl_recorded_slot *slot =
        kdl_recording_slot(&capture->sequence->recording, capture->slots[i].slot);
    return kdl_fail(
        KDL_BAD_CALL,
        "kdl_capture_add_slot: slot \"%.256s\": its memory is also that of " KDL_SLOT_FORMAT
        ", expected memory that is no slot's yet",
        name ? name : "", KDL_SLOT_WORDS(capture->slots[i].slot, slot));
  }
  return KDL_OK;
}

kdl_status kdl_capture_add_slot(kdl_queue *queue, const kdl_buffer *buffer, const char *name,
                                kdl_slot *out_slot) {
  kdl_status status = KDL_GIVEN(queue, buffer, out_slot);
  if (status != KDL_OK)
    return status;
  recorder *capture = recorder_of(kdl_queue_capture(queue));
  if (!capture)
    return kdl_fail(KDL_BAD_CALL, "kdl_capture_add_slot: found a queue that is not being captured");
  if (!buffer->address || buffer->device != queue->runtime->device)
    return kdl_fail(KDL_BAD_CALL, "kdl_capture_add_slot: found a buffer of %s, expected one of %s",
                    buffer->device ? buffer->device->spec_lines[0] : "no device",
                    queue->runtime->label);
  kdl_lock(&capture->lock);
  slot_memory *slots = kdl_array_grow(capture->slots, capture->slot_count, &capture->slot_capacity,
                                      8, sizeof *slots);
  if (slots) {
    capture->slots = slots;
    status = check_no_overlap(capture, buffer, name);
    if (status == KDL_OK)
      status = kdl_sequence_add_buffer(capture->sequence, name, buffer->size, out_slot);
    if (status == KDL_OK)
      slots[capture->slot_count++] = (slot_memory){*buffer, *out_slot};
  } else {
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for a slot");
  }
  kdl_unlock(&capture->lock);
  return status;
}

/* The slot that contains the address, with the offset; false where none does. */
static bool find_slot_operand(const recorder *capture, uint64_t address, kdl_operand *out_operand) {
  for (size_t i = 0; i < capture->slot_count; ++i) {
    const kdl_buffer *buffer = &capture->slots[i].buffer;
    uint64_t size = capture->has_addresses ? buffer->size : 1;
    if (address < buffer->address || address - buffer->address >= size)
      continue;
    *out_operand = kdl_operand_slot_offset(capture->slots[i].slot, address - buffer->address);
    return true;
  }
  return false;
}

static kdl_operand buffer_operand(const recorder *capture, const kdl_buffer *buffer,
                                  uint64_t offset) {
  kdl_operand operand;
  if (!find_slot_operand(capture, buffer->address, &operand))
    return kdl_operand_buffer_offset(*buffer, offset);
  operand.offset += offset;
  return operand;
}

/* ------------------------------------------------------------------------------------------ */
/* Recording                                                                                    */

/* Converts the arguments of a launch to operands, with the image's parameter sizes. */
static kdl_status read_arguments(const recorder *capture, const kdl_kernel *kernel,
                                 const kdl_args *args, kdl_operand out_operands[KDL_LIMIT_ARGS]) {
  if (kernel->param_count < 0)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: image %u does not tell what it takes, so that a launch of it cannot be "
                    "captured",
                    kernel->name, (unsigned)kdl_kernel_image(kernel));
  KDL_TRY(kdl_kernel_args_check(kernel, args));
  if (args->count > KDL_LIMIT_ARGS)
    return kdl_fail(KDL_BAD_CALL, "%s: found %zu arguments, expected at most %d", kernel->name,
                    args->count, KDL_LIMIT_ARGS);
  for (size_t i = 0; i < args->count; ++i) {
    uint32_t size = kernel->param_sizes[i];
    uint64_t address = 0;
    if (size == sizeof address)
      memcpy(&address, args->pointers[i], sizeof address);
    if (size == 0)
      return kdl_fail(KDL_UNSUPPORTED, "%s: image %u does not tell the size of argument %zu",
                      kernel->name, (unsigned)kdl_kernel_image(kernel), i);
    else if (size != sizeof address || !find_slot_operand(capture, address, &out_operands[i]))
      out_operands[i] = kdl_operand_value(args->pointers[i], size);
  }
  return KDL_OK;
}

/* One thread at a time records. */
static recorder *lock_recorder(kdl_capture *head) {
  recorder *capture = recorder_of(head);
  kdl_lock(&capture->lock);
  return capture;
}

static kdl_status unlock_recorder(recorder *capture, kdl_status status) {
  kdl_unlock(&capture->lock);
  return status;
}

static kdl_status capture_launch(kdl_capture *head, kdl_kernel *kernel, const kdl_launch_desc *desc,
                                 const kdl_args *args) {
  recorder *capture = lock_recorder(head);
  kdl_operand operands[KDL_LIMIT_ARGS];
  kdl_status status = read_arguments(capture, kernel, args, operands);
  if (status == KDL_OK)
    status = kdl_sequence_launch(capture->sequence, kernel, desc, operands, args->count);
  return unlock_recorder(capture, status);
}

static kdl_status capture_launch_items(kdl_capture *head, kdl_kernel *kernel,
                                       const kdl_extent *items, const kdl_args *args) {
  recorder *capture = lock_recorder(head);
  kdl_operand operands[KDL_LIMIT_ARGS];
  kdl_status status = read_arguments(capture, kernel, args, operands);
  if (status == KDL_OK)
    status = kdl_sequence_launch_items(capture->sequence, kernel, kdl_operand_items(*items),
                                       operands, args->count);
  return unlock_recorder(capture, status);
}

static kdl_status capture_write(kdl_capture *head, const kdl_buffer *buffer, uint64_t offset,
                                const void *data, uint64_t size) {
  recorder *capture = lock_recorder(head);
  return unlock_recorder(
      capture, kdl_sequence_copy(capture->sequence, buffer_operand(capture, buffer, offset),
                                 kdl_operand_host((void *)(uintptr_t)data), size));
}

static kdl_status capture_read(kdl_capture *head, void *data, const kdl_buffer *buffer,
                               uint64_t offset, uint64_t size) {
  recorder *capture = lock_recorder(head);
  return unlock_recorder(capture, kdl_sequence_copy(capture->sequence, kdl_operand_host(data),
                                                    buffer_operand(capture, buffer, offset), size));
}

static kdl_status capture_copy(kdl_capture *head, const kdl_buffer *to, uint64_t to_offset,
                               const kdl_buffer *from, uint64_t from_offset, uint64_t size) {
  recorder *capture = lock_recorder(head);
  return unlock_recorder(
      capture, kdl_sequence_copy(capture->sequence, buffer_operand(capture, to, to_offset),
                                 buffer_operand(capture, from, from_offset), size));
}

static kdl_status capture_fill(kdl_capture *head, const kdl_buffer *buffer, uint64_t offset,
                               uint64_t size, const void *pattern, size_t pattern_size) {
  recorder *capture = lock_recorder(head);
  return unlock_recorder(capture, kdl_sequence_fill(capture->sequence,
                                                    buffer_operand(capture, buffer, offset), size,
                                                    pattern, pattern_size));
}

static kdl_status capture_event_record(kdl_capture *head, kdl_event *event) {
  recorder *capture = lock_recorder(head);
  return unlock_recorder(capture, kdl_sequence_event_record(capture->sequence, event));
}

static kdl_status capture_event_wait(kdl_capture *head, kdl_event *event) {
  recorder *capture = lock_recorder(head);
  return unlock_recorder(capture, kdl_sequence_event_wait(capture->sequence, event));
}

/* ------------------------------------------------------------------------------------------ */
/* Sequences                                                                                    */

static kdl_operand binding_operand(const recorder *capture, const kdl_recorded_slot *slot,
                                   const kdl_binding *binding) {
  switch (slot->kind) {
  case KDL_SLOT_BUFFER:
    return buffer_operand(capture, &binding->to.buffer, 0);
  case KDL_SLOT_SCALAR:
    return kdl_operand_value(binding->to.value.data, (size_t)binding->to.value.bytes);
  case KDL_SLOT_ITEMS:
    return kdl_operand_items(binding->to.items);
  default:
    return kdl_operand_host(binding->to.host.data);
  }
}

kdl_status kdl_capture_run(kdl_capture *head, const kdl_sequence *inner,
                           const kdl_binding *bindings, size_t count) {
  recorder *capture = recorder_of(head);
  const kdl_recording *recording = &inner->recording;
  kdl_operand *operands = calloc(count ? count : 1, sizeof *operands);
  kdl_status status = KDL_OK;
  if (!operands)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the bindings of a sequence");
  kdl_lock(&capture->lock);
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    kdl_slot slot = bindings[i].slot;
    if (count != recording->slot_count || slot == 0 || slot > count || operands[slot - 1].kind)
      status = kdl_fail(KDL_BAD_CALL,
                        "kdl_sequence_run: found %zu bindings, expected one for each of %zu slots",
                        count, recording->slot_count);
    else
      status = kdl_sequence_check_binding(&inner->plan, slot - 1, &bindings[i]);
    if (status == KDL_OK)
      operands[slot - 1] = binding_operand(capture, &recording->slots[slot - 1], &bindings[i]);
  }
  if (status == KDL_OK)
    status = kdl_sequence_nest(capture->sequence, inner, operands, count);
  kdl_unlock(&capture->lock);
  free(operands);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Begin and end                                                                                */

static const kdl_capture_functions capture_functions = {
    .launch = capture_launch,
    .launch_items = capture_launch_items,
    .write = capture_write,
    .read = capture_read,
    .copy = capture_copy,
    .fill = capture_fill,
    .event_record = capture_event_record,
    .event_wait = capture_event_wait,
    .discard = discard_recorder,
};

/* A backend may have one handle for all queues, which then cannot be distinguished. */
static kdl_status check_can_capture(const kdl_queue *queue) {
  if (kdl_queue_capture(queue))
    return kdl_fail(KDL_BAD_CALL, "kdl_capture_begin: found a queue that is being captured");
  if (queue != &queue->runtime->queue && queue->head.queue == queue->runtime->queue.head.queue)
    return kdl_fail(KDL_UNSUPPORTED,
                    "kdl_capture_begin: %s: its backend does not tell queues apart",
                    queue->runtime->label);
  return kdl_runtime_usable(queue->runtime);
}

kdl_status kdl_capture_begin(kdl_queue *queue) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(queue);
  if (status == KDL_OK)
    status = check_can_capture(queue);
  if (status != KDL_OK)
    return status;
  recorder *capture = calloc(1, sizeof *capture);
  if (!capture)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a capture");
  status = kdl_sequence_create(queue->runtime->device, &capture->sequence);
  if (status != KDL_OK) {
    free(capture);
    return status;
  }
  uint64_t middle;
  capture->has_addresses = kdl_state_address(queue->runtime, 0, 1, &middle) == KDL_OK;
  capture->head.functions = &capture_functions;
  capture->head.runtime = queue->runtime;
  capture->head.queue = queue->head.queue;
  pthread_mutex_init(&capture->lock, NULL);
  kdl_capture_add(&capture->head);
  return KDL_OK;
}

kdl_status kdl_capture_end(kdl_queue *queue, kdl_sequence **out_sequence) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(queue, out_sequence));
  recorder *capture = recorder_of(kdl_queue_capture(queue));
  if (!capture)
    return kdl_fail(KDL_BAD_CALL, "kdl_capture_end: found a queue that is not being captured");
  kdl_sequence *sequence = capture->sequence;
  destroy_recorder(capture);
  kdl_status status = kdl_sequence_finish(sequence);
  if (status == KDL_OK)
    *out_sequence = sequence;
  else
    kdl_sequence_destroy(sequence);
  return status;
}
