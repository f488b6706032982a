/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Products from C, for bench/python/matmul.py and bench/matmul_scale.py: a shared library with
 * the static ones of libkdl in it. */
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
  void *packed, *scratch;
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
    return kdl_matmul_run_unpacked(&self->matmul, NULL, self->a, self->b, self->scratch, self->c,
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

/* One file in a process. */
static kdl_status find_kernels(const char *path, product *self, kdl_matmul_type type,
                               unsigned threads) {
  static kdl_library *library;
  kdl_device *host;
  kdl_status status = library ? KDL_OK : kdl_open(path, NULL, &library);
  if (status == KDL_OK)
    status = kdl_device_find("host", &host);
  return status == KDL_OK ? kdl_matmul_find(library, host, type, threads, &self->matmul) : status;
}

static bool is_same(const product *a, const product *b) {
  return a->packed && a->b.elements == b->b.elements && a->matmul.type == b->matmul.type &&
         a->matmul.threads == b->matmul.threads && a->n == b->n && a->k == b->k;
}

/* Seconds of `count` products of matrices whose rows have no gaps, or of packing B as often; -1
 * where one fails. B stays packed from one call to the next with the same one. */
double matmul_loop(const char *path, int type, unsigned threads, void *a, void *b, void *c,
                   unsigned m, unsigned n, unsigned k, int way, size_t count) {
  static product before;
  product self = {.a = kdl_matmul_rows(a, k),
                  .b = kdl_matmul_rows(b, n),
                  .c = kdl_matmul_rows(c, n),
                  .m = m,
                  .n = n,
                  .k = k,
                  .way = (enum way)way};
  if (find_kernels(path, &self, (kdl_matmul_type)type, threads) != KDL_OK)
    return -1;
  if (is_same(&before, &self)) {
    self.packed = before.packed;
    self.scratch = before.scratch;
  } else {
    size_t bytes = (kdl_matmul_packed_size((kdl_matmul_type)type, n, k) + 63) / 64 * 64;
    free(before.packed);
    free(before.scratch);
    self.packed = aligned_alloc(64, bytes);
    self.scratch = aligned_alloc(64, bytes);
    before = self;
    if (!self.packed || !self.scratch || pack_weights(&self) != KDL_OK)
      return -1;
  }
  double seconds = timed(&self, count);
  kdl_matmul_free(&self.matmul);
  return seconds;
}
