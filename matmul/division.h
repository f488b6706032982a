/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How a product on CPUs is divided among threads: into groups of rows and columns of C, from the
 * sizes, the tile of the microkernel, the number of threads and the caches; and whether B is packed
 * before. The library's functions, its kernels and compilers decide by the same functions.
 *
 * Groups are numbered by rows first, so that a thread that takes some in turn multiplies one part
 * of B, which stays in its L2, with one block of rows after another. There are more groups than
 * threads: a core that others use too takes fewer of them.
 */
#ifndef KDL_MATMUL_DIVISION_H
#define KDL_MATMUL_DIVISION_H

#include <kdl/matmul.h>

#if __STDC_HOSTED__
#include <stdlib.h>
#include <sys/auxv.h>
#endif

/* Values of K in a word of 4 bytes; words of K. */
static inline uint32_t kdl_matmul_values(kdl_matmul_type type) {
  return type == KDL_MATMUL_F32_BF16 ? 2 : type == KDL_MATMUL_S32_S8 ? 4 : 1;
}
static inline uint32_t kdl_matmul_words(kdl_matmul_type type, uint32_t k) {
  uint32_t values = kdl_matmul_values(type);
  return k / values + (k % values != 0);
}

/* Bytes of a packed K by N matrix, on any CPU: columns and words of 4 bytes, each rounded up to a
 * multiple of 16, and a number per column for s8. */
static inline size_t kdl_matmul_packed_bytes(kdl_matmul_type type, uint32_t n, uint32_t k) {
  size_t words = ((size_t)kdl_matmul_words(type, k) + 15) / 16 * 16,
         columns = ((size_t)n + 15) / 16 * 16;
  size_t bytes = columns * words * (type == KDL_MATMUL_F32_F16 ? 2 : 4);
  return bytes + (type == KDL_MATMUL_S32_S8 ? columns * 4 : 0);
}

/* Whether the environment variable KDL_MATMUL_WHOLE_K is set, to anything but 0. It counts as unset
 * in a program that runs with more rights than its user (AT_SECURE). */
static inline int kdl_matmul_whole_k_is_set(void) {
#if __STDC_HOSTED__
  const char *text = getauxval(AT_SECURE) ? NULL : getenv("KDL_MATMUL_WHOLE_K");
  return text && *text && !(text[0] == '0' && !text[1]);
#else
  return 0;
#endif
}

typedef struct kdl_matmul_division {
  uint32_t rows, columns; /* groups: so many parts of the rows times so many of the columns */
  uint32_t depths;        /* times so many of K: 1, but for kdl_matmul_depth_parts */
  uint32_t depth;         /* words of K in a block; 0: as many as the kernels' constant says */
  uint32_t memory;        /* bytes of group memory for packed rows of A */
  float cycles;           /* what it costs, by the model below */
} kdl_matmul_division;

/* A part of L2: what other threads of the core leave of it. */
static inline uint32_t kdl_matmul_l2_share(const kdl_matmul_machine *machine) {
  return machine->l2 / (machine->l2_threads ? machine->l2_threads : 1);
}

/* A tile as KDL_MMA_TILE of <kdl/mma.h> has it: rows, vectors, steps. */
typedef struct kdl_matmul_tile {
  uint32_t rows, columns;
  int is_matrix; /* registers are tiles */
} kdl_matmul_tile;

static inline kdl_matmul_tile kdl_matmul_tile_of(uint32_t packed) {
  kdl_matmul_tile tile = {packed & 0xff, (packed >> 8 & 0xff) * 16, packed >> 16 == 16};
  tile.rows = tile.rows ? tile.rows : 1;
  tile.columns = tile.columns ? tile.columns : 16;
  return tile;
}

/* Bytes of group memory: packed rows of A, which leave a part of L2 to panels of B and lines of C.
 * Where registers are tiles, L2 keeps as much of B as of A, packed in group memory too if
 * `packs_b`. The kernels declare 256 KiB of it themselves. In whole pages. */
static inline uint32_t kdl_matmul_group_memory(const kdl_matmul_machine *machine,
                                               kdl_matmul_tile tile, int packs_b) {
  uint32_t least = 256 << 10, page = machine->page ? machine->page : 4096;
  uint32_t parts = tile.is_matrix && !packs_b ? 4 : 2; /* of L2, one is taken */
  uint32_t bytes = kdl_matmul_l2_share(machine) / parts / page * page;
  return bytes > least ? bytes : least;
}

