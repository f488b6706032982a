/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* OpenBLAS, through the C interface that all BLAS libraries share: f32 only, and it keeps no packed
 * weights. */
#include "gemm.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { row_major = 101, as_it_is = 111 };

static void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                     const float *a, int a_stride, const float *b, int b_stride, float beta,
                     float *c, int c_stride);
static void (*set_threads)(int);

static const char *openblas_open(void) {
  void *library = sgemm ? NULL : dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library) {
    *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
  }
  return sgemm && set_threads ? NULL : "libopenblas.so.0 not found (Debian: libopenblas0-pthread)";
}

static void *openblas_prepare(const gemm_problem *problem, uint32_t threads, bool pack) {
  (void)pack;
  gemm_problem *copy =
      problem->type == KDL_MATMUL_F32_F32 && problem->k ? malloc(sizeof *copy) : NULL;
  if (copy) {
    *copy = *problem;
    set_threads((int)threads);
  }
  return copy;
}

static void openblas_run(void *context) {
  const gemm_problem *p = context;
  int m = (int)p->m, n = (int)p->n, k = (int)p->k;
  sgemm(row_major, as_it_is, as_it_is, m, n, k, 1, p->a, k, p->b, n, 0, p->c, n);
}

const gemm_peer gemm_openblas = {"openblas",       "OpenBLAS",   openblas_open,
                                 openblas_prepare, openblas_run, free};
