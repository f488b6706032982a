/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kernels of known names do on a fake device, which is the host. */
#include "fake_objects.h"

#include <stdlib.h>

/* One launch: pointers to the values of the parameters, and how many elements it covers. */
typedef struct {
  const void *const *values;
  uint64_t items;
  uint64_t shared;
  const unsigned *grid;
  fake_object *code;
  fake_object *context;
} call;

struct fake_program {
  const char *name;
  size_t sizes[8]; /* of the parameters; 0 behind the last */
  bool (*run)(const call *at);
};

/* A parameter that is a pointer to so many elements of four bytes; NULL where no memory is there.
 */
static void *pointer(const call *at, size_t index, uint64_t elements) {
  uint64_t address;
  memcpy(&address, at->values[index], sizeof address);
  return fake_memory_at(address, elements * 4) ? (void *)(uintptr_t)address : NULL;
}

/* As many elements as the parameter says, but no more than the launch covers. */
static uint64_t covered(const call *at, size_t index) {
  uint32_t count;
  memcpy(&count, at->values[index], sizeof count);
  return count < at->items ? count : at->items;
}

static float number(const call *at, size_t index) {
  float value;
  memcpy(&value, at->values[index], sizeof value);
  return value;
}

static bool run_empty(const call *at) {
  (void)at;
  return true;
}

/* (float a, const float *x, float *y, unsigned n): y += a x */
static bool run_saxpy(const call *at) {
  uint64_t count = covered(at, 3);
  const float *x = pointer(at, 1, count);
  float *y = pointer(at, 2, count);
  for (uint64_t i = 0; x && y && i < count; ++i)
    y[i] += number(at, 0) * x[i];
  return x && y;
}

/* (float a, const float *x, float *y, unsigned n): y = a x */
static bool run_scale(const call *at) {
  uint64_t count = covered(at, 3);
  const float *x = pointer(at, 1, count);
  float *y = pointer(at, 2, count);
  for (uint64_t i = 0; x && y && i < count; ++i)
    y[i] = number(at, 0) * x[i];
  return x && y;
}

/* (unsigned *out): each group writes where it is */
static bool run_place(const call *at) {
  const unsigned *of = at->grid;
  uint32_t *out = pointer(at, 0, (uint64_t)of[0] * of[1] * of[2]);
  for (unsigned z = 0; out && z < of[2]; ++z) {
    for (unsigned y = 0; y < of[1]; ++y) {
      for (unsigned x = 0; x < of[0]; ++x)
        out[(z * of[1] + y) * of[0] + x] = x + 10 * y + 100 * z;
    }
  }
  return out;
}

/* (unsigned *out): times the variable `weight` */
static bool run_weigh(const call *at) {
  fake_object *weight = fake_variable(at->code, at->context, "weight");
  uint32_t *out = pointer(at, 0, 1);
  if (!weight || !out)
    return false;
  *out *= *(const uint32_t *)(uintptr_t)weight->address;
  return true;
}

/* (float *x, unsigned n): x = c[0] + c[1] x + c[2] x x, where c is the variable `coefficients` */
static bool run_curve(const call *at) {
  uint64_t count = covered(at, 1);
  fake_object *variable = fake_variable(at->code, at->context, "coefficients");
  float *x = pointer(at, 0, count);
  const float *c = variable ? (const float *)(uintptr_t)variable->address : NULL;
  for (uint64_t i = 0; x && c && i < count; ++i)
    x[i] = c[0] + (c[1] + c[2] * x[i]) * x[i];
  return x && c;
}

/* (unsigned *out): how many bytes of dynamic group memory there are */
static bool run_room(const call *at) {
  uint32_t *out = pointer(at, 0, 1);
  if (out)
    *out = (uint32_t)at->shared;
  return out;
}

static uint64_t count_of(const call *at, size_t index) {
  uint32_t count;
  memcpy(&count, at->values[index], sizeof count);
  return count;
}

/* (const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k): c += a b */
static bool run_panel(const call *at) {
  uint64_t m = count_of(at, 3), n = count_of(at, 4), k = count_of(at, 5);
  const float *a = pointer(at, 0, m * k), *b = pointer(at, 1, k * n);
  float *c = pointer(at, 2, m * n);
  for (uint64_t i = 0; a && b && c && i < m * n; ++i) {
    for (uint64_t step = 0; step < k; ++step)
      c[i] += a[i / n * k + step] * b[step * n + i % n];
  }
  return a && b && c;
}

/* (uint64_t handle, const unsigned *number): of a loop in a graph, whether there is another pass */
static bool run_condition(const call *at) {
  uint64_t handle;
  const uint32_t *number = pointer(at, 1, 1);
  memcpy(&handle, at->values[0], sizeof handle);
  fake_object *condition = fake_live((void *)(uintptr_t)handle, FAKE_NODE);
  if (condition && number)
    condition->sticky = *number != 0;
  return condition && number;
}

/* (unsigned *out): the numbers of the setting `tiles`, and zeros behind them */
static bool run_tiles(const call *at, uint64_t count) {
  uint32_t *out = pointer(at, 0, count);
  const char *numbers = fake_setting("tiles");
  for (uint64_t i = 0; out && i < count; ++i) {
    char *end = NULL;
    out[i] = numbers ? (uint32_t)strtoul(numbers, &end, 0) : 0;
    numbers = end && *end == ',' ? end + 1 : NULL;
  }
  return out;
}
static bool run_matmul_tiles(const call *at) {
  return run_tiles(at, 54);
}
static bool run_attention_tiles(const call *at) {
  return run_tiles(at, 8);
}

static const fake_program programs[] = {
    {"kdl_gpu_matmul_f32_bf16_tiles", {8, 0}, run_matmul_tiles},
    {"kdl_gpu_attention_bf16_tiles", {8, 0}, run_attention_tiles},
    {"kdl_set_condition", {8, 8, 0}, run_condition},
    {"empty", {0}, run_empty},
    {"saxpy", {4, 8, 8, 4, 0}, run_saxpy},
    {"scale", {4, 8, 8, 4, 0}, run_scale},
    {"place", {8, 0}, run_place},
    {"weigh", {8, 0}, run_weigh},
    {"curve", {8, 4, 0}, run_curve},
    {"room", {8, 0}, run_room},
    {"panel", {8, 8, 8, 4, 4, 4, 0}, run_panel},
};

/* Parameters that are group memory, which come last, have no size. */
static bool takes(const fake_program *program, const fake_object *kernel) {
  unsigned count = kernel->param_count;
  while (count && !kernel->param_sizes[count - 1])
    --count;
  return memcmp(program->sizes, kernel->param_sizes, count * sizeof *program->sizes) == 0 &&
         !program->sizes[count];
}

const fake_program *fake_program_find(const fake_object *kernel) {
  for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
    if (strcmp(programs[i].name, kernel->name) == 0 && takes(&programs[i], kernel))
      return &programs[i];
  }
  return NULL;
}

bool fake_program_run(const fake_object *kernel, fake_object *context, const unsigned grid[3],
                      const unsigned block[3], uint64_t shared, void **params) {
  call at = {.values = (const void *const *)params,
             .items = (uint64_t)grid[0] * block[0] * (uint64_t)kernel->owner->per_item,
             .shared = shared,
             .grid = grid,
             .code = kernel->owner,
             .context = context};
  return kernel->program->run(&at);
}

/* For drivers that do not launch. */
__attribute__((weak)) fake_object *fake_variable(fake_object *code, fake_object *context,
                                                 const char *name) {
  (void)code, (void)context, (void)name;
  return NULL;
}
