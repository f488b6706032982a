/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions of <kdl/matmul.h>: a CPU's or a GPU's, after checks. */
#include "matmul/cpu.h"
#include "matmul/tuned.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static __attribute__((format(printf, 1, 2))) kdl_status refuse(const char *format, ...) {
  char message[256];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return kdl_error_set(KDL_BAD_CALL, message);
}

/* IS_GIVEN(a, b): refuses the first that is NULL, by its name. */
#define IS_GIVEN(...) (KDL_EACH(IS_ONE_GIVEN, _, __VA_ARGS__) KDL_OK)
#define IS_ONE_GIVEN(p, a) !(a) ? refuse("%s: found NULL for " #a ", expected a pointer", __func__):

static kdl_status check_type(kdl_matmul_type type) {
  if ((unsigned)type <= KDL_MATMUL_F32_F16)
    return KDL_OK;
  return refuse("matmul: found type %d, expected KDL_MATMUL_F32_BF16 (0) to F32_F16 (3)",
                (int)type);
}

static kdl_status check_mode(kdl_matmul_mode mode) {
  if (mode == KDL_MATMUL_SET || mode == KDL_MATMUL_ADD)
    return KDL_OK;
  return refuse("matmul: found mode %d, expected KDL_MATMUL_SET (0) or ADD (1)", (int)mode);
}

static kdl_status check_matmul(const kdl_matmul *matmul) {
  if (matmul->gpu)
    return KDL_OK;
  kdl_status status = check_type(matmul->type);
  if (status == KDL_OK && !(matmul->pack && matmul->multiply && matmul->unpacked))
    return refuse("matmul: found no kernels, expected what kdl_matmul_find gave");
  if (status == KDL_OK && (!matmul->threads || matmul->threads > KDL_MATMUL_MAX_THREADS))
    return refuse("matmul: found %u threads, expected 1 to %d", matmul->threads,
                  KDL_MATMUL_MAX_THREADS);
  return status;
}

static kdl_status find_gpu(kdl_library *lib, kdl_device *device, kdl_matmul_type type,
                           kdl_matmul *out_matmul) {
  memset(out_matmul, 0, sizeof *out_matmul);
  out_matmul->type = type;
  out_matmul->threads = 1;
  return kdl_matmul_gpu_find(lib, device, type, &out_matmul->gpu);
}

kdl_status kdl_matmul_find(kdl_library *lib, kdl_device *device, kdl_matmul_type type,
                           uint32_t threads, kdl_matmul *out_matmul) {
  kdl_matmul found;
  kdl_device_info info = {.size = sizeof info};
  kdl_status status = IS_GIVEN(lib, device, out_matmul);
  if (status == KDL_OK)
    status = kdl_device_get(device, &info);
  const int is_gpu =
      status == KDL_OK && (strcmp(info.backend, "cuda") == 0 || strcmp(info.backend, "hip") == 0);
  if (status == KDL_OK && !is_gpu)
    status = check_type(type);
  if (status == KDL_OK)
    status =
        is_gpu ? find_gpu(lib, device, type, &found) : cpu_find(lib, device, type, threads, &found);
  if (status == KDL_OK && !is_gpu)
    status = cpu_tuners_create(&found);
  if (status == KDL_OK)
    *out_matmul = found;
  return status;
}

void kdl_matmul_free(kdl_matmul *matmul) {
  if (!matmul)
    return;
  kdl_matmul_gpu_free(matmul->gpu);
  kdl_tuner_destroy(matmul->tuner);
  kdl_tuner_destroy(matmul->unpacked_tuner);
  matmul->gpu = NULL;
  matmul->tuner = matmul->unpacked_tuner = NULL;
}

/* As kernels count, with every step checked. GPUs need no more, and have types of one byte besides:
 * rows of multiples of 32. */
