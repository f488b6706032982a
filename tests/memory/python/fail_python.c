/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Python's own allocations, one of which fails: what is called as the interpreter's allocators, in
 * place of them. */
#include <Python.h>

static PyMemAllocatorEx given[3];
static const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
static unsigned long count, fails_at; /* 0: none */
static size_t spared;                 /* allocations of this size do not fail */

static int fails(size_t size) {
  return fails_at && size != spared && ++count == fails_at;
}

static void *take(void *of, size_t size) {
  const PyMemAllocatorEx *real = of;
  return fails(size) ? NULL : real->malloc(real->ctx, size);
}

static void *take_clear(void *of, size_t number, size_t size) {
  const PyMemAllocatorEx *real = of;
  return fails(number * size) ? NULL : real->calloc(real->ctx, number, size);
}

static void *resize(void *of, void *memory, size_t size) {
  const PyMemAllocatorEx *real = of;
  return fails(size) ? NULL : real->realloc(real->ctx, memory, size);
}

static void give_back(void *of, void *memory) {
  const PyMemAllocatorEx *real = of;
  real->free(real->ctx, memory);
}

/* From now on allocation `at` fails, counted from 1 without those of the size `sparing`. Returns
 * whether the last one that was to fail has. */
__attribute__((visibility("default"))) int kdl_fail_python(unsigned long at, size_t sparing);
int kdl_fail_python(unsigned long at, size_t sparing) {
  for (int i = 0; i < 2 && !given[i].malloc; ++i) {
    PyMem_GetAllocator(domains[i], &given[i]);
    PyMemAllocatorEx own = {&given[i], take, take_clear, resize, give_back};
    PyMem_SetAllocator(domains[i], &own);
  }
  int reached = fails_at && count >= fails_at;
  count = 0;
  fails_at = at;
  spared = sparing;
  return reached;
}
