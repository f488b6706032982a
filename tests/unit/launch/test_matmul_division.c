/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How products are divided, on machines that are made up: blocks fit the caches, groups follow the
 * threads, and together they have every row and column once. */
#include "launch_support.h"
#include "matmul/cpu.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* As KDL_MMA_TILE of <kdl/mma.h>, which is for kernels. */
#define TILE(rows, vectors, steps) ((rows) | (vectors) << 8 | (steps) << 16)

typedef struct {
  const char *name;
  uint32_t cores;
  kdl_matmul_machine caches;
  uint32_t tile;
} machine;

static const machine machines[] = {
    {"small board, no L3", 4, {32 << 10, 1 << 20, 0, 4, 1, 4096}, TILE(6, 1, 1)},
    {"laptop, AVX2", 8, {48 << 10, 1280 << 10, 12 << 20, 2, 16, 4096}, TILE(6, 1, 1)},
    {"desktop, AVX-512", 16, {32 << 10, 1 << 20, 32 << 20, 2, 16, 4096}, TILE(14, 2, 1)},
    {"server, tiles", 60, {48 << 10, 2 << 20, 105 << 20, 2, 120, 4096}, TILE(32, 2, 16)},
    {"large pages, BFMMLA", 96, {64 << 10, 2 << 20, 96 << 20, 1, 96, 65536}, TILE(6, 2, 2)},
};

static const uint32_t shapes[][3] = {
    {1, 4096, 4096},    {4, 4096, 4096}, {16, 4096, 4096},         {32, 4096, 11008},
    {64, 1024, 1024},   {128, 768, 768}, {128, 3072, 768},         {256, 256, 256},
    {1000, 1000, 1000}, {127, 129, 131}, {512, 2048, 512},         {4096, 4096, 4096},
    {1, 1, 1},          {100000, 4, 64}, {3, 100000, 1},           {0, 5, 5},
    {5, 0, 5},          {5, 5, 0},       {17, 33, UINT32_MAX / 2}, {UINT32_MAX / 2, 16, 64},
};

#define EACH(i, array) (size_t i = 0; i < sizeof(array) / sizeof *(array); ++i)

static kdl_matmul_division divide(const machine *on, uint32_t threads, const uint32_t *shape,
                                  int packs) {
  return kdl_matmul_divide(&on->caches, on->tile, threads, shape[0], shape[1], shape[2], packs);
}

static void blocks_fit_the_caches(void **state) {
  (void)state;
  for
    EACH(i, machines) {
      const machine *on = &machines[i];
      uint32_t words[] = {1, 1, 1}, share = on->caches.l2 / on->caches.l2_threads;
      kdl_matmul_division division = divide(on, on->cores, words, 0);
      assert_true(division.memory <= (share > 256 << 10 ? share : 256 << 10));
      assert_int_equal(division.memory % on->caches.page, 0);
      assert_int_equal(division.depth % 16, 0);
    }
}

/* Where registers are tiles, a tile of A fills L1 to two thirds. Elsewhere a tile of A and a panel
 * of B of two vectors fill it, where C is seldom loaded and stored then, or the kernels' constant
 * holds. */
static void tiles_fit_l1(void **state) {
  (void)state;
  static const int are_in_l1[] = {0, 0, 0, 1, 1}; /* by machine */
  for
    EACH(i, machines) {
      const machine *on = &machines[i];
      kdl_matmul_tile tile = kdl_matmul_tile_of(on->tile);
      const uint32_t shape[] = {1000, 1000, 1000};
      uint32_t depth = divide(on, on->cores, shape, 0).depth;
      uint32_t word = 4 * (tile.is_matrix ? tile.rows : tile.rows + tile.columns);
      uint32_t most = tile.is_matrix ? on->caches.l1 / 3 * 2 : on->caches.l1;
      assert_int_equal(depth != 0, are_in_l1[i]);
      assert_int_equal(depth % 16, 0);
      assert_true(depth * word <= most);
      assert_true(!depth || (depth + 16) * word > most);
      assert_true(!depth || depth >= 256);
    }
}

/* Where a launch more takes 10 us. */
static int packs_on_demand(const kdl_matmul *matmul, uint32_t m, uint32_t n, uint32_t k) {
  kdl_matmul_division by = kdl_matmul_divide_unpacked(matmul, m, n, k);
  assert_true(by.rows >= 1 && by.columns >= 1 && by.depths >= 1);
  return kdl_matmul_packs_on_demand(matmul, m, n, k, &by, 10000);
}