/* Sums go to C once per block of K. Registers that are tiles take one of each operand
 * for every multiplication; L2 can give them one of the two in time. A tile of A takes two thirds
 * of L1. Where a panel of B of two vectors and a tile of A fit L1 with so many words that C is
 * seldom loaded and stored, they have as many. Elsewhere longer blocks are faster, which L2 gives.
 */
static inline uint32_t kdl_matmul_depth(const kdl_matmul_machine *machine, kdl_matmul_tile tile) {
  const uint32_t step = 16, word_bytes = 4, seldom = 256, two_vectors = 32;
  uint32_t words = machine->l1 / 3 * 2 / (tile.rows * word_bytes) / step * step;
  if (tile.is_matrix)
    return words > step ? words : step;
  words = machine->l1 / ((tile.rows + tile.columns) * word_bytes) / step * step;
  return tile.columns >= two_vectors && words >= seldom ? words : 0;
}

/* Rows or columns of C. */
typedef struct kdl_matmul_span {
  uint32_t first, end;
} kdl_matmul_span;

/* One of so many parts, in whole units: they are all but even, and none where there are too few. */
static inline kdl_matmul_span kdl_matmul_part(uint32_t whole, uint32_t unit, uint32_t part,
                                              uint32_t parts) {
  uint64_t units = ((uint64_t)whole + unit - 1) / unit;
  uint64_t first = units * part / parts * unit, end = units * (part + 1) / parts * unit;
  kdl_matmul_span span;
  span.first = first < whole ? (uint32_t)first : whole;
  span.end = end < whole ? (uint32_t)end : whole;
  return span;
}

/* Registers that are tiles have 16 rows each, a tile of C two of them. Others take any number. */
static inline uint32_t kdl_matmul_row_unit(kdl_matmul_tile tile, uint32_t m, uint32_t parts) {
  const uint32_t register_rows = 16;
  if (!tile.is_matrix)
    return 1;
  return m / tile.rows >= parts ? tile.rows : register_rows;
}

/* Cycles that a thread needs for its groups, and one group more: threads do not end at the same
 * time, since other programs use their cores too. Ratios of instructions rather than of machines: a
 * word is multiplied with a vector in a cycle, 16 rows of 16 words with 16 vectors in 32, since
 * tiles wait for their loads; a line of A is packed in 8 cycles, one of B is read in 5 from a cache
 * and in 16 from memory. */
typedef struct kdl_matmul_costs {
  float rate;  /* words times columns in a cycle */
  float a, b;  /* cycles for a word of A that is packed, of B that is read */
  float b_row; /* cycles for words of B of all columns that are packed: they are in another page */
  float group; /* cycles for a group */
  float kept_column; /* columns of B that stay in L2 */
  float kept_row;    /* rows of A that B is packed for at a time */
  float full_height; /* rows of a tile, if fewer of them leave registers that are tiles idle */
  uint32_t row_unit, column_unit; /* of which parts have a whole number */
} kdl_matmul_costs;

static inline kdl_matmul_costs kdl_matmul_costs_of(const kdl_matmul_machine *machine,
                                                   kdl_matmul_tile tile, uint32_t n, uint32_t words,
                                                   int packs_b) {
  const float cached = 0.33f, memory = 1.0f, other_page = 48;
  const float page = (float)(machine->page ? machine->page : 4096), row_bytes = (float)n * 4;
  uint64_t bytes = (uint64_t)n * words * 4;
  uint64_t nearest = machine->l3 ? machine->l3 : kdl_matmul_l2_share(machine);
  uint32_t depth = tile.is_matrix ? 0 : kdl_matmul_depth(machine, tile);
  uint32_t length = depth && depth < words ? depth : words; /* of K at a time */
  float half_words = (float)kdl_matmul_group_memory(machine, tile, packs_b) / 8;
  kdl_matmul_costs costs;
  costs.rate = tile.is_matrix ? 128 : 16;
  costs.a = 0.5f;
  costs.b = (bytes <= nearest ? cached : memory) + (packs_b ? cached : 0);
  costs.b_row = packs_b ? other_page * (row_bytes < page ? row_bytes / page : 1) : 0;
  costs.group = 4000;
  costs.full_height = tile.is_matrix ? (float)tile.rows : 0;
  costs.row_unit = tile.is_matrix ? 16 : 1;
  costs.column_unit = tile.columns;
  costs.kept_row = packs_b ? half_words / (float)(length + !length) : (float)UINT32_MAX;
  costs.kept_column =
      packs_b ? 0 : (float)kdl_matmul_l2_share(machine) / 2 / (float)(length * 4 + 1);
  return costs;
}

