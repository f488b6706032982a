/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions of <kdl/matmul.h> that are not inline: the inline ones, after checks. */
#include <kdl/matmul.h>

#include <stdarg.h>
#include <stdio.h>

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
  kdl_status status = check_type(matmul->type);
  if (status != KDL_OK || (matmul->pack && matmul->multiply && matmul->unpacked))
    return status;
  return refuse("matmul: found no kernels, expected what kdl_matmul_find_call gave");
}

kdl_status kdl_matmul_find_call(kdl_library *lib, kdl_device *host, kdl_matmul_type type,
                                uint32_t threads, kdl_matmul *out_matmul) {
  kdl_matmul found;
  kdl_status status = IS_GIVEN(lib, host, out_matmul);
  if (status == KDL_OK)
    status = check_type(type);
  if (status == KDL_OK)
    status = kdl_matmul_find(lib, host, type, threads, &found);
  if (status == KDL_OK)
    *out_matmul = found;
  return status;
}

/* As the inline function counts, with every step checked. */
size_t kdl_matmul_packed_size_call(kdl_matmul_type type, uint32_t n, uint32_t k) {
  uint64_t most = ((uint64_t)n + 16) * ((uint64_t)k + 64);
  if ((unsigned)type > KDL_MATMUL_F32_F16 || (n && most / n < k) || most > SIZE_MAX / 8)
    return 0;
  return kdl_matmul_packed_size(type, n, k);
}

kdl_status kdl_matmul_pack_call(const kdl_matmul *matmul, kdl_queue *queue,
                                const kdl_matmul_matrix *b, void *packed, uint32_t n, uint32_t k) {
  kdl_status status = IS_GIVEN(matmul, b, packed);
  if (status == KDL_OK)
    status = check_matmul(matmul);
  return status == KDL_OK ? kdl_matmul_pack(matmul, queue, *b, packed, n, k) : status;
}

kdl_status kdl_matmul_run_call(const kdl_matmul *matmul, kdl_queue *queue,
                               const kdl_matmul_matrix *a, const void *packed,
                               const kdl_matmul_matrix *c, uint32_t m, uint32_t n, uint32_t k,
                               kdl_matmul_mode mode) {
  kdl_status status = IS_GIVEN(matmul, a, packed, c);
  if (status == KDL_OK)
    status = check_matmul(matmul);
  if (status == KDL_OK)
    status = check_mode(mode);
  return status == KDL_OK ? kdl_matmul_run(matmul, queue, *a, packed, *c, m, n, k, mode) : status;
}

kdl_status kdl_matmul_run_unpacked_call(const kdl_matmul *matmul, kdl_queue *queue,
                                        const kdl_matmul_matrix *a, const kdl_matmul_matrix *b,
                                        void *scratch, const kdl_matmul_matrix *c, uint32_t m,
                                        uint32_t n, uint32_t k, kdl_matmul_mode mode) {
  kdl_status status = IS_GIVEN(matmul, a, b, scratch, c);
  if (status == KDL_OK)
    status = check_matmul(matmul);
  if (status == KDL_OK)
    status = check_mode(mode);
  return status == KDL_OK
             ? kdl_matmul_run_unpacked(matmul, queue, *a, *b, scratch, *c, m, n, k, mode)
             : status;
}
