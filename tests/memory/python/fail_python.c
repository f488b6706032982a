/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Python's own allocations, one of which fails: what is called as the interpreter's allocators, in
 * place of them. */
#include <Python.h>

static PyMemAllocatorEx given[3];
static const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
static unsigned long count, fails_at; /* 0: none */

static int fails(void) {
  return fails_at && ++count == fails_at;
}

static void *take(void *of, size_t size) {
  const PyMemAllocatorEx *real = of;
  return fails() ? NULL : real->malloc(real->ctx, size);
}

static void *take_clear(void *of, size_t number, size_t size) {
  const PyMemAllocatorEx *real = of;
  return fails() ? NULL : real->calloc(real->ctx, number, size);
}

static void *resize(void *of, void *memory, size_t size) {
  const PyMemAllocatorEx *real = of;
  return fails() ? NULL : real->realloc(real->ctx, memory, size);
}

static void give_back(void *of, void *memory) {
  const PyMemAllocatorEx *real = of;
  real->free(real->ctx, memory);
}

/* From now on allocation `at` fails, counted from 1. Returns whether the last one that was to fail
 * has. */
__attribute__((visibility("default"))) int kdl_fail_python(unsigned long at);
int kdl_fail_python(unsigned long at) {
  for (int i = 0; i < 2 && !given[i].malloc; ++i) {
    PyMem_GetAllocator(domains[i], &given[i]);
    PyMemAllocatorEx own = {&given[i], take, take_clear, resize, give_back};
    PyMem_SetAllocator(domains[i], &own);
  }
  int reached = fails_at && count >= fails_at;
  count = 0;
  fails_at = at;
  return reached;
}
