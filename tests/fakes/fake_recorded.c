/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launches that are kept to be run later. */
#include "fake_objects.h"

#include <stdlib.h>

struct fake_recorded {
  fake_recorded *next;
  const fake_object *kernel;
  fake_object *context;
  unsigned grid[3];
  unsigned block[3];
  uint64_t shared;
  char values[most_params][16];
};

static fake_recorded **end_of(fake_object *object) {
  fake_recorded **link = &object->recorded_launches;
  while (*link)
    link = &(*link)->next;
  return link;
}

static fake_recorded *copy_of(const fake_recorded *from) {
  fake_recorded *made = malloc(sizeof *made);
  if (!made)
    abort();
  *made = *from;
  made->next = NULL;
  return made;
}

void fake_recorded_add(fake_object *stream, const fake_object *kernel, fake_object *context,
                       const unsigned grid[3], const unsigned block[3], uint64_t shared,
                       void **params) {
  fake_recorded launch = {.kernel = kernel, .context = context, .shared = shared};
  memcpy(launch.grid, grid, sizeof launch.grid);
  memcpy(launch.block, block, sizeof launch.block);
  for (unsigned i = 0; i < kernel->param_count; ++i) {
    if (kernel->param_sizes[i] <= sizeof launch.values[i])
      memcpy(launch.values[i], params[i], kernel->param_sizes[i]);
  }
  *end_of(stream) = copy_of(&launch);
}

void fake_recorded_copy(const fake_object *from, fake_object *to) {
  for (const fake_recorded *launch = from->recorded_launches; launch; launch = launch->next)
    *end_of(to) = copy_of(launch);
}

void fake_recorded_clear(fake_object *object) {
  while (object->recorded_launches) {
    fake_recorded *first = object->recorded_launches;
    object->recorded_launches = first->next;
    free(first);
  }
}

bool fake_recorded_run(const fake_object *from) {
  for (const fake_recorded *launch = from->recorded_launches; launch; launch = launch->next) {
    void *params[most_params];
    for (unsigned i = 0; i < most_params; ++i)
      params[i] = (void *)(uintptr_t)launch->values[i];
    ++fake_launch_count;
    if (launch->kernel->program && !fake_program_run(launch->kernel, launch->context, launch->grid,
                                                     launch->block, launch->shared, params))
      return false;
  }
  return true;
}
