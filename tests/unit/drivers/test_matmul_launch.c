/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the multiplication and attention launch on a (fake) NVIDIA GPU: nothing for products without
 * elements, and nothing where the sizes or the tiles that a library tells cannot be right. */
#include "cuda_support.h"

#include <kdl/attention_gpu.h>
#include <kdl/matmul_gpu.h>

#include <limits.h>

#define MATMUL(suffix)                                                                             \
  ".visible .entry kdl_gpu_matmul_f32_bf16_" suffix "(.param .align 64 .b8 args[640]) { ret; }\n"
#define TILES(name) ".visible .entry " name "_tiles(.param .u64 tiles) { ret; }\n"
static const char kernels_ptx[] = PTX_HEADER TILES("kdl_gpu_matmul_f32_bf16")
    TILES("kdl_gpu_attention_bf16") MATMUL("0n") MATMUL("0a") MATMUL("0b")
        MATMUL("0ab") ".visible .entry kdl_gpu_matmul_f32_bf16_pack(.param .u64 from, .param .u64 "
                      "k_stride, "
                      ".param .u64 n_stride, .param .u64 to, .param .u32 pitch, .param .u32 n, "
                      ".param .u32 k)"
                      " { ret; }\n";

/* As mma.sync has it: rows, columns, depth, threads, bytes of a stage and others, no bulk copies,
 * stages, subgroups. */
#define TILE "128,128,64,384,32768,16640,0,4,8"

typedef struct {
  kdl_library *lib;
  kdl_device *device;
  kdl_queue *queue;
} session;

static session begin(const char *tiles) {
  session s;
  char settings[128];
  snprintf(settings, sizeof settings, "cuda.tiles=%s", tiles);
  setenv("KDL_FAKE_SETTINGS", settings, 1);
  assert_ok(kdl_open_memory(kernels_ptx, sizeof kernels_ptx - 1, NULL, &s.lib));
  assert_ok(kdl_device_find("cuda:0", &s.device));
  assert_ok(kdl_queue_create(s.device, NULL, &s.queue));
  return s;
}

static void end(session *s) {
  kdl_queue_destroy(s->queue);
  kdl_close(s->lib);
}

static kdl_status find_tiles(const char *tiles) {
  session s = begin(tiles);
  kdl_matmul_gpu *matmul = NULL;
  kdl_status status = kdl_matmul_gpu_find(s.lib, s.device, KDL_MATMUL_F32_BF16, &matmul);
  kdl_matmul_gpu_free(matmul);
  end(&s);
  return status;
}

static kdl_status run(const session *s, const kdl_matmul_gpu *matmul, uint32_t m, uint32_t n,
                      uint32_t k, uint32_t batch) {
  kdl_matmul_gpu_problem problem = kdl_matmul_gpu_problem_of(m, n, k);
  problem.batch = batch;
  problem.a = kdl_matmul_rows(NULL, k);
  problem.b = kdl_matmul_rows(NULL, n);
  problem.c = kdl_matmul_rows(NULL, n);
  return kdl_matmul_gpu_run(matmul, s->queue, &problem);
}

static void products_without_elements_launch_nothing(void **state) {
  (void)state;
  static const char *const policies[] = {"best", "adaptive"};
  for (size_t i = 0; i < 2; ++i) {
    kdl_matmul_gpu *matmul;
    kdl_matmul_gpu_plan plan = {.groups = 1};
    setenv("KDL_POLICY", policies[i], 1);
    session s = begin(TILE);
    assert_ok(kdl_matmul_gpu_find(s.lib, s.device, KDL_MATMUL_F32_BF16, &matmul));
    const unsigned before = ask_fake("fake_launches");
    for (uint32_t zeros = 1; zeros < 16; ++zeros) {
      if (zeros == 4) /* K alone: C is zeros */
        continue;
      kdl_matmul_gpu_problem problem =
          kdl_matmul_gpu_problem_of(zeros & 1 ? 0 : 5, zeros & 2 ? 0 : 6, zeros & 4 ? 0 : 7);
      problem.batch = zeros & 8 ? 0 : 2;
      assert_ok(kdl_matmul_gpu_run(matmul, s.queue, &problem));
      assert_ok(kdl_matmul_gpu_plan_of(matmul, &problem, &plan));
      assert_int_equal(plan.groups, 0);
    }
    assert_int_equal(ask_fake("fake_launches"), before);
    assert_ok(run(&s, matmul, 5, 6, 0, 1));
    assert_ok(run(&s, matmul, 5, 6, 7, 1));
    assert_int_equal(ask_fake("fake_launches"), before + 2);
    kdl_matmul_gpu_free(matmul);
    end(&s);
  }
  unsetenv("KDL_POLICY");
}

