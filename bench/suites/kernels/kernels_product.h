/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Products of matrices by libraries, in a process of `kdl bench kernels`. */
#ifndef KDL_BENCH_SUITES_KERNELS_KERNELS_PRODUCT_H
#define KDL_BENCH_SUITES_KERNELS_KERNELS_PRODUCT_H

#include "suites/kernels/kernels.h"

#include <kdl/matmul.h>

typedef struct kernels_product {
  uint32_t n;
  /* kdl: packed before, as the others' weights are. */
  kdl_library *library;
  kdl_queue *queue;
  kdl_matmul matmul;
  kdl_matmul_matrix a, c;
  void *packed;
  void *prepared; /* oneDNN's */
} kernels_product;

kdl_matmul_type kernels_product_type(const kernels_case *what);

/* Of the problem's buffers, by kdl (on `queue`) or oneDNN. `folder` may have kdl's kernels, linked
 * for this CPU. The caller frees *out_product. */
kdl_status kernels_product_prepare(const char *folder, kdl_queue *queue, uint32_t threads,
                                   const kernels_case *what, const kernels_problem *problem,
                                   kernels_product *out_product);
kdl_status kernels_product_run(const kernels_product *product);
void kernels_product_free(kernels_product *product);

/* Runs PyTorch in place of this process. Returns only where that fails, with the reason. */
kdl_status kernels_product_exec_torch(const char *folder, const char *threads, int channel);

#endif
