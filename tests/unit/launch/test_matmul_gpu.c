/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The multiplication on GPUs, without one: which tile a shape gets, and what is refused. Results
 * are tested where there is a GPU: tests/ukernels/gpu_matmul_test.c. */
#include "launch_support.h"

#include "matmul/gpu_plan.h"

static const gpu_machine h200 = {.units = 132, .group_bytes = 228 << 10};

/* Of wgmma: rows, columns, depth, threads, bytes of a stage and others, bulk copies, stages,
 * subgroups. */
static const gpu_tile tiles[GPU_SIZES] = {
    {128, 256, 64, 384, 49152, 33024, 1, 4, 8}, {128, 192, 64, 384, 40960, 33024, 1, 4, 8},
    {128, 128, 64, 384, 32768, 33024, 1, 6, 8}, {64, 256, 64, 256, 40960, 16640, 1, 5, 4},
    {64, 128, 64, 256, 24576, 16640, 1, 4, 4},  {64, 64, 64, 256, 16384, 16640, 1, 5, 4},
};

static kdl_matmul_gpu_plan plan_of(uint32_t m, uint32_t n, uint32_t k) {
  kdl_matmul_gpu_problem problem = kdl_matmul_gpu_problem_of(m, n, k);
  return gpu_plan(&h200, tiles, &problem);
}

static void large_shapes_get_the_largest_tile(void **state) {
  (void)state;
  assert_int_equal(plan_of(4096, 4096, 4096).tile, 0);
  assert_int_equal(plan_of(4096, 4096, 4096).groups, 132);
  assert_int_equal(plan_of(2048, 28672, 8192).tile, 0);
  assert_int_equal(plan_of(512, 6144, 4096).tile, 1); /* 128 tiles on 132 multiprocessors */
}

static void small_shapes_are_spread(void **state) {
  (void)state;
  assert_int_equal(plan_of(512, 512, 512).tile, 5);
  kdl_matmul_gpu_plan narrow = plan_of(16, 4096, 4096);
  assert_int_equal(narrow.groups, 64);
  assert_true(narrow.stages > 5); /* no other group needs the memory */
  kdl_matmul_gpu_plan deep = plan_of(256, 256, 4096);
  assert_true(deep.parts > 1);
  assert_int_equal(deep.groups, 16 * deep.parts);
  assert_int_equal(deep.workspace, 0);
  assert_int_equal(plan_of(128, 128, 64).parts, 1); /* one step cannot be divided */
  assert_int_equal(plan_of(1, 1, 0).groups, 1);
}

static void parts_without_clusters_need_a_workspace(void **state) {
  (void)state;
  gpu_tile plain[GPU_SIZES] = {tiles[5]};
  plain[0].is_bulk = 0;
  kdl_matmul_gpu_problem problem = kdl_matmul_gpu_problem_of(64, 64, 65536);
  assert_int_equal(gpu_plan(&h200, plain, &problem).parts, 1);
  problem.workspace.size = 64 << 20;
  kdl_matmul_gpu_plan plan = gpu_plan(&h200, plain, &problem);
  assert_true(plan.parts > 1);
  assert_int_equal(plan.workspace, GPU_COUNTER_BYTES + (uint64_t)plan.parts * 64 * 64 * 4);
  problem.parts = plan.parts;
  problem.workspace.size = plan.workspace - 1;
  assert_int_equal(gpu_plan(&h200, plain, &problem).rows, 0);
}

static void last_tiles_are_divided(void **state) {
  (void)state;
  kdl_matmul_gpu_problem problem = kdl_matmul_gpu_problem_of(512, 10240, 8192);
  assert_int_equal(gpu_plan(&h200, tiles, &problem).whole, 0);
  problem.workspace.size = 64 << 20;
  kdl_matmul_gpu_plan plan = gpu_plan(&h200, tiles, &problem);
  assert_true(plan.parts > 1 && plan.whole % 132 == 0 && plan.whole > 0);
  assert_int_equal(plan.groups, 132);
  assert_int_equal(plan.cluster, 1);
  problem.workspace.size = plan.workspace;
  assert_int_equal(gpu_plan(&h200, tiles, &problem).whole, plan.whole);
}