/* Kernels count rows, columns, steps of K and tiles by 32 bits. */
static void sizes_beyond_the_kernels_are_refused(void **state) {
  (void)state;
  static const uint32_t sizes[][4] = {
      {1, 1, UINT32_C(4294967233), 1},
      {1, 1, UINT32_MAX, 1},
      {UINT32_MAX, 1, 1, 1},
      {1, UINT32_MAX, 1, 1},
      {1u << 31, 1, 1, 1},
      {1, 1u << 31, 1, 1},
      {1, 1, 1u << 31, 1},
      {1, 1, 1, UINT32_MAX},
      {INT32_MAX, INT32_MAX, 1, 1},
      {INT32_MAX, 129, 1, 128},
      {1 << 20, 1 << 20, 1, 1 << 30},
  };
  kdl_matmul_gpu *matmul;
  session s = begin(TILE);
  assert_ok(kdl_matmul_gpu_find(s.lib, s.device, KDL_MATMUL_F32_BF16, &matmul));
  const unsigned before = ask_fake("fake_launches");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    kdl_status status = run(&s, matmul, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);
    if (status != KDL_BAD_CALL || !strstr(kdl_error_message(), "2147483647"))
      fail_msg("row %zu: %d, %s", i, (int)status, kdl_error_message());
  }
  kdl_matmul_matrix b = kdl_matmul_rows(NULL, 1);
  char packed[1];
  assert_int_equal(kdl_matmul_gpu_pack(matmul, s.queue, &b, packed, 1, UINT32_MAX), KDL_BAD_CALL);
  assert_int_equal(kdl_matmul_gpu_pack(matmul, s.queue, &b, packed, UINT32_MAX, 1), KDL_BAD_CALL);
  assert_int_equal(ask_fake("fake_launches"), before);
  assert_ok(run(&s, matmul, INT32_MAX, 1, 1, 1));
  assert_ok(run(&s, matmul, 1, INT32_MAX, 1, 1));
  assert_ok(run(&s, matmul, 1, 1, INT32_MAX, 1));
  assert_ok(run(&s, matmul, 1, 1, 1, INT32_MAX));
  assert_int_equal(ask_fake("fake_launches"), before + 4);
  kdl_matmul_gpu_free(matmul);
  end(&s);
}

static void tiles_that_cannot_be_right_are_refused(void **state) {
  (void)state;
  static const char *const tiles[] = {
      "0,128,64,384,32768,16640,0,4,8",       "128,0,64,384,32768,16640,0,4,8",
      "128,128,0,384,32768,16640,0,4,8",      "128,128,64,0,32768,16640,0,4,8",
      "128,128,64,384,0,16640,0,4,8",         "128,128,64,384,32768,16640,0,4,0",
      "128,4294967168,64,384,0,0,0,4,8",      "4294967295,1,64,384,32768,0,0,4,8",
      "128,128,4294967295,384,32768,0,0,4,8", "128,128,64,4096,32768,16640,0,4,8",
  };
  assert_ok(find_tiles(TILE));
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; ++i) {
    if (find_tiles(tiles[i]) != KDL_BAD_FILE || !strstr(kdl_error_message(), "tile 0"))
      fail_msg("%s: %s", tiles[i], kdl_error_message());
  }
  /* The library has no tile at all, or one that the caller has no code for. */
  assert_int_equal(find_tiles("0"), KDL_BAD_CALL);
  assert_int_equal(find_tiles("128,128,64,384,32768,16640,0,0,8"), KDL_UNSUPPORTED);
}

static void tiles_of_attention_that_cannot_be_right_are_refused(void **state) {
  (void)state;
  static const char *const tiles[] = {
      "0",
      "0,128,384,65536,128,128,384,65536",
      "128,0,384,65536,128,128,384,65536",
      "128,128,0,65536,128,128,384,65536",
      "128,128,384,0,128,128,384,65536",
      "128,128,384,65536,0,128,384,65536",
      "128,128,384,65536,4294967295,128,384,65536",
      "128,128,384,65536,1,128,384,65536",
  };
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; ++i) {
    session s = begin(tiles[i]);
    kdl_attention_gpu *attention;
    if (kdl_attention_gpu_find(s.lib, s.device, &attention) != KDL_BAD_FILE ||
        !strstr(kdl_error_message(), "tile"))
      fail_msg("%s: %s", tiles[i], kdl_error_message());
    end(&s);
  }
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_without_elements_launch_nothing),
      cmocka_unit_test(sizes_beyond_the_kernels_are_refused),
      cmocka_unit_test(tiles_that_cannot_be_right_are_refused),
      cmocka_unit_test(tiles_of_attention_that_cannot_be_right_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