/* B is packed by its users while it is small or has few of them; a large one once, for all. */
static void large_weights_are_packed_once(void **state) {
  (void)state;
  for
    EACH(i, machines) {
      const machine *on = &machines[i];
      for (uint32_t threads = 1; threads <= on->cores; threads *= 2) {
        kdl_matmul matmul = {.type =
                                 on->tile >> 16 == 16 ? KDL_MATMUL_F32_BF16 : KDL_MATMUL_F32_F32,
                             .threads = threads,
                             .tile = on->tile,
                             .machine = on->caches};
        assert_true(packs_on_demand(&matmul, 8, 4096, 4096));
        assert_true(packs_on_demand(&matmul, 128, 256, 256));
        assert_false(packs_on_demand(&matmul, 8192, 8192, 8192));
        assert_false(packs_on_demand(&matmul, 100000, 8, 64));
        /* A last column that is packed as a row adds up in an order of its own: whether it is does
         * not depend on the threads. */
        if (on->tile >> 16 != 16)
          assert_true(packs_on_demand(&matmul, 127, 129, 131) &&
                      !packs_on_demand(&matmul, 127, 1025, 1024));
      }
    }
}

static void check_parts(uint32_t whole, uint32_t unit, uint32_t parts) {
  uint32_t end = 0;
  for (uint32_t part = 0; part < parts; ++part) {
    kdl_matmul_span span = kdl_matmul_part(whole, unit, part, parts);
    assert_int_equal(span.first, end);
    assert_true(span.end >= span.first && (span.end == whole || span.end % unit == 0));
    end = span.end;
  }
  assert_int_equal(end, whole);
}

static void every_row_and_column_is_in_one_group(void **state) {
  (void)state;
  for
    EACH(i, machines)
    for
      EACH(j, shapes) {
        const machine *on = &machines[i];
        const uint32_t *shape = shapes[j], counts[] = {1, 2, 3, on->cores, 2 * on->cores};
        kdl_matmul_tile tile = kdl_matmul_tile_of(on->tile);
      for
        EACH(k, counts)
      for (int packs = 0; packs < 2; ++packs) {
        kdl_matmul_division by = divide(on, counts[k], shape, packs);
        assert_true(by.rows >= 1 && by.columns >= 1);
        check_parts(shape[0], kdl_matmul_row_unit(tile, shape[0], by.rows), by.rows);
        check_parts(shape[1], tile.columns, by.columns);
      }
      }
}

static void groups_follow_the_threads(void **state) {
  (void)state;
  const uint32_t large[] = {2048, 2048, 2048}, tiny[] = {16, 16, 16};
  for
    EACH(i, machines) {
      const machine *on = &machines[i];
    for
      EACH(j, shapes)
    for (uint32_t threads = 1; threads <= 128; threads += threads < 8 ? 1 : 13) {
      kdl_matmul_division by = divide(on, threads, shapes[j], 0);
      assert_true(by.rows * by.columns <= (threads < 2 ? 1 : 4 * threads));
    }
    kdl_matmul_division by = divide(on, on->cores, large, 0), one = divide(on, on->cores, tiny, 0);
    assert_true(by.rows * by.columns >= on->cores);
    assert_int_equal(one.rows * one.columns, 1);
    }
}

/* A few rows are not divided: each part would read all of B. */
static void narrow_products_are_divided_by_columns(void **state) {
  (void)state;
  for
    EACH(i, machines)
  for (uint32_t m = 1; m <= 8; m *= 2) {
    const uint32_t shape[] = {m, 8192, 4096};
    kdl_matmul_division by = divide(&machines[i], machines[i].cores, shape, 1);
    assert_int_equal(by.rows, 1);
    assert_true(by.columns >= machines[i].cores);
  }
}

/* K is divided where C is too small for the threads, unless that is switched off, and never into
 * more sums than the scratch memory holds. */
static void long_products_are_divided_along_k(void **state) {
  (void)state;
  for
    EACH(i, machines) {
      kdl_matmul matmul = {.type = KDL_MATMUL_F32_F32,
                           .threads = machines[i].cores,
                           .tile = machines[i].tile,
                           .machine = machines[i].caches};
      kdl_matmul_division by = kdl_matmul_divide_unpacked(&matmul, 16, 16, 10000000);
      assert_true(by.depths > 1 && by.rows * by.columns * by.depths <= machines[i].cores);
      assert_int_equal(kdl_matmul_divide_unpacked(&matmul, 4096, 4096, 4096).depths, 1);
      assert_int_equal(kdl_matmul_divide_unpacked(&matmul, 16, 16, 4096).depths, 1);
    for
      EACH(j, shapes) {
        const uint32_t *shape = shapes[j];
        by = kdl_matmul_divide_unpacked(&matmul, shape[0], shape[1], shape[2]);
        assert_true((uint64_t)by.depths * shape[0] * shape[1] * 4 <=
                        kdl_matmul_packed_bytes(matmul.type, shape[1], shape[2]) ||
                    by.depths == 1);
      }
    matmul.whole_k = 1;
    assert_int_equal(kdl_matmul_divide_unpacked(&matmul, 16, 16, 10000000).depths, 1);
    matmul.whole_k = 0;
    matmul.threads = 1;
    assert_int_equal(kdl_matmul_divide_unpacked(&matmul, 16, 16, 10000000).depths, 1);
    }
}

