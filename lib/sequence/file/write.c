/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/sequences.h"
#include "support/base/bytes.h"
#include "support/base/error.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What is written grows by doubling; after memory ran out nothing is added. */
typedef struct {
  uint8_t *data;
  size_t size, capacity;
  bool failed;
} writer;

static void put(writer *to, const void *bytes, size_t size) {
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

static void put32(writer *to, uint32_t value) {
  uint8_t bytes[4];
  kdl_store_u32(bytes, value);
  put(to, bytes, sizeof bytes);
}

static void put64(writer *to, uint64_t value) {
  uint8_t bytes[8];
  kdl_store_u64(bytes, value);
  put(to, bytes, sizeof bytes);
}

static void put_text(writer *to, const char *text, size_t length) {
  put32(to, (uint32_t)length);
  put(to, text, length);
}

static void put_each(writer *to, const uint32_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    put32(to, values[i]);
}

static void put_slot(writer *to, const kdl_saved_slot *slot) {
  put32(to, (uint32_t)slot->kind);
  put64(to, slot->bytes);
  put_text(to, slot->name.data, slot->name.length);
}

static void put_kernel(writer *to, const kdl_saved_kernel *kernel) {
  put_text(to, kernel->name.data, kernel->name.length);
  put_text(to, kernel->library.data, kernel->library.length);
  put_text(to, kernel->sig.data, kernel->sig.length);
  put32(to, kernel->rev);
  put32(to, kernel->param_count);
  if (kernel->param_count != KDL_SAVED_UNKNOWN)
    put_each(to, kernel->param_sizes, kernel->param_count);
  put_each(to, kernel->block, 3);
  put_each(to, kernel->tile, 3);
  put32(to, kernel->constant_count);
  for (uint32_t i = 0; i < kernel->constant_count; ++i) {
    const kdl_constant *constant = &kernel->constants[i];
    put_text(to, constant->name, strlen(constant->name));
    put_text(to, constant->value, strlen(constant->value));
  }
}

static void put_memory(writer *to, const kdl_operand *operand) {
  put32(to, operand->slot);
  put64(to, operand->offset);
}

static void put_argument(writer *to, const kdl_operand *operand) {
  put32(to, (uint32_t)operand->kind);
  if (operand->kind == KDL_OPERAND_SLOT) {
    put_memory(to, operand);
  } else if (operand->kind == KDL_OPERAND_VALUE) {
    put32(to, (uint32_t)operand->bytes);
    put(to, operand->of.value, operand->bytes);
  }
}

static void put_grid(writer *to, const kdl_launch_desc *desc) {
  put_each(to, desc->grid, 3);
  put_each(to, desc->block, 3);
  put32(to, desc->shared);
  put32(to, desc->flags);
  put_each(to, desc->cluster, 3);
}

static void put_launch(writer *to, const kdl_saved_launch *launch) {
  const kdl_operand *items = &launch->items;
  put32(to, launch->kernel);
  put32(to, items->kind == KDL_OPERAND_ITEMS ? 1 : items->kind == KDL_OPERAND_SLOT ? 2 : 3);
  if (items->kind == KDL_OPERAND_ITEMS) {
    put64(to, items->of.items.x);
    put64(to, items->of.items.y);
    put64(to, items->of.items.z);
  } else if (items->kind == KDL_OPERAND_SLOT) {
    put32(to, items->slot);
  } else {
    put_grid(to, &launch->desc);
  }
  put32(to, launch->arg_count);
  for (uint32_t i = 0; i < launch->arg_count; ++i)
    put_argument(to, &launch->args[i]);
}

static void put_step(writer *to, const kdl_saved_step *step) {
  put32(to, (uint32_t)step->kind);
  switch (step->kind) {
  case KDL_STEP_LAUNCH:
    put_launch(to, step->of.launch);
    break;
  case KDL_STEP_COPY:
    put64(to, step->of.copy->bytes);
    put_memory(to, &step->of.copy->to);
    put_memory(to, &step->of.copy->from);
    break;
  case KDL_STEP_FILL:
    put64(to, step->of.copy->bytes);
    put_memory(to, &step->of.copy->to);
    put32(to, step->of.copy->pattern_size);
    put(to, step->of.copy->pattern, step->of.copy->pattern_size);
    break;
  case KDL_STEP_WHILE:
    put_memory(to, step->of.condition);
    break;
  default:
    break;
  }
}

kdl_status kdl_saved_write(const kdl_saved *saved, void **out_data, size_t *out_size) {
  writer to = {.data = NULL};
  put32(&to, KDL_SAVED_MAGIC);
  put32(&to, KDL_SAVED_VERSION);
  put64(&to, 0); /* the size, once it is known */
  put32(&to, saved->slot_count);
  put32(&to, saved->kernel_count);
  put32(&to, saved->step_count);
  put32(&to, 0);
  for (uint32_t i = 0; i < saved->slot_count; ++i)
    put_slot(&to, &saved->slots[i]);
  for (uint32_t i = 0; i < saved->kernel_count; ++i)
    put_kernel(&to, &saved->kernels[i]);
  for (uint32_t i = 0; i < saved->step_count && !to.failed; ++i)
    put_step(&to, &saved->steps[i]);
  if (to.failed) {
    free(to.data);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the file of a sequence");
  }
  kdl_store_u64(to.data + 8, to.size);
  *out_data = to.data;
  *out_size = to.size;
  return KDL_OK;
}