/* Rows or columns of the largest part. */
static inline float kdl_matmul_largest_part(uint32_t whole, uint32_t unit, uint32_t parts) {
  uint32_t units = whole / unit + (whole % unit != 0), most = units / parts + (units % parts != 0);
  return units < 2 ? (float)whole : (float)most * (float)unit;
}

static inline float kdl_matmul_cost(const kdl_matmul_costs *costs, uint32_t threads, uint32_t m,
                                    uint32_t n, uint32_t words, uint32_t rows, uint32_t columns) {
  uint32_t groups = rows * columns, turns = (groups + threads - 1) / threads;
  float height = kdl_matmul_largest_part(m, costs->row_unit, rows),
        width = kdl_matmul_largest_part(n, costs->column_unit, columns);
  float steps = height < costs->full_height ? height + costs->full_height / 4 : height;
  float own = (steps * width / costs->rate + height * costs->a) * (float)words + costs->group;
  float b = (width * costs->b + costs->b_row) * (float)words;
  uint32_t reads = width <= costs->kept_column ? (turns + rows - 1) / rows : turns;
  if (height > costs->kept_row)
    b *= height / costs->kept_row;
  return own * (float)(turns + 1) + b * (float)(reads + 1);
}

/* The groups of the least cost. Parts of rows are 1, 2, 3, 4, 6, 8, 12 ..., those of columns as
 * many as make 1, 2 or 4 groups for each thread. A group is a tile at least, and some
 * thousand cycles. Parts of columns are wide where rows alone make enough groups, and where rows of
 * B are so long that each is in pages of its own. `words`: of 4 bytes along K; `packs_b`: every
 * group packs its part of B. */
static inline kdl_matmul_division kdl_matmul_divide(const kdl_matmul_machine *machine,
                                                    uint32_t tile_packed, uint32_t threads,
                                                    uint32_t m, uint32_t n, uint32_t words,
                                                    int packs_b) {
  const uint32_t long_row = 1024, strip = 128, each_most = 4; /* columns, columns, groups */
  kdl_matmul_tile tile = kdl_matmul_tile_of(tile_packed);
  const float group_cycles = tile.is_matrix ? 4096 : 16384;
  kdl_matmul_costs costs = kdl_matmul_costs_of(machine, tile, n, words, packs_b);
  uint32_t row_unit = tile.rows < 16 ? tile.rows : 16;
  uint32_t most_groups = each_most * threads, most_rows = m / row_unit;
  int is_wide = most_rows >= most_groups || (packs_b && n >= long_row && n / strip >= threads);
  uint32_t most_columns = n / (is_wide ? strip : packs_b ? 2 * tile.columns : tile.columns);
  float cycles = ((float)m / costs.rate + costs.b) * (float)n * (float)words;
  kdl_matmul_division best = {
      1, 1, 1, kdl_matmul_depth(machine, tile), kdl_matmul_group_memory(machine, tile, packs_b), 0};
  uint32_t rows, next = 2, each;
  if (cycles < group_cycles * (float)most_groups)
    most_groups = (uint32_t)(cycles / group_cycles);
  if (m <= tile.rows) /* of A, one tile, which no other panel of B waits for */
    best.depth = 0;
  best.cycles = kdl_matmul_cost(&costs, threads, m, n, words, 1, 1);
  if (threads < 2 || most_groups < 2)
    return best;
  for (rows = 1; rows == 1 || (rows <= most_rows && rows <= most_groups);
       rows = next, next = rows & (rows - 1) ? rows / 3 * 4 : rows / 2 * 3) {
    for (each = 1; each <= each_most; each *= 2) {
      uint32_t columns = (each * threads + rows - 1) / rows;
      float cost;
      columns = columns < most_columns ? columns : most_columns;
      columns = columns < most_groups / rows ? columns : most_groups / rows;
      columns = columns ? columns : 1;
      cost = kdl_matmul_cost(&costs, threads, m, n, words, rows, columns);
      if (cost < best.cycles) {
        best.cycles = cost;
        best.rows = rows;
        best.columns = columns;
      }
    }
  }
  return best;
}