/* Compilers know no machine: the sizes alone decide. */
static void compiled_products_are_divided_along_k(void **state) {
  (void)state;
  kdl_matmul matmul = {.type = KDL_MATMUL_F32_F32, .threads = 2};
  assert_int_equal(kdl_matmul_grid_depths(&matmul, 16, 64, 65536), 16);
  assert_int_equal(kdl_matmul_grid_depths(&matmul, 33, 40, 2000), 2);
  assert_int_equal(kdl_matmul_grid_depths(&matmul, 16, 64, 256), 1);
  assert_int_equal(kdl_matmul_grid_depths(&matmul, 4096, 4096, 4096), 1);
  /* Two parts of K would keep fewer threads busy than the eight groups of columns. */
  assert_int_equal(kdl_matmul_grid(&matmul, 16, 1024).grid[1], 8);
  assert_int_equal(kdl_matmul_grid_depths(&matmul, 16, 1024, 1024), 1);
  for
    EACH(i, shapes) {
      const uint32_t *shape = shapes[i];
      uint32_t depths = kdl_matmul_grid_depths(&matmul, shape[0], shape[1], shape[2]);
      assert_true(depths >= 1 && depths <= 16);
      assert_true((uint64_t)depths * shape[0] * shape[1] * 4 <=
                      kdl_matmul_packed_bytes(matmul.type, shape[1], shape[2]) ||
                  depths == 1);
    }
  matmul.whole_k = 1;
  assert_int_equal(kdl_matmul_grid_depths(&matmul, 16, 64, 65536), 1);
  matmul.whole_k = 0;
  matmul.threads = 1;
  assert_int_equal(kdl_matmul_grid_depths(&matmul, 16, 64, 65536), 1);
}

static void write_file(const char *folder, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void remove_file(const char *folder, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(remove(path), 0);
}

static void caches_are_read_as_linux_describes_them(void **state) {
  (void)state;
  static const char *const files[] = {"level", "type", "size", "shared_cpu_list"};
  static const char *const caches[][4] = {{"1\n", "Instruction\n", "64K\n", "0\n"},
                                          {"1\n", "Data\n", "48K\n", "0\n"},
                                          {"2\n", "Unified\n", "2048K\n", "0,60\n"},
                                          {"3\n", "Unified\n", "105M\n", "0-29,60-89\n"}};
  char root[] = "/tmp/kdl-caches-XXXXXX", folder[64];
  assert_non_null(mkdtemp(root));
  for
    EACH(i, caches) {
      snprintf(folder, sizeof folder, "%s/index%zu", root, i);
      assert_int_equal(mkdir(folder, 0700), 0);
    for
      EACH(j, files)
    write_file(folder, files[j], caches[i][j]);
    }
  kdl_matmul_machine found = cpu_read_machine(root);
  assert_int_equal(found.l1, 48 << 10);
  assert_int_equal(found.l2, 2 << 20);
  assert_int_equal(found.l2_threads, 2);
  assert_int_equal(found.l3, 105 << 20);
  assert_int_equal(found.l3_threads, 60);
  for
    EACH(i, caches) {
      snprintf(folder, sizeof folder, "%s/index%zu", root, i);
    for
      EACH(j, files)
    remove_file(folder, files[j]);
    rmdir(folder);
    }
  rmdir(root);
  kdl_matmul_machine none = cpu_read_machine(root);
  assert_int_equal(none.l1, 32 << 10);
  assert_int_equal(none.l2, 512 << 10);
  assert_int_equal(none.l3, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_fit_the_caches),
      cmocka_unit_test(tiles_fit_l1),
      cmocka_unit_test(large_weights_are_packed_once),
      cmocka_unit_test(every_row_and_column_is_in_one_group),
      cmocka_unit_test(groups_follow_the_threads),
      cmocka_unit_test(narrow_products_are_divided_by_columns),
      cmocka_unit_test(long_products_are_divided_along_k),
      cmocka_unit_test(compiled_products_are_divided_along_k),
      cmocka_unit_test(caches_are_read_as_linux_describes_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
