/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Products from C, for bench/python/matmul.py and bench/matmul_scale.py: a shared library with
 * libkdl's static one in it. */
#include <kdl/matmul.h>

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

static double now_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

typedef enum way { way_packed, way_unpacked, way_pack } way;

typedef struct product {
  kdl_matmul matmul;
  kdl_matmul_matrix a, b, c;
  void *packed;
  uint32_t m, n, k;
  way way;
} product;

static kdl_status pack_weights(const product *self) {
  return kdl_matmul_pack(&self->matmul, NULL, self->b, self->packed, self->n, self->k);
}

static bool run_once(const product *self) {
  if (self->way == way_pack)
    return pack_weights(self) == KDL_OK;
  if (self->way == way_unpacked)
    return kdl_matmul_run_unpacked(&self->matmul, NULL, self->a, self->b, self->packed, self->c,
                                   self->m, self->n, self->k, KDL_MATMUL_SET) == KDL_OK;
  return kdl_matmul_run(&self->matmul, NULL, self->a, self->packed, self->c, self->m, self->n,
                        self->k, KDL_MATMUL_SET) == KDL_OK;
}

/* One before them is not timed, unless a single one is long enough. */
static double timed(const product *self, size_t count) {
  if (count > 1 && !run_once(self))
    return -1;
  double start = now_seconds();
  for (size_t i = 0; i < count; ++i)
    if (!run_once(self))
      return -1;
  return now_seconds() - start;
}

/* Seconds of `count` products of matrices whose rows have no gaps, or of packing B as often; -1
 * where one fails. */
double matmul_loop(const char *path, int type, unsigned threads, void *a, void *b, void *c,
                   unsigned m, unsigned n, unsigned k, int way, size_t count) {
  static kdl_library *library; /* one file in a process */
  kdl_device *host;
  product self = {.a = kdl_matmul_rows(a, k),
                  .b = kdl_matmul_rows(b, n),
                  .c = kdl_matmul_rows(c, n),
                  .m = m,
                  .n = n,
                  .k = k,
                  .way = (enum way)way};
  if ((!library && kdl_open(path, NULL, &library) != KDL_OK) ||
      kdl_device_find("host", &host) != KDL_OK ||
      kdl_matmul_find(library, host, (kdl_matmul_type)type, threads, &self.matmul) != KDL_OK)
    return -1;
  size_t bytes = kdl_matmul_packed_size((kdl_matmul_type)type, n, k);
  self.packed = aligned_alloc(64, (bytes + 63) / 64 * 64);
  bool ok = self.packed && pack_weights(&self) == KDL_OK;
  double taken = ok ? timed(&self, count) : -1;
  free(self.packed);
  return taken;
}
