/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Products from C, for bench/python/matmul.py: a shared library with libkdl's static one in it. */
#include <kdl/matmul.h>

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

static double now_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

typedef struct product {
  kdl_matmul matmul;
  kdl_matmul_matrix a, c;
  const void *packed;
  uint32_t size;
} product;

static bool multiply_once(const product *self) {
  return kdl_matmul_run(&self->matmul, NULL, self->a, self->packed, self->c, self->size, self->size,
                        self->size, KDL_MATMUL_SET) == KDL_OK;
}

/* The first one is not timed. */
static double timed(const product *self, size_t count) {
  if (!multiply_once(self))
    return -1;
  double start = now_seconds();
  for (size_t i = 0; i < count; ++i)
    if (!multiply_once(self))
      return -1;
  return now_seconds() - start;
}

/* Seconds of `count` products of square matrices, with b packed before; -1 where one fails. */
double matmul_loop(const char *path, int type, unsigned threads, void *a, void *b, void *c,
                   unsigned size, size_t count) {
  static kdl_library *library; /* one file in a process */
  kdl_device *host;
  product self = {.a = {a, size, 1}, .c = {c, size, 1}, .size = size};
  if ((!library && kdl_open(path, NULL, &library) != KDL_OK) ||
      kdl_device_find("host", &host) != KDL_OK ||
      kdl_matmul_find(library, host, (kdl_matmul_type)type, threads, &self.matmul) != KDL_OK)
    return -1;
  size_t bytes = kdl_matmul_packed_size((kdl_matmul_type)type, size, size);
  void *packed = aligned_alloc(64, (bytes + 63) / 64 * 64);
  self.packed = packed;
  kdl_matmul_matrix right = {b, size, 1};
  bool ok = packed && kdl_matmul_pack(&self.matmul, NULL, right, packed, size, size) == KDL_OK;
  double taken = ok ? timed(&self, count) : -1;
  free(packed);
  return taken;
}
