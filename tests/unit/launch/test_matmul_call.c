/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the functions of <kdl/matmul.h> refuse, and the sizes they tell. Their results are tested
 * from Python: python/tests/test_matmul.py. */
#include "launch_support.h"
#include "matmul/cpu.h"

#include <kdl/matmul_gpu.h>

static kdl_matmul nothing(void) {
  kdl_matmul matmul = {.type = KDL_MATMUL_F32_F32, .threads = 1};
  return matmul;
}

static void null_is_refused(void **state) {
  (void)state;
  kdl_matmul matmul = nothing();
  kdl_matmul_matrix matrix = kdl_matmul_rows(&matmul, 1);
  assert_fails(kdl_matmul_find(NULL, NULL, KDL_MATMUL_F32_F32, 1, &matmul), KDL_BAD_CALL,
               "kdl_matmul_find: found NULL for lib, expected a pointer");
  assert_fails(kdl_matmul_pack(&matmul, NULL, matrix, NULL, 1, 1), KDL_BAD_CALL,
               "kdl_matmul_pack: found NULL for packed, expected a pointer");
  assert_fails(kdl_matmul_run(&matmul, NULL, matrix, NULL, matrix, 1, 1, 1, KDL_MATMUL_SET),
               KDL_BAD_CALL, "kdl_matmul_run: found NULL for packed, expected a pointer");
  assert_fails(
      kdl_matmul_run_unpacked(NULL, NULL, matrix, matrix, &matrix, matrix, 1, 1, 1, KDL_MATMUL_SET),
      KDL_BAD_CALL, "kdl_matmul_run_unpacked: found NULL for matmul, expected a pointer");
}

/* Groups are counted in 32 bits. */
static void threads_have_a_most(void **state) {
  (void)state;
  kdl_matmul matmul = nothing();
  (void)cpu_find(NULL, NULL, KDL_MATMUL_F32_F32, UINT32_MAX, &matmul);
  assert_int_equal(matmul.threads, KDL_MATMUL_MAX_THREADS);
  kdl_launch_desc desc = kdl_matmul_grid(&matmul, 28, UINT32_MAX);
  assert_int_equal(desc.grid[1], 8 * KDL_MATMUL_MAX_THREADS);
}

static void what_was_not_found_is_refused(void **state) {
  (void)state;
  kdl_matmul matmul = nothing();
  kdl_matmul_matrix matrix = kdl_matmul_rows(&matmul, 1);
  const char *expected = "matmul: found no kernels, expected what kdl_matmul_find gave";
  assert_fails(kdl_matmul_pack(&matmul, NULL, matrix, &matrix, 1, 1), KDL_BAD_CALL, expected);
  assert_fails(kdl_matmul_run(&matmul, NULL, matrix, &matrix, matrix, 1, 1, 1, KDL_MATMUL_SET),
               KDL_BAD_CALL, expected);
  matmul.type = (kdl_matmul_type)4;
  assert_fails(kdl_matmul_pack(&matmul, NULL, matrix, &matrix, 1, 1), KDL_BAD_CALL,
               "matmul: found type 4, expected KDL_MATMUL_F32_BF16 (0) to F32_F16 (3)");
  for (unsigned type = KDL_MATMUL_F32_E4M3; type < 7; ++type)
    assert_fails(cpu_find(NULL, NULL, (kdl_matmul_type)type, 1, &matmul), KDL_BAD_CALL,
                 "matmul: found a type without kernels for the CPU, expected KDL_MATMUL_F32_BF16 "
                 "(0) to F32_F16 (3)");
}