/* Parts of K, where rows and columns make fewer groups than half of the threads: as many as give
 * each thread one. A part has some hundred words, so that adding its sums to others costs little,
 * and more cycles than it takes to share a launch on any machine. What was measured has no part in
 * this: numbers of floating point depend on it. */
static inline uint32_t kdl_matmul_depth_parts(uint32_t tile_packed, uint32_t threads, uint32_t m,
                                              uint32_t n, uint32_t words,
                                              const kdl_matmul_division *by) {
  const uint32_t least_words = 256;
  const float least_cycles = 65536, rate = kdl_matmul_tile_of(tile_packed).is_matrix ? 128 : 16;
  float most = (float)m * (float)n * (float)words / rate / least_cycles;
  uint32_t groups = by->rows * by->columns, parts = threads / groups;
  parts = parts < words / least_words ? parts : words / least_words;
  parts = (float)(parts * groups) < most ? parts : (uint32_t)(most / (float)groups);
  return parts > 1 ? parts : 1;
}

/* Cycles for a launch that packs all of B before the others, by so many groups: threads begin and
 * end once more, which takes `launch_ns`, each line is read and written, and then comes from
 * another core. */
static inline float kdl_matmul_packing_cycles(const kdl_matmul_machine *machine,
                                              uint32_t tile_packed, uint32_t threads,
                                              uint32_t groups, uint32_t n, uint32_t words,
                                              float launch_ns) {
  const float call = 2000, cycles_per_ns = 3; /* all CPUs of these years: 2 to 6 */
  const float own_line = 2, foreign_line = 5; /* times what reading it takes */
  kdl_matmul_costs costs =
      kdl_matmul_costs_of(machine, kdl_matmul_tile_of(tile_packed), n, words, 1);
  float lines = costs.b * (float)n * (float)words;
  uint32_t turns = (groups + threads - 1) / threads;
  return threads < 2 ? call + own_line * lines
                     : call + launch_ns * cycles_per_ns +
                           foreign_line * lines * (float)turns / (float)(groups + !groups);
}

/* Groups of a launch that packs: up to four per thread, each with more to do than it takes to
 * share it. */
static inline uint32_t kdl_matmul_pack_groups(const kdl_matmul *matmul, uint32_t n, uint32_t k) {
  enum { least_bytes = 128 << 10 };
  size_t most = kdl_matmul_packed_bytes(matmul->type, n, k) / least_bytes;
  uint32_t wanted = matmul->threads < 2 ? 1 : 4 * matmul->threads;
  return most < 1 ? 1 : most < wanted ? (uint32_t)most : wanted;
}

/* A grid in one dimension, for compilers, which know neither the machine nor its threads. Divided
 * by rows, each group packs another part of A; by columns, all pack the same part, which costs less
 * the fewer rows there are. */
static inline kdl_launch_desc kdl_matmul_grid(const kdl_matmul *matmul, uint32_t m, uint32_t n) {
  uint32_t rows = m / 28, columns = n / 128;
  int by_rows = rows >= 2 * matmul->threads || n <= 16;
  uint32_t most = by_rows ? rows : columns;
  uint32_t wanted = matmul->threads < 2 ? 1 : 8 * matmul->threads;
  uint32_t groups = wanted < most ? wanted : most ? most : 1;
  kdl_launch_desc desc = by_rows ? kdl_grid(groups, 1, 1) : kdl_grid(1, groups, 1);
  /* Together with the kernels' own, 704 KiB of packed rows: most of an L2 cache of 1 MiB. */
  desc.shared = 448 << 10;
  return desc;
}

/* Parts of K in place of the groups of such a grid, where these are few: 1, or as many as make
 * eight for each thread, and more than the grid has groups, because a part of K computes all of C.
 * Their sums take no more memory than packed B would. Registers may be tiles where words have
 * several values. */
