/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The smallest and the largest sizes of a multiplication on a GPU:
 *
 *     gpu_matmul_sizes_test LIBRARY.offload
 *
 * Exit status 77: no NVIDIA GPU.
 */
#include "tests/ukernels/gpu_test.h"

#include <kdl/matmul_gpu.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

static kdl_device *device;
static kdl_queue *queue;
static kdl_matmul_gpu *matmul;
static kdl_buffer operand, result; /* A and B, and C: bytes of all ones where not written */
static int failures;

static void report(int is_right, const char *name, kdl_status status, uint32_t found) {
  failures += !is_right;
  printf("%-6s %s: status %d, C %#x\n", is_right ? "ok" : "FAILED", name, (int)status, found);
  fflush(stdout);
}

/* All elements of C are one, and those of A and B along the sizes that are not K: matrices of any
 * size take the memory of K. */
static void run(const char *name, const uint32_t sizes[4], kdl_status expected, uint32_t sum) {
  kdl_matmul_gpu_problem p = kdl_matmul_gpu_problem_of(sizes[0], sizes[1], sizes[2]);
  const uint32_t unwritten = UINT32_MAX;
  uint32_t found;
  p.batch = sizes[3];
  p.a = (kdl_matmul_matrix){(void *)(uintptr_t)operand.address, 0, 1};
  p.b = (kdl_matmul_matrix){(void *)(uintptr_t)operand.address, 1, 0};
  p.c = (kdl_matmul_matrix){(void *)(uintptr_t)result.address, 0, 0};
  must(kdl_fill(queue, &result, 0, result.size, &unwritten, 4), "kdl_fill");
  kdl_status status = kdl_matmul_gpu_run(matmul, queue, &p);
  must(kdl_read(queue, &found, &result, 0, sizeof found), "kdl_read");
  must(kdl_sync(queue), name);
  report(status == expected && found == sum, name, status, found);
}

static int find_gpu(void) {
  for (size_t i = 0; i < kdl_device_count(); ++i) {
    kdl_device_info info = {.size = sizeof info};
    device = kdl_device_at(i);
    must(kdl_device_get(device, &info), "kdl_device_get");
    if (!strcmp(info.backend, "cuda"))
      return 1;
  }
  return 0;
}

static void run_type(kdl_library *library, kdl_matmul_type type, uint32_t ones, uint32_t seven,
                     uint32_t sixteen) {
  const uint32_t most = INT32_MAX, none = UINT32_MAX, zero = 0;
  const uint64_t bytes = type == KDL_MATMUL_S32_S8 ? 1 : 2, end = ((uint64_t)most - 16) * bytes;
  printf("type %d\n", (int)type);
  must(kdl_matmul_gpu_find(library, device, type, &matmul), "kdl_matmul_gpu_find");
  must(kdl_alloc(device, 64, &result), "kdl_alloc");
  must(kdl_alloc(device, 4096, &operand), "kdl_alloc");
  must(kdl_fill(queue, &operand, 0, operand.size, &ones, 4), "kdl_fill");
  run("a product", (const uint32_t[]){5, 6, 7, 2}, KDL_OK, seven);
  run("M of 0", (const uint32_t[]){0, 6, 7, 2}, KDL_OK, none);
  run("N of 0", (const uint32_t[]){5, 0, 7, 2}, KDL_OK, none);
  run("batch of 0", (const uint32_t[]){5, 6, 7, 0}, KDL_OK, none);
  run("all of 0", (const uint32_t[]){0, 0, 0, 0}, KDL_OK, none);
  run("K of 0", (const uint32_t[]){5, 6, 0, 2}, KDL_OK, 0);
  run("M of 2^31", (const uint32_t[]){most + 1, 1, 7, 1}, KDL_BAD_CALL, none);
  run("N of 2^31", (const uint32_t[]){1, most + 1, 7, 1}, KDL_BAD_CALL, none);
  run("K of 2^31", (const uint32_t[]){1, 1, most + 1, 1}, KDL_BAD_CALL, none);
  run("batch of 2^31", (const uint32_t[]){1, 1, 7, most + 1}, KDL_BAD_CALL, none);
  run("M of 2^32 - 1", (const uint32_t[]){UINT32_MAX, 1, 7, 1}, KDL_BAD_CALL, none);
  run("N of 2^32 - 1", (const uint32_t[]){1, UINT32_MAX, 7, 1}, KDL_BAD_CALL, none);
  run("K of 2^32 - 63", (const uint32_t[]){1, 1, UINT32_MAX - 62, 1}, KDL_BAD_CALL, none);
  run("tiles of 2^32", (const uint32_t[]){1u << 30, 1u << 30, 7, 1}, KDL_BAD_CALL, none);
  run("M of 2^31 - 1", (const uint32_t[]){most, 1, 7, 1}, KDL_OK, seven);
  run("N of 2^31 - 1", (const uint32_t[]){1, most, 7, 1}, KDL_OK, seven);
  run("batch of 2^31 - 1", (const uint32_t[]){1, 1, 7, most}, KDL_OK, seven);
  kdl_free(&operand);
  /* The last 16 elements alone are not zero. */
  must(kdl_alloc(device, ((uint64_t)most + 1) * bytes, &operand), "kdl_alloc");
  must(kdl_fill(queue, &operand, 0, operand.size, &zero, 4), "kdl_fill");
  uint8_t pattern[32];
  for (size_t i = 0; i < sizeof pattern; ++i)
    pattern[i] = ((const uint8_t *)&ones)[i % 4];
  must(kdl_write(queue, &operand, end, pattern, 16 * bytes), "kdl_write");
  must(kdl_sync(queue), "kdl_sync");
  run("K of 2^31 - 1", (const uint32_t[]){1, 1, most, 1}, KDL_OK, sixteen);
  kdl_free(&operand);
  kdl_free(&result);
  kdl_matmul_gpu_free(matmul);
}

int main(int argc, char **argv) {
  kdl_library *library;
  if (argc != 2) {
    fprintf(stderr, "usage: gpu_matmul_sizes_test LIBRARY.offload\n");
    return 2;
  }
  if (!find_gpu()) {
    printf("skipped: no NVIDIA GPU\n");
    return 77;
  }
  must(kdl_open(argv[1], NULL, &library), "kdl_open");
  must(kdl_queue_create(device, NULL, &queue), "kdl_queue_create");
  run_type(library, KDL_MATMUL_F32_BF16, 0x3f803f80, 0x40e00000, 0x41800000);
  run_type(library, KDL_MATMUL_S32_S8, 0x01010101, 7, 16);
  printf("%d failures\n", failures);
  kdl_queue_destroy(queue);
  kdl_close(library);
  return failures ? 1 : 0;
}
