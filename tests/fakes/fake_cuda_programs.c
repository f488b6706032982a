/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kernels of known names do on the fake device, which is the host. */
#include "fake_cuda_state.h"

struct fake_program {
  const char *name;
  size_t sizes[5]; /* of the parameters; 0 behind the last */
  int (*run)(const void *const *values, uint64_t items, unsigned block);
};

static uint64_t word(const void *value) {
  uint64_t word;
  memcpy(&word, value, sizeof word);
  return word;
}

static uint32_t half_word(const void *value) {
  uint32_t half;
  memcpy(&half, value, sizeof half);
  return half;
}

static uint64_t less(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static int run_nothing(const void *const *values, uint64_t items, unsigned block) {
  (void)values, (void)items, (void)block;
  return 0;
}

/* (float a, const float *x, float *y, unsigned n): y += a x */
static int run_saxpy(const void *const *values, uint64_t items, unsigned block) {
  (void)block;
  float a;
  memcpy(&a, values[0], sizeof a);
  uint64_t count = less(half_word(values[3]), items);
  if (count && (!fake_memory_at(word(values[1]), count * sizeof a) ||
                !fake_memory_at(word(values[2]), count * sizeof a)))
    return illegal_address;
  const float *x = (const float *)(uintptr_t)word(values[1]);
  float *y = (float *)(uintptr_t)word(values[2]);
  for (uint64_t i = 0; i < count; ++i)
    y[i] += a * x[i];
  return 0;
}

/* (float *y): one group writes 1 */
static int run_fill(const void *const *values, uint64_t items, unsigned block) {
  (void)items;
  if (!fake_memory_at(word(values[0]), block * sizeof(float)))
    return illegal_address;
  float *y = (float *)(uintptr_t)word(values[0]);
  for (unsigned i = 0; i < block; ++i)
    y[i] = 1;
  return 0;
}

/* (unsigned *to, const unsigned *from, unsigned n) */
static int run_copy(const void *const *values, uint64_t items, unsigned block) {
  (void)block;
  uint64_t size = less(half_word(values[2]), items) * 4;
  if (size && (!fake_memory_at(word(values[0]), size) || !fake_memory_at(word(values[1]), size)))
    return illegal_address;
  memcpy((void *)(uintptr_t)word(values[0]), (const void *)(uintptr_t)word(values[1]), size);
  return 0;
}

static const fake_program programs[] = {
    {"empty", {0}, run_nothing},
    {"saxpy", {4, 8, 8, 4, 0}, run_saxpy},
    {"fill", {8, 0}, run_fill},
    {"copy", {8, 8, 4, 0}, run_copy},
};

static bool takes(const fake_program *program, const fake_object *kernel) {
  unsigned count = 0;
  while (program->sizes[count])
    ++count;
  return count == kernel->param_count &&
         memcmp(program->sizes, kernel->param_sizes, count * sizeof *program->sizes) == 0;
}

const fake_program *fake_program_find(const fake_object *kernel) {
  for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
    if (strcmp(programs[i].name, kernel->name) == 0 && takes(&programs[i], kernel))
      return &programs[i];
  }
  return NULL;
}

int fake_program_run(const fake_object *kernel, const unsigned grid[3], const unsigned block[3],
                     void **params) {
  uint64_t items = (uint64_t)grid[0] * block[0] * (uint64_t)kernel->owner->per_item;
  return kernel->program->run((const void *const *)params, items, block[0]);
}