static inline uint32_t kdl_matmul_grid_depths(const kdl_matmul *matmul, uint32_t m, uint32_t n,
                                              uint32_t k) {
  const uint32_t tile = matmul->type == KDL_MATMUL_F32_BF16 || matmul->type == KDL_MATMUL_S32_S8
                            ? (uint32_t)16 << 16
                            : 0;
  kdl_launch_desc grid = kdl_matmul_grid(matmul, m, n);
  kdl_matmul_division by = {grid.grid[0], grid.grid[1], 1, 0, 0, 0};
  uint32_t parts = kdl_matmul_depth_parts(tile, 8 * matmul->threads, m, n,
                                          kdl_matmul_words(matmul->type, k), &by);
  if (matmul->threads < 2 || matmul->whole_k || parts <= grid.grid[0] * grid.grid[1])
    return 1;
  return (uint64_t)parts * m * n * 4 > kdl_matmul_packed_bytes(matmul->type, n, k) ? 1 : parts;
}

/* Whether a product with unpacked B is best computed in one launch, which packs on demand, for
 * compilers, which know neither the machine nor its threads: for a small B, or for too few rows to
 * reuse packed ones. With several threads, each group packs for itself. Columns that would fill
 * little of a vector are better packed as rows, which that launch does not do. */
static inline int kdl_matmul_fuses_packing(const kdl_matmul *matmul, uint32_t m, uint32_t n,
                                           uint32_t k) {
  size_t most = (size_t)(matmul->threads < 2 ? 512 : 256) << 10;
  uint32_t last = n % 32;
  if (m <= 32)
    return n > 8;
  return n > 8 && (!last || last > 4) && kdl_matmul_packed_bytes(matmul->type, n, k) <= most;
}

/* Whether the last columns of a packed B are its rows. They are added up in another order, which
 * must not depend on the threads: the sizes alone decide then whether B is packed before. */
static inline int kdl_matmul_packs_rows(const kdl_matmul *matmul, uint32_t n, uint32_t words) {
  kdl_matmul_tile tile = kdl_matmul_tile_of(matmul->tile);
  uint32_t last = n % tile.columns;
  return n <= 8 || (!tile.is_matrix && last && last <= 4 && words >= 64);
}

/* The same as kdl_matmul_fuses_packing with a machine and threads: what costs less, where a launch
 * by all of them costs so much and the division is the one with unpacked B. */
static inline int kdl_matmul_packs_on_demand(const kdl_matmul *matmul, uint32_t m, uint32_t n,
                                             uint32_t k, const kdl_matmul_division *division,
                                             float launch_ns) {
  const kdl_matmul_machine *machine = &matmul->machine;
  uint32_t words = kdl_matmul_words(matmul->type, k), threads = matmul->threads;
  kdl_matmul_division before = kdl_matmul_divide(machine, matmul->tile, threads, m, n, words, 0);
  float packing = kdl_matmul_packing_cycles(
      machine, matmul->tile, threads, kdl_matmul_pack_groups(matmul, n, k), n, words, launch_ns);
  if (m <= 32)
    return n > 8;
  if (kdl_matmul_packs_rows(matmul, n, words))
    return n > 8 && kdl_matmul_packed_bytes(matmul->type, n, k) <= (size_t)256 << 10;
  return division->cycles <= before.cycles + packing;
}

/* Groups of rows and columns, and K in parts if their sums fit the scratch memory. */
static inline kdl_matmul_division kdl_matmul_divide_unpacked(const kdl_matmul *matmul, uint32_t m,
                                                             uint32_t n, uint32_t k) {
  uint32_t words = kdl_matmul_words(matmul->type, k);
  kdl_matmul_division division =
      kdl_matmul_divide(&matmul->machine, matmul->tile, matmul->threads, m, n, words, 1);
  if (!matmul->whole_k)
    division.depths = kdl_matmul_depth_parts(matmul->tile, matmul->threads, m, n, words, &division);
  if ((uint64_t)division.depths * m * n * 4 > kdl_matmul_packed_bytes(matmul->type, n, k))
    division.depths = 1;
  return division;
}

#endif