static void tiles_of_one_time_are_a_square(void **state) {
  (void)state;
  assert_int_equal(gpu_band(&h200, &tiles[0], 8192), 16); /* 16 by 8 of 128 by 256 */
  assert_int_equal(gpu_band(&h200, &tiles[0], 300), 3);
  assert_int_equal(gpu_band(&h200, &tiles[0], 0), 0);
  const gpu_machine vast = {.units = UINT32_MAX, .group_bytes = 228 << 10};
  static const gpu_tile narrow = {64, 1, 64, 256, 8320, 16640, 1, 4, 4};
  assert_int_equal(gpu_band(&vast, &narrow, 8192), 128); /* no square beyond 32 bits is sought */
}

static void launches_begin_early(void **state) {
  (void)state;
  kdl_matmul_gpu_plan plan = {.parts = 1, .groups = 64};
  assert_true(gpu_begins_early(&h200, &tiles[5], 64, &plan));
  plan.groups = 96; /* some would wait for room */
  assert_false(gpu_begins_early(&h200, &tiles[5], 96, &plan));
  plan.groups = 132;
  assert_true(gpu_begins_early(&h200, &tiles[5], 132, &plan));
  assert_false(gpu_begins_early(&h200, &tiles[5], 133, &plan)); /* a group has two tiles */
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  kdl_matmul_gpu *matmul;
  kdl_matmul_gpu_problem problem = kdl_matmul_gpu_problem_of(1, 1, 1);
  assert_fails(kdl_matmul_gpu_find(NULL, NULL, KDL_MATMUL_F32_BF16, &matmul), KDL_BAD_CALL,
               "kdl_matmul_gpu_find: found NULL, expected a library, a device and a result");
  assert_fails(kdl_matmul_gpu_run(NULL, NULL, &problem), KDL_BAD_CALL,
               "kdl_matmul_gpu_run: found NULL, expected kernels and a problem");
  problem.tile = 7;
  assert_int_equal(gpu_plan(&h200, tiles, &problem).rows, 0);
  problem.tile = 6;
  problem.parts = 9; /* a cluster has 8 groups */
  assert_int_equal(gpu_plan(&h200, tiles, &problem).rows, 0);
  kdl_matmul_gpu_free(NULL);
}

static void tiles_that_cannot_be_launched_are_left_out(void **state) {
  (void)state;
  gpu_tile own[GPU_SIZES] = {
      tiles[0], {96, 128, 64, 384, 28672, 33024, 1, 0, 8}, tiles[2], tiles[3]};
  own[0].stages = 6;
  own[3].stages = 16;
  assert_int_equal(gpu_leave_out_tiles(&h200, own), KDL_OK);
  assert_int_equal(own[0].rows, 0);
  assert_int_equal(own[1].rows, 0);
  assert_int_equal(own[2].rows, 128);
  assert_int_equal(own[3].rows, 0);
  kdl_matmul_gpu_problem problem = kdl_matmul_gpu_problem_of(4096, 4096, 4096);
  assert_int_equal(gpu_plan(&h200, own, &problem).tile, 2);
  problem.tile = 1;
  assert_int_equal(gpu_plan(&h200, own, &problem).rows, 0);
  own[2].stages = 7;
  assert_fails(gpu_leave_out_tiles(&h200, own), KDL_UNSUPPORTED,
               "kdl_matmul_gpu_find: found a microkernel's tile 2 of 128 by 128 with 7 stages and "
               "262400 bytes of group "
               "memory, expected at most 15 stages and 232448 bytes");
  assert_fails(gpu_leave_out_tiles(&h200, own), KDL_BAD_CALL,
               "kdl_matmul_gpu_find: found a microkernel without a tile");
  own[0] = (gpu_tile){96, 128, 64, 384, 28672, 33024, 1, 0, 8};
  assert_fails(gpu_leave_out_tiles(&h200, own), KDL_UNSUPPORTED,
               "kdl_matmul_gpu_find: found a microkernel's tile 0 of 96 by 128 with 384 threads, "
               "for which the caller has "
               "no code, expected what docs/gpu-matmul.md has of tiles");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(large_shapes_get_the_largest_tile),
      cmocka_unit_test(small_shapes_are_spread),
      cmocka_unit_test(parts_without_clusters_need_a_workspace),
      cmocka_unit_test(last_tiles_are_divided),
      cmocka_unit_test(tiles_of_one_time_are_a_square),
      cmocka_unit_test(launches_begin_early),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(tiles_that_cannot_be_launched_are_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
