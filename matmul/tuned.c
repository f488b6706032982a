/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "matmul/tuned.h"

#include "matmul/cpu.h"

enum { BY_MODEL, BY_ROWS, BY_COLUMNS, BY_BOTH };
enum { PACKED, ON_DEMAND, BEFORE }; /* B; the last two are ways to multiply with unpacked ones */

/* How groups divide C, and how many there are: for two threads. */
typedef struct cpu_way {
  const char *name;
  uint8_t pack, by, groups;
} cpu_way;

static const cpu_way packed_ways[] = {
    {"model", PACKED, BY_MODEL, 0},       {"1", PACKED, BY_ROWS, 0},
    {"rows/2", PACKED, BY_ROWS, 1},       {"rows", PACKED, BY_ROWS, 2},
    {"rows*2", PACKED, BY_ROWS, 4},       {"rows*4", PACKED, BY_ROWS, 8},
    {"columns/2", PACKED, BY_COLUMNS, 1}, {"columns", PACKED, BY_COLUMNS, 2},
    {"columns*2", PACKED, BY_COLUMNS, 4}, {"columns*4", PACKED, BY_COLUMNS, 8},
    {"both", PACKED, BY_BOTH, 2},         {"both*4", PACKED, BY_BOTH, 8},
};
static const cpu_way unpacked_ways[] = {
    {"model", ON_DEMAND, BY_MODEL, 0},
    {"on demand, model", ON_DEMAND, BY_MODEL, 0},
    {"on demand, 1", ON_DEMAND, BY_ROWS, 0},
    {"on demand, rows", ON_DEMAND, BY_ROWS, 2},
    {"on demand, rows*2", ON_DEMAND, BY_ROWS, 4},
    {"on demand, columns/2", ON_DEMAND, BY_COLUMNS, 1},
    {"on demand, columns", ON_DEMAND, BY_COLUMNS, 2},
    {"on demand, columns*2", ON_DEMAND, BY_COLUMNS, 4},
    {"on demand, both", ON_DEMAND, BY_BOTH, 2},
    {"before, model", BEFORE, BY_MODEL, 0},
    {"before, 1", BEFORE, BY_ROWS, 0},
    {"before, rows", BEFORE, BY_ROWS, 2},
    {"before, rows*2", BEFORE, BY_ROWS, 4},
    {"before, columns", BEFORE, BY_COLUMNS, 2},
    {"before, columns*2", BEFORE, BY_COLUMNS, 4},
};
enum {
  packed_count = sizeof packed_ways / sizeof *packed_ways,
  unpacked_count = sizeof unpacked_ways / sizeof *unpacked_ways
};

static kdl_status create_for_cpu(kdl_kernel *kernel, const cpu_way *ways, uint32_t count,
                                 kdl_tuner **out_tuner) {
  static const char *const names[] = {"m", "n", "k", "threads"};
  const char *texts[KDL_TUNER_WAYS];
  for (uint32_t i = 0; i < count; ++i)
    texts[i] = ways[i].name;
  const kdl_tuner_desc desc = {
      .size = sizeof desc, .names = names, .name_count = 4, .way_count = count, .ways = texts};
  return kdl_tuner_create(kernel, &desc, out_tuner);
}

kdl_status cpu_tuners_create(kdl_matmul *matmul) {
  if (matmul->threads < 2)
    return KDL_OK;
  kdl_status status = create_for_cpu(matmul->multiply, packed_ways, packed_count, &matmul->tuner);
  return status ? status
                : create_for_cpu(matmul->unpacked, unpacked_ways, unpacked_count,
                                 &matmul->unpacked_tuner);
}

static uint32_t at_most(uint32_t value, uint32_t most) {
  return value < most ? value : most ? most : 1;
}

/* The model's, with other groups. */
static kdl_matmul_division divide(const kdl_matmul *matmul, const cpu_way *way, uint32_t m,
                                  uint32_t n, uint32_t words) {
  kdl_matmul_division division = kdl_matmul_divide(&matmul->machine, matmul->tile, matmul->threads,
                                                   m, n, words, way->pack == ON_DEMAND);
  kdl_matmul_tile tile = kdl_matmul_tile_of(matmul->tile);
  uint32_t groups = way->groups * matmul->threads / 2, root = 1;
  uint32_t most_rows = m / (tile.rows < 16 ? tile.rows : 16), most_columns = n / tile.columns;
  if (way->by == BY_MODEL)
    return division;
  groups = groups ? groups : 1;
  while ((root + 1) * (root + 1) <= groups)
    ++root;
  division.rows = way->by == BY_ROWS ? groups : way->by == BY_BOTH ? root : 1;
  division.rows = at_most(division.rows, most_rows);
  division.columns = way->by == BY_ROWS ? 1 : groups / division.rows;
  division.columns = at_most(division.columns, most_columns);
  return division;
}