size_t kdl_matmul_packed_size(kdl_matmul_type type, uint32_t n, uint32_t k) {
  if ((unsigned)type > KDL_MATMUL_F32_E4M3FNUZ || !cpu_packed_is_counted(n, k))
    return 0;
  if (type == KDL_MATMUL_F32_E4M3 || type == KDL_MATMUL_F32_E4M3FNUZ)
    return (size_t)n * (((size_t)k + 31) / 32 * 32);
  return kdl_matmul_packed_bytes(type, n, k);
}

kdl_status kdl_matmul_pack(const kdl_matmul *matmul, kdl_queue *queue, kdl_matmul_matrix b,
                           void *packed, uint32_t n, uint32_t k) {
  kdl_status status = IS_GIVEN(matmul, packed);
  if (status == KDL_OK)
    status = check_matmul(matmul);
  if (status == KDL_OK && matmul->gpu)
    return kdl_matmul_gpu_pack(matmul->gpu, queue, &b, packed, n, k);
  return status == KDL_OK ? cpu_pack(matmul, queue, &b, packed, n, k) : status;
}

static kdl_status run_gpu(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *a,
                          const kdl_matmul_matrix *b, const kdl_matmul_matrix *c, uint32_t m,
                          uint32_t n, uint32_t k, kdl_matmul_mode mode) {
  kdl_matmul_gpu_problem problem = kdl_matmul_gpu_problem_of(m, n, k);
  problem.a = *a;
  problem.b = *b;
  problem.c = *c;
  if (mode == KDL_MATMUL_ADD)
    problem.residual = *c;
  return kdl_matmul_gpu_run(matmul->gpu, queue, &problem);
}

kdl_status kdl_matmul_run(const kdl_matmul *matmul, kdl_queue *queue, kdl_matmul_matrix a,
                          const void *packed, kdl_matmul_matrix c, uint32_t m, uint32_t n,
                          uint32_t k, kdl_matmul_mode mode) {
  kdl_status status = IS_GIVEN(matmul, packed);
  if (status == KDL_OK)
    status = check_matmul(matmul);
  if (status == KDL_OK)
    status = check_mode(mode);
  if (status == KDL_OK && matmul->gpu) {
    kdl_matmul_matrix b = kdl_matmul_gpu_packed(matmul->gpu, (void *)(uintptr_t)packed, k);
    return run_gpu(matmul, queue, &a, &b, &c, m, n, k, mode);
  }
  if (status == KDL_OK)
    status = cpu_check_sizes(m, n, k); /* before a tuner takes it for a way that fails */
  if (status == KDL_OK && matmul->tuner)
    return cpu_run_tuned(matmul, queue, &a, packed, &c, m, n, k, mode);
  return status == KDL_OK ? cpu_run(matmul, queue, &a, packed, &c, m, n, k, mode) : status;
}

kdl_status kdl_matmul_run_unpacked(const kdl_matmul *matmul, kdl_queue *queue, kdl_matmul_matrix a,
                                   kdl_matmul_matrix b, void *scratch, kdl_matmul_matrix c,
                                   uint32_t m, uint32_t n, uint32_t k, kdl_matmul_mode mode) {
  kdl_status status = IS_GIVEN(matmul);
  if (status == KDL_OK)
    status = check_matmul(matmul);
  if (status == KDL_OK)
    status = check_mode(mode);
  if (status == KDL_OK && matmul->gpu)
    return run_gpu(matmul, queue, &a, &b, &c, m, n, k, mode);
  if (status == KDL_OK)
    status = IS_GIVEN(scratch);
  if (status == KDL_OK)
    status = cpu_check_sizes(m, n, k);
  if (status == KDL_OK && matmul->unpacked_tuner)
    return cpu_run_unpacked_tuned(matmul, queue, &a, &b, scratch, &c, m, n, k, mode);
  return status == KDL_OK ? cpu_run_unpacked(matmul, queue, &a, &b, scratch, &c, m, n, k, mode)
                          : status;
}
