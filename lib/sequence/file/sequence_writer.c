/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/sequence/sequence.h"
#include "support/base/bytes.h"
#include "support/base/error.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A buffer that grows by doubling; after a failed allocation nothing is added. */
typedef struct {
  uint8_t *data;
  size_t size, capacity;
  bool failed;
} writer;

static void write_bytes(writer *to, const void *bytes, size_t size) {
  if (to->failed || size == 0)
    return;
  if (size > to->capacity - to->size) {
    size_t capacity = to->capacity ? to->capacity * 2 : 4096;
    while (capacity - to->size < size)
      capacity *= 2;
    uint8_t *data = realloc(to->data, capacity);
    if (!data) {
      to->failed = true;
      return;
    }
    to->data = data;
    to->capacity = capacity;
  }
  memcpy(to->data + to->size, bytes, size);
  to->size += size;
}

static void write_u32(writer *to, uint32_t value) {
  uint8_t bytes[4];
  kdl_store_u32(bytes, value);
  write_bytes(to, bytes, sizeof bytes);
}

static void write_u64(writer *to, uint64_t value) {
  uint8_t bytes[8];
  kdl_store_u64(bytes, value);
  write_bytes(to, bytes, sizeof bytes);
}

static void write_text(writer *to, const char *text, size_t length) {
  write_u32(to, (uint32_t)length);
  write_bytes(to, text, length);
}

static void write_u32_array(writer *to, const uint32_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    write_u32(to, values[i]);
}

static void write_slot(writer *to, const kdl_seqfile_slot *slot) {
  write_u32(to, (uint32_t)slot->kind);
  write_u64(to, slot->bytes);
  write_text(to, slot->name.data, slot->name.length);
}

static void write_kernel(writer *to, const kdl_seqfile_kernel *kernel) {
  write_text(to, kernel->name.data, kernel->name.length);
  write_text(to, kernel->library.data, kernel->library.length);
  write_text(to, kernel->sig.data, kernel->sig.length);
  write_u32(to, kernel->rev);
  write_u32(to, kernel->param_count);
  if (kernel->param_count != KDL_SEQFILE_UNKNOWN)
    write_u32_array(to, kernel->param_sizes, kernel->param_count);
  write_u32_array(to, kernel->block, 3);
  write_u32_array(to, kernel->tile, 3);
  write_u32(to, kernel->constant_count);
  for (uint32_t i = 0; i < kernel->constant_count; ++i) {
    const kdl_constant *constant = &kernel->constants[i];
    write_text(to, constant->name, strlen(constant->name));
    write_text(to, constant->value, strlen(constant->value));
  }
}

static void write_memory(writer *to, const kdl_operand *operand) {
  write_u32(to, operand->slot);
  write_u64(to, operand->offset);
}

static void write_argument(writer *to, const kdl_operand *operand) {
  write_u32(to, (uint32_t)operand->kind);
  if (operand->kind == KDL_OPERAND_SLOT) {
    write_memory(to, operand);
  } else if (operand->kind == KDL_OPERAND_VALUE) {
    write_u32(to, (uint32_t)operand->bytes);
    write_bytes(to, operand->of.value, operand->bytes);
  }
}

static void write_grid(writer *to, const kdl_launch_desc *desc) {
  write_u32_array(to, desc->grid, 3);
  write_u32_array(to, desc->block, 3);
  write_u32(to, desc->shared);
  write_u32(to, desc->flags);
  write_u32_array(to, desc->cluster, 3);
}

static void write_launch(writer *to, const kdl_seqfile_launch *launch) {
  const kdl_operand *items = &launch->items;
  write_u32(to, launch->kernel);
  write_u32(to, items->kind == KDL_OPERAND_ITEMS ? 1 : items->kind == KDL_OPERAND_SLOT ? 2 : 3);
  if (items->kind == KDL_OPERAND_ITEMS) {
    write_u64(to, items->of.items.x);
    write_u64(to, items->of.items.y);
    write_u64(to, items->of.items.z);
  } else if (items->kind == KDL_OPERAND_SLOT) {
    write_u32(to, items->slot);
  } else {
    write_grid(to, &launch->desc);
  }
  write_u32(to, launch->arg_count);
  for (uint32_t i = 0; i < launch->arg_count; ++i)
    write_argument(to, &launch->args[i]);
}

static void write_step(writer *to, const kdl_seqfile_step *step) {
  write_u32(to, (uint32_t)step->kind);
  switch (step->kind) {
  case KDL_STEP_LAUNCH:
    write_launch(to, step->of.launch);
    break;
  case KDL_STEP_COPY:
    write_u64(to, step->of.copy->bytes);
    write_memory(to, &step->of.copy->to);
    write_memory(to, &step->of.copy->from);
    break;
  case KDL_STEP_FILL:
    write_u64(to, step->of.copy->bytes);
    write_memory(to, &step->of.copy->to);
    write_u32(to, step->of.copy->pattern_size);
    write_bytes(to, step->of.copy->pattern, step->of.copy->pattern_size);
    break;
  case KDL_STEP_WHILE:
    write_memory(to, step->of.condition);
    break;
  default:
    break;
  }
}

kdl_status kdl_seqfile_write(const kdl_seqfile *saved, void **out_data, size_t *out_size) {
  writer to = {.data = NULL};
  write_u32(&to, KDL_SEQFILE_MAGIC);
  write_u32(&to, KDL_SEQFILE_VERSION);
  write_u64(&to, 0); /* the size, set at the end */
  write_u32(&to, saved->slot_count);
  write_u32(&to, saved->kernel_count);
  write_u32(&to, saved->step_count);
  write_u32(&to, 0);
  for (uint32_t i = 0; i < saved->slot_count; ++i)
    write_slot(&to, &saved->slots[i]);
  for (uint32_t i = 0; i < saved->kernel_count; ++i)
    write_kernel(&to, &saved->kernels[i]);
  for (uint32_t i = 0; i < saved->step_count && !to.failed; ++i)
    write_step(&to, &saved->steps[i]);
  if (to.failed) {
    free(to.data);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the file of a sequence");
  }
  kdl_store_u64(to.data + 8, to.size);
  *out_data = to.data;
  *out_size = to.size;
  return KDL_OK;
}