/* Kernels count by signed 32 bits: a larger number would leave C as it is, or skip steps of K. */
static void sizes_of_32_bits_are_refused(void **state) {
  (void)state;
  static const uint32_t sizes[][3] = {
      {UINT32_MAX, 1, 1}, {1, KDL_MATMUL_MAX_SIZE + 1, 1}, {1, 1, 0xfffffc00}};
  const char *expected =
      "matmul: found more than 2146435072 rows, columns or steps of K, expected fewer";
  kdl_matmul matmul = nothing();
  kdl_matmul_matrix any = kdl_matmul_rows(&matmul, 1);
  matmul.pack = matmul.multiply = matmul.unpacked = matmul.sum = (kdl_kernel *)&matmul;
  for (int i = 0; i < 3; ++i) {
    const uint32_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
    kdl_matmul_division one = {1, 1, 1, 0, 0, 0};
    if (i) {
      assert_fails(cpu_pack(&matmul, NULL, &any, &any, n, k), KDL_BAD_CALL, expected);
      assert_fails(kdl_matmul_pack(&matmul, NULL, any, &any, n, k), KDL_BAD_CALL, expected);
    }
    assert_fails(cpu_run_divided(&matmul, NULL, &any, &any, &any, m, n, k, KDL_MATMUL_SET, &one),
                 KDL_BAD_CALL, expected);
    assert_fails(cpu_run_unpacked_divided(&matmul, NULL, &any, &any, &any, &any, m, n, k,
                                          KDL_MATMUL_SET, &one),
                 KDL_BAD_CALL, expected);
    assert_fails(kdl_matmul_run(&matmul, NULL, any, &any, any, m, n, k, KDL_MATMUL_SET),
                 KDL_BAD_CALL, expected);
    assert_fails(
        kdl_matmul_run_unpacked(&matmul, NULL, any, any, &any, any, m, n, k, KDL_MATMUL_SET),
        KDL_BAD_CALL, expected);
  }
}

/* Each is within the limit: their product is not. */
static void what_size_t_does_not_count_is_refused(void **state) {
  (void)state;
  const uint32_t n = KDL_MATMUL_MAX_SIZE - 1, k = n;
  const char *expected = "matmul: found a K by N matrix whose packed bytes exceed size_t, expected "
                         "fewer columns or steps of K";
  kdl_matmul matmul = nothing();
  kdl_matmul_matrix any = kdl_matmul_rows(&matmul, 1);
  matmul.pack = matmul.multiply = matmul.unpacked = matmul.sum = (kdl_kernel *)&matmul;
  assert_int_equal(kdl_matmul_packed_size(KDL_MATMUL_F32_F32, n, k), 0);
  assert_fails(kdl_matmul_pack(&matmul, NULL, any, &any, n, k), KDL_BAD_CALL, expected);
  assert_fails(kdl_matmul_run(&matmul, NULL, any, &any, any, 1, n, k, KDL_MATMUL_SET), KDL_BAD_CALL,
               expected);
  assert_fails(kdl_matmul_run_unpacked(&matmul, NULL, any, any, &any, any, 1, n, k, KDL_MATMUL_SET),
               KDL_BAD_CALL, expected);
}

static void other_numbers_of_threads_are_refused(void **state) {
  (void)state;
  kdl_matmul matmul = nothing();
  kdl_matmul_matrix any = kdl_matmul_rows(&matmul, 1);
  matmul.pack = matmul.multiply = matmul.unpacked = matmul.sum = (kdl_kernel *)&matmul;
  matmul.threads = 0;
  assert_fails(kdl_matmul_run(&matmul, NULL, any, &any, any, 1, 1, 1, KDL_MATMUL_SET), KDL_BAD_CALL,
               "matmul: found 0 threads, expected 1 to 65536");
  matmul.threads = KDL_MATMUL_MAX_THREADS + 1;
  assert_fails(kdl_matmul_pack(&matmul, NULL, any, &any, 1, 1), KDL_BAD_CALL,
               "matmul: found 65537 threads, expected 1 to 65536");
}

static void sizes_are_those_that_kernels_count(void **state) {
  (void)state;
  for (int type = 0; type <= KDL_MATMUL_F32_F16; ++type)
    for (uint32_t n = 0; n < 40; n += 3)
      for (uint32_t k = 0; k < 200; k += 7)
        assert_int_equal(kdl_matmul_packed_size((kdl_matmul_type)type, n, k),
                         kdl_matmul_packed_bytes((kdl_matmul_type)type, n, k));
  assert_int_equal(kdl_matmul_packed_size(KDL_MATMUL_F32_E4M3, 16, 33), 16 * 64);
  assert_int_equal(kdl_matmul_packed_size((kdl_matmul_type)6, 16, 16), 0);
  assert_int_equal(kdl_matmul_packed_size(KDL_MATMUL_F32_F32, UINT32_MAX, UINT32_MAX), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_is_refused),
      cmocka_unit_test(threads_have_a_most),
      cmocka_unit_test(what_was_not_found_is_refused),
      cmocka_unit_test(sizes_of_32_bits_are_refused),
      cmocka_unit_test(what_size_t_does_not_count_is_refused),
      cmocka_unit_test(other_numbers_of_threads_are_refused),
      cmocka_unit_test(sizes_are_those_that_kernels_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
