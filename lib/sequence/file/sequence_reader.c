/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/sequences.h"
#include "lib/target/kernel_key.h"
#include "support/base/array.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The reader's position. After a failure all reads give 0, and `status` has the failure. */
typedef struct {
  const uint8_t *data;
  size_t size, at;
  const char *part; /* "slot", "kernel" or "step", with its number */
  uint32_t number;
  kdl_status status;
  kdl_seqfile *saved;
  uint32_t fork_count, loop_count; /* open ones */
} reader;

/* ------------------------------------------------------------------------------------------ */
/* Fields                                                                                       */

/* `offset` is that of the field, which may have been read already. */
static void reader_fail(reader *from, size_t offset, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void reader_fail(reader *from, size_t offset, const char *field, const char *format, ...) {
  char words[512], part[64] = "";
  va_list args;
  if (from->status != KDL_OK)
    return;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  if (from->part)
    snprintf(part, sizeof part, "%s %" PRIu32 ": ", from->part, from->number);
  from->status = kdl_fail(KDL_BAD_FILE, "offset 0x%zx: %s%s: %s", offset, part, field, words);
}

static void reader_no_memory(reader *from) {
  if (from->status == KDL_OK)
    from->status = kdl_fail(KDL_NO_MEMORY, "out of memory for a sequence");
}

static const uint8_t *reader_bytes(reader *from, size_t size, const char *field) {
  if (from->status == KDL_OK && size > from->size - from->at)
    reader_fail(from, from->at, field, "found %zu bytes up to the end, expected %zu",
                from->size - from->at, size);
  if (from->status != KDL_OK)
    return NULL;
  from->at += size;
  return from->data + from->at - size;
}

static uint32_t reader_u32(reader *from, const char *field) {
  const uint8_t *bytes = reader_bytes(from, 4, field);
  return bytes ? kdl_load_u32(bytes) : 0;
}

static uint64_t reader_u64(reader *from, const char *field) {
  const uint8_t *bytes = reader_bytes(from, 8, field);
  return bytes ? kdl_load_u64(bytes) : 0;
}

/* A number from `least` to `most`; `least` after a failure. */
static uint32_t reader_u32_within(reader *from, const char *field, uint32_t least, uint32_t most) {
  uint32_t value = reader_u32(from, field);
  if (value >= least && value <= most)
    return value;
  reader_fail(from, from->at - 4, field, "found %" PRIu32 ", expected %" PRIu32 " to %" PRIu32,
              value, least, most);
  return least;
}

/* A count of elements, each of at least `size` bytes. */
static uint32_t reader_count(reader *from, const char *field, uint32_t most, size_t size) {
  uint32_t count = reader_u32_within(from, field, 0, most);
  if (count > (from->size - from->at) / size)
    reader_fail(from, from->at - 4, field,
                "found %" PRIu32 ", expected no more than the %zu bytes behind it can hold", count,
                from->size - from->at);
  return from->status == KDL_OK ? count : 0;
}

/* A text without NULs; a NUL is added. */
static kdl_string reader_text(reader *from, const char *field, uint32_t least, uint32_t most) {
  size_t offset = from->at;
  uint32_t length = reader_u32_within(from, field, least, most);
  const uint8_t *bytes = reader_bytes(from, length, field);
  if (!bytes)
    return (kdl_string){"", 0};
  const uint8_t *nul = memchr(bytes, 0, length);
  if (nul) {
    reader_fail(from, offset + 4 + (size_t)(nul - bytes), field, "found a NUL, expected text");
    return (kdl_string){"", 0};
  }
  kdl_string text = kdl_arena_string(&from->saved->memory, bytes, length);
  if (!text.data)
    reader_no_memory(from);
  return text.data ? text : (kdl_string){"", 0};
}

/* Zeroed memory; NULL after a failure. */
static void *reader_alloc(reader *from, size_t count, size_t size) {
  void *made = from->status == KDL_OK ? kdl_arena_alloc(&from->saved->memory, count * size) : NULL;
  if (made)
    memset(made, 0, count * size);
  else
    reader_no_memory(from);
  return made;
}

static void reader_extent(reader *from, const char *field, uint32_t extent[3]) {
  size_t offset = from->at;
  for (int i = 0; i < 3; ++i)
    extent[i] = reader_u32(from, field);
  bool is_none = !extent[0] && !extent[1] && !extent[2];
  if (!is_none && (!extent[0] || !extent[1] || !extent[2]))
    reader_fail(from, offset, field,
                "found %" PRIu32 "x%" PRIu32 "x%" PRIu32 ", expected none of them to be 0, or all",
                extent[0], extent[1], extent[2]);
}

/* ------------------------------------------------------------------------------------------ */
/* Slots                                                                                        */

static void read_slot(reader *from, kdl_seqfile_slot *slot) {
  slot->kind = (kdl_slot_kind)reader_u32_within(from, "kind", KDL_SLOT_BUFFER, KDL_SLOT_HOST);
  size_t offset = from->at;
  slot->bytes = reader_u64(from, "bytes");
  bool is_scalar = slot->kind == KDL_SLOT_SCALAR;
  if (is_scalar && (slot->bytes == 0 || slot->bytes > KDL_LIMIT_SCALAR))
    reader_fail(from, offset, "bytes", "found a scalar of %" PRIu64 ", expected 1 to %d",
                slot->bytes, KDL_LIMIT_SCALAR);
  if (slot->kind == KDL_SLOT_ITEMS && slot->bytes)
    reader_fail(from, offset, "bytes", "found %" PRIu64 " of items, expected 0", slot->bytes);
  slot->name = reader_text(from, "name", 0, KDL_SEQFILE_SLOT_NAME);
}

static int compare_slot_names(const void *left, const void *right) {
  const kdl_string *const *a = left;
  const kdl_string *const *b = right;
  return strcmp((*a)->data, (*b)->data);
}

static void check_slot_names(reader *from) {
  kdl_seqfile *saved = from->saved;
  const kdl_string **sorted = malloc((saved->slot_count + 1) * sizeof *sorted);
  size_t count = 0;
  if (!sorted) {
    reader_no_memory(from);
    return;
  }
  for (uint32_t i = 0; i < saved->slot_count; ++i) {
    if (saved->slots[i].name.length)
      sorted[count++] = &saved->slots[i].name;
  }
  qsort(sorted, count, sizeof *sorted, compare_slot_names);
  from->part = NULL;
  for (size_t i = 1; i < count; ++i) {
    if (kdl_text_equal(*sorted[i - 1], *sorted[i]))
      reader_fail(from, KDL_SEQFILE_HEADER, "slots", "found \"%s\" twice, expected each name once",
                  sorted[i]->data);
  }
  free(sorted);
}

static void read_slots(reader *from) {
  kdl_seqfile *saved = from->saved;
  saved->slots = reader_alloc(from, saved->slot_count, sizeof *saved->slots);
  from->part = "slot";
  for (uint32_t i = 0; i < saved->slot_count && from->status == KDL_OK; ++i) {
    from->number = i + 1;
    read_slot(from, &saved->slots[i]);
  }
  if (from->status == KDL_OK)
    check_slot_names(from);
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

enum { address_size = 8 };

/* Sizes and signature must agree. */
static void check_saved_signature(reader *from, const kdl_seqfile_kernel *kernel, size_t offset) {
  kdl_parse_error error = {0, ""};
  kdl_param param;
  size_t at = 0;
  uint32_t count = 0;
  while (kdl_signature_next(kernel->sig, &at, &param, &error)) {
    uint32_t size = param.kind == KDL_PARAM_PTR ? address_size : param.size;
    if (count < kernel->param_count && kernel->param_sizes[count] != size)
      reader_fail(from, offset, "parameters",
                  "found %" PRIu32 " bytes of parameter %" PRIu32 ", expected %" PRIu32
                  " as its signature says",
                  kernel->param_sizes[count], count, size);
    ++count;
  }
  if (at != kernel->sig.length)
    reader_fail(
        from, offset, "signature", "found \"%.*s\" at %zu, expected %s",
        (int)(kernel->sig.length - error.position > 64 ? 64 : kernel->sig.length - error.position),
        kernel->sig.data + error.position, error.position, error.expected);
  else if (count != kernel->param_count)
    reader_fail(from, offset, "parameters",
                "found %" PRIu32 ", expected %" PRIu32 " of its signature", kernel->param_count,
                count);
}

static void read_params(reader *from, kdl_seqfile_kernel *kernel) {
  size_t offset = from->at;
  kernel->param_count = reader_u32(from, "parameters");
  if (kernel->param_count == KDL_SEQFILE_UNKNOWN) {
    if (kernel->sig.length)
      reader_fail(from, offset, "parameters", "found no number, expected that of the signature");
    return;
  }
  if (kernel->param_count > KDL_SEQFILE_ARGS)
    reader_fail(from, offset, "parameters", "found %" PRIu32 ", expected at most %d",
                kernel->param_count, KDL_SEQFILE_ARGS);
  uint32_t *sizes = reader_alloc(from, kernel->param_count, sizeof *sizes);
  for (uint32_t i = 0; sizes && i < kernel->param_count; ++i)
    sizes[i] = reader_u32(from, "size of a parameter");
  kernel->param_sizes = sizes;
  if (from->status == KDL_OK && kernel->sig.length)
    check_saved_signature(from, kernel, offset);
}

static void read_saved_constants(reader *from, kdl_seqfile_kernel *kernel) {
  kernel->constant_count = reader_count(from, "constants", KDL_SEQFILE_CONSTANTS, 8);
  kdl_constant *constants = reader_alloc(from, kernel->constant_count, sizeof *constants);
  for (uint32_t i = 0; constants && i < kernel->constant_count; ++i) {
    constants[i].name = reader_text(from, "name of a constant", 1, KDL_SEQFILE_CONSTANT).data;
    constants[i].value = reader_text(from, "value of a constant", 1, KDL_SEQFILE_CONSTANT).data;
  }
  kernel->constants = constants;
}

static void read_saved_kernel(reader *from, kdl_seqfile_kernel *kernel) {
  kernel->name = reader_text(from, "name", 1, KDL_SEQFILE_KERNEL_NAME);
  kernel->library = reader_text(from, "library", 0, KDL_SEQFILE_KERNEL_NAME);
  kernel->sig = reader_text(from, "signature", 0, KDL_SEQFILE_KERNEL_NAME);
  kernel->rev = reader_u32(from, "revision");
  read_params(from, kernel);
  reader_extent(from, "block", kernel->block);
  reader_extent(from, "tile", kernel->tile);
  read_saved_constants(from, kernel);
}

static void read_saved_kernels(reader *from) {
  kdl_seqfile *saved = from->saved;
  saved->kernels = reader_alloc(from, saved->kernel_count, sizeof *saved->kernels);
  from->part = "kernel";
  for (uint32_t i = 0; i < saved->kernel_count && from->status == KDL_OK; ++i) {
    from->number = i;
    read_saved_kernel(from, &saved->kernels[i]);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Operands                                                                                     */

static const kdl_seqfile_slot *operand_slot(const reader *from, const kdl_operand *operand) {
  return &from->saved->slots[operand->slot - 1];
}

static void reader_slot(reader *from, const char *field, kdl_operand *operand) {
  *operand = kdl_operand_slot(reader_u32_within(from, field, 1, from->saved->slot_count));
}

static void reader_value(reader *from, const char *field, kdl_operand *operand) {
  uint32_t bytes = reader_u32_within(from, field, 1, KDL_LIMIT_SCALAR);
  *operand = kdl_operand_value(reader_bytes(from, bytes, field), bytes);
}

/* Memory: a slot with an offset. */
static void reader_memory(reader *from, const char *field, bool may_be_host, uint64_t bytes,
                          kdl_operand *operand) {
  size_t offset = from->at;
  reader_slot(from, field, operand);
  operand->offset = reader_u64(from, field);
  if (from->status != KDL_OK)
    return;
  kdl_slot_kind kind = operand_slot(from, operand)->kind;
  if (kind != KDL_SLOT_BUFFER && !(may_be_host && kind == KDL_SLOT_HOST))
    reader_fail(from, offset, field, "found slot %u, which is no memory%s, expected one that is",
                (unsigned)operand->slot, may_be_host ? "" : " of the device");
  else if (bytes > operand_slot(from, operand)->bytes ||
           operand->offset > operand_slot(from, operand)->bytes - bytes)
    reader_fail(from, offset, field,
                "found %" PRIu64 " bytes at offset %" PRIu64
                " of slot %u, expected them inside its %" PRIu64,
                bytes, operand->offset, (unsigned)operand->slot,
                operand_slot(from, operand)->bytes);
}

/* The size of the argument; 0 after a failure. */
static uint64_t reader_slot_argument(reader *from, kdl_operand *operand) {
  size_t offset = from->at;
  reader_slot(from, "argument", operand);
  operand->offset = reader_u64(from, "argument");
  if (from->status != KDL_OK)
    return 0;
  const kdl_seqfile_slot *slot = operand_slot(from, operand);
  bool is_scalar = slot->kind == KDL_SLOT_SCALAR;
  if (!is_scalar && slot->kind != KDL_SLOT_BUFFER)
    reader_fail(from, offset, "argument", "found slot %u, expected a buffer or scalar",
                (unsigned)operand->slot);
  else if (operand->offset && (is_scalar || operand->offset >= slot->bytes))
    reader_fail(from, offset, "argument",
                "found an offset of %" PRIu64 " into slot %u of %" PRIu64 " bytes", operand->offset,
                (unsigned)operand->slot, slot->bytes);
  return is_scalar ? slot->bytes : address_size;
}

static void read_argument(reader *from, const kdl_seqfile_kernel *kernel, uint32_t index,
                          kdl_operand *operand) {
  size_t offset = from->at;
  uint32_t kind = reader_u32(from, "argument");
  uint64_t bytes = address_size;
  if (kind == KDL_OPERAND_VALUE) {
    reader_value(from, "argument", operand);
    bytes = operand->bytes;
  } else if (kind == KDL_OPERAND_BUFFER) {
    *operand = kdl_operand_buffer((kdl_buffer){0});
  } else if (kind == KDL_OPERAND_SLOT) {
    bytes = reader_slot_argument(from, operand);
  } else {
    reader_fail(from, offset, "argument",
                "found kind %" PRIu32 ", expected 1 (a value), 2 (a null pointer) or 5 (a slot)",
                kind);
  }
  bool is_known = kernel->param_count != KDL_SEQFILE_UNKNOWN && kernel->param_sizes[index];
  if (from->status == KDL_OK && is_known && bytes != kernel->param_sizes[index])
    reader_fail(from, offset, "argument",
                "found %" PRIu64 " bytes for parameter %" PRIu32 " of %s, expected %" PRIu32, bytes,
                index, kernel->name.data, kernel->param_sizes[index]);
}

/* ------------------------------------------------------------------------------------------ */
/* Steps                                                                                        */

enum { shape_items = 1, shape_slot = 2, shape_grid = 3 };

static void reader_u32x3(reader *from, const char *field, uint32_t out[3]) {
  for (int i = 0; i < 3; ++i)
    out[i] = reader_u32(from, field);
}

static void read_grid(reader *from, kdl_launch_desc *desc) {
  size_t offset = from->at;
  desc->size = sizeof *desc;
  reader_u32x3(from, "grid", desc->grid);
  if (!desc->grid[0] || !desc->grid[1] || !desc->grid[2])
    reader_fail(from, offset, "grid", "found 0, expected at least 1");
  reader_extent(from, "block", desc->block);
  desc->shared = reader_u32(from, "shared memory");
  desc->flags = reader_u32_within(from, "flags", 0, KDL_LAUNCH_COOPERATIVE);
  reader_extent(from, "cluster", desc->cluster);
}

static void read_shape(reader *from, kdl_seqfile_launch *launch) {
  size_t offset = from->at;
  uint32_t shape = reader_u32_within(from, "shape", shape_items, shape_grid);
  if (shape == shape_grid) {
    read_grid(from, &launch->desc);
  } else if (shape == shape_items) {
    uint64_t x = reader_u64(from, "items"), y = reader_u64(from, "items"),
             z = reader_u64(from, "items");
    launch->items = kdl_operand_items(kdl_extent3(x, y, z));
  } else if (shape == shape_slot) {
    reader_slot(from, "items", &launch->items);
    if (from->status == KDL_OK && operand_slot(from, &launch->items)->kind != KDL_SLOT_ITEMS)
      reader_fail(from, offset, "items", "found slot %u, expected one of items",
                  (unsigned)launch->items.slot);
  }
}

static void read_launch(reader *from, kdl_seqfile_launch *launch) {
  size_t offset = from->at;
  launch->kernel = reader_u32(from, "kernel");
  if (from->status == KDL_OK && launch->kernel >= from->saved->kernel_count)
    reader_fail(from, offset, "kernel", "found %" PRIu32 ", expected less than %" PRIu32,
                launch->kernel, from->saved->kernel_count);
  read_shape(from, launch);
  offset = from->at;
  launch->arg_count = reader_count(from, "arguments", KDL_SEQFILE_ARGS, 4);
  launch->args = reader_alloc(from, launch->arg_count, sizeof *launch->args);
  if (!launch->args)
    return;
  const kdl_seqfile_kernel *kernel = &from->saved->kernels[launch->kernel];
  if (kernel->param_count != KDL_SEQFILE_UNKNOWN && kernel->param_count != launch->arg_count)
    reader_fail(from, offset, "arguments", "found %" PRIu32 ", expected %" PRIu32 " of %s",
                launch->arg_count, kernel->param_count, kernel->name.data);
  for (uint32_t i = 0; i < launch->arg_count && from->status == KDL_OK; ++i)
    read_argument(from, kernel, i, &launch->args[i]);
  ++from->saved->launch_count;
}

static uint64_t reader_size(reader *from) {
  uint64_t size = reader_u64(from, "bytes");
  if (from->status == KDL_OK && size == 0)
    reader_fail(from, from->at - 8, "bytes", "found 0, expected at least 1");
  return size;
}

static void read_copy(reader *from, kdl_seqfile_copy *copy) {
  copy->bytes = reader_size(from);
  size_t offset = from->at;
  reader_memory(from, "to", true, copy->bytes, &copy->to);
  reader_memory(from, "from", true, copy->bytes, &copy->from);
  if (from->status == KDL_OK && operand_slot(from, &copy->to)->kind == KDL_SLOT_HOST &&
      operand_slot(from, &copy->from)->kind == KDL_SLOT_HOST)
    reader_fail(from, offset, "to", "found memory of the host on both sides, expected a buffer");
}

static void read_fill(reader *from, kdl_seqfile_copy *fill) {
  fill->bytes = reader_size(from);
  reader_memory(from, "to", false, fill->bytes, &fill->to);
  size_t offset = from->at;
  fill->pattern_size = reader_u32_within(from, "pattern", 1, sizeof fill->pattern);
  const uint8_t *pattern = reader_bytes(from, fill->pattern_size, "pattern");
  if (!pattern)
    return;
  memcpy(fill->pattern, pattern, fill->pattern_size);
  if ((fill->pattern_size & (fill->pattern_size - 1)) || fill->bytes % fill->pattern_size ||
      fill->to.offset % fill->pattern_size)
    reader_fail(from, offset, "pattern",
                "found %" PRIu32 " bytes for %" PRIu64 " at offset %" PRIu64
                ", expected 1, 2, 4, 8 or 16 that divide both",
                fill->pattern_size, fill->bytes, fill->to.offset);
}

/* Increments the depth, within the limit. */
static void enter_nesting(reader *from, uint32_t *count, uint32_t limit) {
  if (from->status == KDL_OK && *count == limit)
    reader_fail(from, from->at - 4, "mark", "found more than %" PRIu32 " within one another",
                limit);
  ++*count;
}

static void require_open(reader *from, uint32_t count, const char *what) {
  if (from->status == KDL_OK && count == 0)
    reader_fail(from, from->at - 4, "mark", "found no %s that is open, expected one", what);
}

/* A branch must not contain a loop, nor cross its ends. */
static void require_no_fork(reader *from) {
  if (from->status == KDL_OK && from->fork_count)
    reader_fail(from, from->at - 4, "mark", "found a fork that is open, expected it joined");
}

static void read_while(reader *from, kdl_operand *condition) {
  require_no_fork(from);
  enter_nesting(from, &from->loop_count, KDL_LIMIT_LOOPS);
  size_t offset = from->at;
  reader_memory(from, "condition", false, sizeof(uint32_t), condition);
  if (from->status == KDL_OK && condition->offset % sizeof(uint32_t))
    reader_fail(from, offset, "condition", "found offset %" PRIu64 ", expected a multiple of 4",
                condition->offset);
}

static void read_step(reader *from, kdl_seqfile_step *step) {
  step->kind = (kdl_step_kind)reader_u32_within(from, "kind", KDL_STEP_LAUNCH, KDL_STEP_END);
  if (from->status != KDL_OK)
    return;
  switch (step->kind) {
  case KDL_STEP_LAUNCH:
    step->of.launch = reader_alloc(from, 1, sizeof *step->of.launch);
    if (step->of.launch)
      read_launch(from, step->of.launch);
    break;
  case KDL_STEP_COPY:
  case KDL_STEP_FILL:
    step->of.copy = reader_alloc(from, 1, sizeof *step->of.copy);
    if (step->of.copy)
      (step->kind == KDL_STEP_COPY ? read_copy : read_fill)(from, step->of.copy);
    break;
  case KDL_STEP_FORK:
    enter_nesting(from, &from->fork_count, KDL_LIMIT_FORKS);
    break;
  case KDL_STEP_JOIN:
    require_open(from, from->fork_count, "fork");
    --from->fork_count;
    break;
  case KDL_STEP_BRANCH:
    require_open(from, from->fork_count, "fork");
    break;
  case KDL_STEP_WHILE:
    step->of.condition = reader_alloc(from, 1, sizeof *step->of.condition);
    if (step->of.condition)
      read_while(from, step->of.condition);
    break;
  case KDL_STEP_END:
    require_open(from, from->loop_count, "loop");
    require_no_fork(from);
    --from->loop_count;
    break;
  }
}

static void read_steps(reader *from) {
  kdl_seqfile *saved = from->saved;
  saved->steps = reader_alloc(from, saved->step_count, sizeof *saved->steps);
  from->part = "step";
  for (uint32_t i = 0; i < saved->step_count && from->status == KDL_OK; ++i) {
    from->number = i;
    read_step(from, &saved->steps[i]);
  }
  from->part = NULL;
  if (from->status == KDL_OK && (from->fork_count || from->loop_count))
    reader_fail(from, from->at, "steps",
                "found %" PRIu32 " forks and %" PRIu32 " loops open at the end, expected none",
                from->fork_count, from->loop_count);
  if (from->status == KDL_OK && from->at != from->size)
    reader_fail(from, from->at, "steps", "found %zu bytes behind the last, expected none",
                from->size - from->at);
}

/* ------------------------------------------------------------------------------------------ */
/* Whole sequences                                                                              */

/* The least size of each, in bytes. */
enum { min_slot_size = 16, min_kernel_size = 49, min_step_size = 4 };

static void read_sequence_header(reader *from) {
  uint32_t magic = reader_u32(from, "magic");
  if (from->status == KDL_OK && magic != KDL_SEQFILE_MAGIC)
    reader_fail(from, 0, "magic", "found 0x%08" PRIx32 ", expected 0x%08x", magic,
                (unsigned)KDL_SEQFILE_MAGIC);
  uint32_t version = reader_u32(from, "version");
  if (from->status == KDL_OK && version != KDL_SEQFILE_VERSION)
    from->status = kdl_fail(version > KDL_SEQFILE_VERSION ? KDL_UNSUPPORTED : KDL_BAD_FILE,
                            "offset 0x4: version: found %" PRIu32 ", expected %d", version,
                            KDL_SEQFILE_VERSION);
  uint64_t size = reader_u64(from, "size");
  if (from->status == KDL_OK && size != from->size)
    reader_fail(from, 8, "size", "found %" PRIu64 ", expected %zu", size, from->size);
  from->saved->slot_count = reader_count(from, "slots", KDL_LIMIT_SLOTS, min_slot_size);
  from->saved->kernel_count = reader_count(from, "kernels", KDL_LIMIT_NODES, min_kernel_size);
  from->saved->step_count = reader_count(from, "steps", KDL_SEQFILE_STEPS, min_step_size);
  uint32_t reserved = reader_u32(from, "reserved");
  if (reserved)
    reader_fail(from, from->at - 4, "reserved", "found %" PRIu32 ", expected 0", reserved);
}

kdl_status kdl_seqfile_read(const void *data, size_t size, kdl_seqfile *out_saved) {
  kdl_seqfile saved = {.slot_count = 0};
  reader from = {.data = data, .size = size, .saved = &saved};
  read_sequence_header(&from);
  if (from.status == KDL_OK)
    read_slots(&from);
  if (from.status == KDL_OK)
    read_saved_kernels(&from);
  if (from.status == KDL_OK)
    read_steps(&from);
  if (from.status == KDL_OK)
    *out_saved = saved;
  else
    kdl_seqfile_free(&saved);
  return from.status;
}

void kdl_seqfile_free(kdl_seqfile *saved) {
  kdl_arena_free(&saved->memory);
}