/* Bits of ways with the groups of an earlier one, and of those that pack B in a way in which sums
 * would be added up in another order. */
static uint32_t unusable(const kdl_matmul *matmul, const cpu_way *ways, uint32_t count, uint32_t m,
                         uint32_t n, uint32_t words, int packs, int is_free) {
  kdl_matmul_division seen[KDL_TUNER_WAYS];
  uint32_t bits = 0;
  for (uint32_t i = 0; i < count; ++i) {
    seen[i] = divide(matmul, &ways[i], m, n, words);
    if (!is_free && i && ways[i].pack != packs)
      bits |= 1u << i;
    for (uint32_t other = packs == PACKED ? 0 : 1; other < i; ++other) {
      if (ways[other].pack == ways[i].pack && seen[other].rows == seen[i].rows &&
          seen[other].columns == seen[i].columns)
        bits |= 1u << i;
    }
  }
  return bits;
}

kdl_status cpu_run_tuned(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *a,
                         const void *packed, const kdl_matmul_matrix *c, uint32_t m, uint32_t n,
                         uint32_t k, kdl_matmul_mode mode) {
  const uint64_t numbers[] = {m, n, k, matmul->threads};
  uint32_t words = kdl_matmul_words(matmul->type, k);
  uint32_t bits = unusable(matmul, packed_ways, packed_count, m, n, words, PACKED, 1);
  kdl_tuner_launch launch;
  kdl_status status;
  uint32_t way =
      kdl_tuner_begin(matmul->tuner, queue, numbers, bits, mode == KDL_MATMUL_SET ? &launch : NULL);
  do {
    kdl_matmul_division division = divide(matmul, &packed_ways[way], m, n, words);
    status = cpu_run_divided(matmul, queue, a, packed, c, m, n, k, mode, &division);
    if (mode != KDL_MATMUL_SET)
      return status;
  } while (kdl_tuner_end(matmul->tuner, queue, &launch, status) && (way = launch.way, 1));
  return status;
}

static kdl_status run_way(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *a,
                          const kdl_matmul_matrix *b, void *scratch, const kdl_matmul_matrix *c,
                          uint32_t m, uint32_t n, uint32_t k, const cpu_way *way) {
  kdl_matmul_division division = divide(matmul, way, m, n, kdl_matmul_words(matmul->type, k));
  if (way->pack == ON_DEMAND)
    return cpu_run_unpacked_divided(matmul, queue, a, b, scratch, c, m, n, k, KDL_MATMUL_SET,
                                    &division);
  kdl_status status = cpu_pack(matmul, queue, b, scratch, n, k);
  return status ? status
                : cpu_run_divided(matmul, queue, a, scratch, c, m, n, k, KDL_MATMUL_SET, &division);
}

/* A division of K is left to the model: sums depend on it. */
kdl_status cpu_run_unpacked_tuned(const kdl_matmul *matmul, kdl_queue *queue,
                                  const kdl_matmul_matrix *a, const kdl_matmul_matrix *b,
                                  void *scratch, const kdl_matmul_matrix *c, uint32_t m, uint32_t n,
                                  uint32_t k, kdl_matmul_mode mode) {
  const uint64_t numbers[] = {m, n, k, matmul->threads};
  uint32_t words = kdl_matmul_words(matmul->type, k);
  kdl_matmul_division model = kdl_matmul_divide_unpacked(matmul, m, n, k);
  if (model.depths > 1 || mode != KDL_MATMUL_SET)
    return cpu_run_unpacked(matmul, queue, a, b, scratch, c, m, n, k, mode);
  int is_free = m > 32 && !kdl_matmul_packs_rows(matmul, n, words);
  int packs = kdl_matmul_packs_on_demand(matmul, m, n, k, &model, 0) ? ON_DEMAND : BEFORE;
  uint32_t bits = unusable(matmul, unpacked_ways, unpacked_count, m, n, words, packs, is_free);
  kdl_tuner_launch launch;
  kdl_status status;
  uint32_t way = kdl_tuner_begin(matmul->unpacked_tuner, queue, numbers, bits, &launch);
  do {
    status = way ? run_way(matmul, queue, a, b, scratch, c, m, n, k, &unpacked_ways[way])
                 : cpu_run_unpacked(matmul, queue, a, b, scratch, c, m, n, k, mode);
  } while (kdl_tuner_end(matmul->unpacked_tuner, queue, &launch, status) && (way = launch.way, 1));
  return status;
}
