/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "suites/kernels/kernels_product.h"

#include "peers/gemm.h"
#include "support/base/error.h"
#include "support/system/environment.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

kdl_matmul_type kernels_product_type(const kernels_case *what) {
  return strcmp(what->name, "gemm_bf16") == 0 ? KDL_MATMUL_F32_BF16 : KDL_MATMUL_F32_F32;
}

static kdl_status open_products(const char *folder, kdl_library **out_library) {
  const kdl_open_opts as_it_stands = {.size = sizeof as_it_stands, .flags = KDL_OPEN_FILE};
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/kdl-matmul.offload", folder);
  return access(path, R_OK) == 0 ? kdl_open(path, &as_it_stands, out_library)
                                 : kdl_open("kdl-matmul", NULL, out_library);
}

static kdl_status prepare_own(const char *folder, uint32_t threads, const kernels_case *what,
                              const kernels_problem *problem, kernels_product *product) {
  kdl_device *host;
  uint32_t n = product->n;
  kdl_matmul_matrix b = {problem->buffers[1], n, 1};
  kdl_matmul_type type = kernels_product_type(what);
  product->a = (kdl_matmul_matrix){problem->buffers[0], n, 1};
  product->c = (kdl_matmul_matrix){problem->buffers[2], n, 1};
  KDL_TRY(kdl_device_find("host", &host));
  KDL_TRY(open_products(folder, &product->library));
  KDL_TRY(kdl_matmul_find(product->library, host, type, threads, &product->matmul));
  size_t size = (kdl_matmul_packed_size(type, n, n) + 63) / 64 * 64;
  product->packed = aligned_alloc(64, size);
  if (!product->packed)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %s", what->name);
  return kdl_matmul_pack(&product->matmul, product->queue, b, product->packed, n, n);
}

kdl_status kernels_product_prepare(const char *folder, kdl_queue *queue, uint32_t threads,
                                   const kernels_case *what, const kernels_problem *problem,
                                   kernels_product *out_product) {
  uint32_t n = problem->n;
  *out_product = (kernels_product){.n = n, .queue = queue};
  if (queue)
    return prepare_own(folder, threads, what, problem, out_product);
  gemm_problem theirs = {.type = kernels_product_type(what),
                         .m = n,
                         .n = n,
                         .k = n,
                         .a = problem->buffers[0],
                         .b = problem->buffers[1],
                         .c = problem->buffers[2]};
  out_product->prepared = gemm_onednn.prepare(&theirs, threads, true);
  return out_product->prepared ? KDL_OK : kdl_fail(KDL_UNSUPPORTED, "it does not take the type");
}

kdl_status kernels_product_run(const kernels_product *product) {
  uint32_t n = product->n;
  if (product->prepared) {
    gemm_onednn.run(product->prepared);
    return KDL_OK;
  }
  return kdl_matmul_run(&product->matmul, product->queue, product->a, product->packed, product->c,
                        n, n, n, KDL_MATMUL_SET);
}

void kernels_product_free(kernels_product *product) {
  if (product->prepared)
    gemm_onednn.release(product->prepared);
  kdl_matmul_free(&product->matmul);
  kdl_close(product->library);
  free(product->packed);
  *product = (kernels_product){.n = 0};
}

kdl_status kernels_product_exec_torch(const char *folder, const char *threads, int channel) {
  const char *python = kdl_environment(KDL_VARIABLE_BENCH_PYTHON);
  char script[PATH_MAX], fd[16], kernels[KERNELS_ARGUMENTS][32];
  char *arguments[KERNELS_ARGUMENTS + 5] = {(char *)(python ? python : "python3"), script, fd,
                                            (char *)threads};
  size_t count = 4;
  snprintf(script, sizeof script, "%s/torch_products.py", folder);
  snprintf(fd, sizeof fd, "%d", channel);
  if (access(script, R_OK) != 0)
    return kdl_fail(KDL_UNSUPPORTED, "%s is not there", script);
  for (size_t i = 0; i < kernels_case_count && count < KERNELS_ARGUMENTS + 4; ++i) {
    if (kernels_cases[i].library)
      continue;
    snprintf(kernels[count - 4], sizeof *kernels, "%zu=%s", i,
             kernels_product_type(&kernels_cases[i]) == KDL_MATMUL_F32_BF16 ? "bf16" : "f32");
    arguments[count] = kernels[count - 4];
    ++count;
  }
  (void)fcntl(channel, F_SETFD, 0); /* which it inherits */
  execvp(arguments[0], arguments);
  return kdl_fail(KDL_UNSUPPORTED, "%s cannot be started", arguments[0]);
}
