/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The data-tiled matrix multiplication C = A B or C += A B, as kernels for the CPU that call a
 * microkernel for each tile of C. A file per type defines what follows and includes this one.
 *
 *     element, lhs_element, rhs_element, result      in the matrices; packed, left and right; in C
 *     element_part, rhs_word                         integers: a 16th of what makes 16 words of A;
 *                                                    a column of a vector
 *     values                                         of K in a word
 *     microkernel, microkernel_tile                  <kdl/mma.h>
 *     microkernel_block                              where there is one for these types
 *     pack_name, matmul_name, plain_name, sum_name, tile_name  of the kernels
 *     matmul_type                                    as <kdl/matmul.h> names it
 *     lhs_of(element), lhs_line(16 words' elements)  packed left elements
 *     has_bias, bias_of(sum)                         where sums start
 *     lhs_is_a                                       whether the left elements are those of A
 *
 * Packed B, slowest first: [panels of the tile's vectors][blocks of K][the microkernel's rhs];
 * before it, where has_bias, a result for each column, from which sums start.
 *
 *     for each block of K, of at most `depth` words
 *       for each block of rows of A that fits the group memory: pack it
 *         for each panel of B                        (from L3, then from L1 and L2)
 *           for each tile of rows                    (from L2)
 *             the microkernel                        (in registers)
 *
 * A launch's groups divide C among them: group_count[0] parts of its rows, group_count[1] parts of
 * its columns, whatever the numbers are. With unpacked B, group_count[2] parts of K have each a
 * matrix of sums of their own, one behind the other, which a second launch adds up.
 *
 * A matrix B of few columns would fill a vector to a small part. It is the left operand then:
 * C' = B' A', see narrow_run.
 */
#include "narrow.h"

/* Group memory for one tile at the full depth. */
#define KDL_KERNEL_SHARED (1 << 18)
#include <kdl/kernel.h>

#include "matmul/division.h"

/* The names are macros, to be replaced before they are pasted. */
#define KERNEL(...) KDL_KERNEL(__VA_ARGS__)

/* Words of K in a block: so many that sums are seldom stored, so few that a panel of B stays in L2
 * together with the block of A. */
KDL_CONSTANT(int32_t, matmul_depth, 2048);

/* Words of K: a multiple of 16 where the microkernel takes nothing else. */
INLINE int32_t k_words(uint32_t k) {
  int32_t words = (int32_t)((k + values - 1) / values);
  return has_blocks() ? (words + steps - 1) / steps * steps : words;
}

/* Words of a block, where a launch wants fewer than the constant; 0: it does not. */
INLINE int32_t block_words(uint32_t wanted) {
  int32_t most = kdl_const_matmul_depth;
  return wanted && wanted < (uint32_t)most ? (int32_t)wanted / steps * steps : most;
}

typedef struct region {
  int32_t first_row, end_row, first_column, end_column;
} region;

INLINE kdl_matmul_span column_part(uint32_t n, uint32_t part, uint32_t parts) {
  return kdl_matmul_part(n, (uint32_t)(tile_vectors() * columns), part, parts);
}

/* What a group has of C: columns in whole panels. */
INLINE region group_region(const kdl_host_group *group, uint32_t m, uint32_t n) {
  uint32_t parts = group->group_count[0];
  kdl_matmul_tile tile = kdl_matmul_tile_of(microkernel_tile());
  tile.is_matrix = has_blocks();
  kdl_matmul_span rows =
      kdl_matmul_part(m, kdl_matmul_row_unit(tile, m, parts), group->group[0], parts);
  kdl_matmul_span across = column_part(n, group->group[1], group->group_count[1]);
  return (region){(int32_t)rows.first, (int32_t)rows.end, (int32_t)across.first,
                  (int32_t)across.end};
}

INLINE int is_last_column(const kdl_host_group *group) {
  return group->group[1] + 1 == group->group_count[1];
}

/* ------------------------------------------------------------------------------------------ */
/* The kernels                                                                                  */

/* The parts of packed B. */
typedef struct parts {
  int32_t wide, narrow; /* columns */
  result *bias;
  rhs_element *rhs;
  lhs_element *lhs; /* of the narrow ones */
} parts;

INLINE parts packed_parts_of(const void *packed, uint32_t n, int32_t words) {
  int32_t narrow = narrow_columns_of(n, words), wide = (int32_t)n - narrow;
  ptrdiff_t padded = (wide + columns - 1) / columns * columns;
  result *bias = (result *)(uintptr_t)packed;
  rhs_element *rhs = (rhs_element *)(bias + (has_bias ? padded : 0));
  return (parts){wide, narrow, bias, rhs, (lhs_element *)(rhs + padded * words * values)};
}

/* With packed B. A launch may add group memory; A is packed in larger blocks then. */
KERNEL(matmul_name, (1, 1, 1), (1, 1, 1), (const element *, a), (int64_t, a_row_stride),
       (int64_t, a_column_stride), (const void *, b), (result *, c), (int64_t, c_row_stride),
       (int64_t, c_column_stride), (uint32_t, m), (uint32_t, n), (uint32_t, k),
       (uint32_t, accumulate), (uint32_t, block_depth)) {
  int32_t words = k_words(k), most = block_words(block_depth), configured = 0;
  parts in = packed_parts_of(b, n, words);
  region of = group_region(kdl_group, m, (uint32_t)in.wide);
  matrix a_shape = {a_row_stride, a_column_stride}, c_shape = {c_row_stride, c_column_stride};
  a += of.first_row * a_row_stride;
  c += of.first_row * c_row_stride;
  if (in.narrow && is_last_column(kdl_group))
    narrow_run(in.lhs, a, a_shape, c + in.wide * c_column_stride, c_shape,
               of.end_row - of.first_row, in.narrow, (int32_t)k, words, accumulate != 0,
               kdl_group->shared);
  if (of.first_row == of.end_row || of.first_column >= of.end_column)
    return;
  macro_kernel s = {.a = a,
                    .b = in.rhs + (ptrdiff_t)of.first_column * words * values,
                    .bias = has_bias ? in.bias + of.first_column : 0,
                    .c = c + of.first_column * c_column_stride,
                    .a_shape = a_shape,
                    .c_shape = c_shape,
                    .rows = of.end_row - of.first_row,
                    .width = of.end_column - of.first_column,
                    .streams = m <= stream_rows,
                    .values_of_k = (int32_t)k,
                    .b_words = words,
                    .packed = kdl_group->shared,
                    .configured = &configured};
  s.in_place = can_be_in_place(&s, words, most);
  do {
    int32_t depth = min_i32(most, words - s.first_word);
    s.b_first_word = s.first_word;
    share_block(&s, depth, accumulate || s.first_word, kdl_group->shared_size);
    s.first_word += depth;
    s.bias = 0;
  } while (s.first_word < words);
  end_blocks(&configured);
}

/* Blocks with unpacked B: as many columns, and as much of K, at a time as fit in `size` bytes. */
static void plain_blocks(macro_kernel s, const element *b, matrix shape, int32_t words,
                         int32_t most_words, int accumulate, size_t size) {
  enum { least_words = 64 };
  int32_t panel = tile_vectors() * columns, end = s.width;
  int32_t at_once = (int32_t)(size / (least_words * 4)) / panel * panel;
  result *c = s.c;
  for (int32_t column = 0; column < end; column += at_once) {
    s.width = min_i32(at_once, end - column);
    s.c = c + column * s.c_shape.column_stride;
    int32_t vectors = (s.width + columns - 1) / columns;
    int32_t most = (int32_t)(size / 4) /
                   (vectors * columns > tile_rows() ? vectors * columns : tile_rows()) / steps *
                   steps;
    most = min_i32(most, most_words);
    s.in_place = can_be_in_place(&s, words, most);
    s.first_word = 0;
    do {
      int32_t depth = min_i32(most, words - s.first_word);
      s.b_words = depth;
      pack_vectors((panels){s.b, depth, tile_vectors(), vectors}, 0,
                   b + (ptrdiff_t)s.first_word * values * shape.row_stride +
                       column * shape.column_stride,
                   shape, depth, s.values_of_k - s.first_word * values, s.width);
      share_block(&s, depth, accumulate || s.first_word, size);
      s.first_word += depth;
    } while (s.first_word < words);
  }
}

/* Tiles with unpacked B, of `most` words of K at a time. Up to `size` bytes of it are packed: all
 * of it, if it fits, or one panel after another, each used for all rows and then replaced. With few
 * rows and long rows of B, strips along K are short, so that the lines that are read at a time do
 * not replace each other in the cache: the shorter the more columns there are. */
static void plain_tiles(macro_kernel *s, int32_t words, int32_t most, int accumulate, size_t size) {
  enum { long_rows = 4096, strip = values == 1 ? 16 : 64, strip_words = 1 << 16 };
  enum { line = 64 / sizeof(element), panel = max_vectors * columns };
  ptrdiff_t padded = (s->width + columns - 1) / columns * columns;
  ptrdiff_t needed = padded * (words + has_bias) * values * (ptrdiff_t)sizeof(rhs_element);
  ptrdiff_t stride = s->source_shape.row_stride;
  s->keeps_all_of_rhs =
      needed <= min_i32((int32_t)size, small_b) && s->rows + s->bias_rows > tile_rows();
  s->bias = has_bias ? (result *)(void *)s->b : 0;
  s->b += has_bias ? (s->keeps_all_of_rhs ? padded : tile_vectors() * columns) * values : 0;
  s->prefetch_distance = steps * values * stride;
  if (s->rows <= few_rows && stride * (ptrdiff_t)sizeof(element) >= long_rows) {
    int32_t fits = strip_words / s->width / steps * steps;
    most = min_i32(most, fits > strip ? fits : strip);
    s->prefetch_distance = line > panel ? line : panel;
    s->in_place &= words <= most;
  }
  do {
    int32_t depth = min_i32(most, words - s->first_word);
    s->b_words = depth;
    share_block(s, depth, accumulate || s->first_word, size);
    s->first_word += depth;
  } while (s->first_word < words);
}

/* With unpacked B: half of the group memory is for A, half for B. Where K is divided, C is the
 * first matrix of sums. */
KERNEL(plain_name, (1, 1, 1), (1, 1, 1), (const element *, a), (int64_t, a_row_stride),
       (int64_t, a_column_stride), (const element *, b), (int64_t, b_row_stride),
       (int64_t, b_column_stride), (result *, c), (int64_t, c_row_stride),
       (int64_t, c_column_stride), (uint32_t, m), (uint32_t, n), (uint32_t, k),
       (uint32_t, accumulate), (uint32_t, block_depth)) {
  region of = group_region(kdl_group, m, n);
  kdl_matmul_span along =
      kdl_matmul_part(k, steps * values, kdl_group->group[2], kdl_group->group_count[2]);
  a += along.first * a_column_stride;
  b += along.first * b_row_stride;
  c += (ptrdiff_t)kdl_group->group[2] * m * c_row_stride;
  k = along.end - along.first;
  int32_t words = k_words(k), panel = tile_vectors() * columns;
  size_t half = kdl_group->shared_size / 2 / 64 * 64;
  matrix b_shape = {b_row_stride, b_column_stride};
  macro_kernel all = {.a = a + of.first_row * a_row_stride,
                      .a_shape = {a_row_stride, a_column_stride},
                      .b = (void *)((char *)kdl_group->shared + half),
                      .c = c + of.first_row * c_row_stride + of.first_column * c_column_stride,
                      .c_shape = {c_row_stride, c_column_stride},
                      .rows = of.end_row - of.first_row,
                      .width = of.end_column - of.first_column,
                      .values_of_k = (int32_t)k,
                      .packed = kdl_group->shared};
  b += of.first_column * b_column_stride;
  if (all.rows <= 0 || all.width <= 0)
    return;
  if (has_blocks()) {
    int32_t configured = 0;
    all.configured = &configured;
    plain_blocks(all, b, b_shape, words, block_words(block_depth), accumulate != 0, half);
    end_blocks(&configured);
    return;
  }
  all.source = b;
  all.source_shape = b_shape;
  all.bias_rows = has_bias;
  /* A panel with its bias, and a tile of A in two ways, of so many words fit a half. */
  int32_t widest = panel > 2 * tile_rows() ? panel : 2 * tile_rows();
  int32_t most =
      min_i32((int32_t)(half / 4) / widest - 1, block_words(block_depth)) / steps * steps;
  /* B is read once for few rows, whatever the memory. */
  int32_t whole_tiles = (all.rows + has_bias + tile_rows() - 1) / tile_rows() * tile_rows();
  if (all.rows <= few_rows)
    most = min_i32(most, (int32_t)(half / 4) / whole_tiles / steps * steps);
  all.in_place = can_be_in_place(&all, words, most);
  int32_t fits = (int32_t)(half / 4) / (words < most ? words + !words : most);
  int32_t at_once = all.in_place ? all.rows : fits / tile_rows() * tile_rows() - has_bias;
  for (int32_t row = 0; row < all.rows; row += at_once) {
    macro_kernel s = all;
    s.a += row * a_row_stride;
    s.c += row * c_row_stride;
    s.rows = min_i32(at_once, all.rows - row);
    plain_tiles(&s, words, most, accumulate != 0, half);
  }
}

/* Adds up the sums that parts of K have, one part after the other; a group has some of C. */
KERNEL(sum_name, (1, 1, 1), (1, 1, 1), (const result *, sums), (uint32_t, parts), (result *, c),
       (int64_t, c_row_stride), (int64_t, c_column_stride), (uint32_t, m), (uint32_t, n),
       (uint32_t, accumulate)) {
  uint32_t size = m * n;
  kdl_matmul_span of =
      kdl_matmul_part(size, columns, kdl_group->group[0], kdl_group->group_count[0]);
  for (uint32_t at = of.first; at < of.end; ++at) {
    result *to = c + at / n * c_row_stride + at % n * c_column_stride;
    result sum = accumulate ? *to : 0;
    for (uint32_t part = 0; part < parts; ++part)
      sum += sums[(size_t)part * size + at];
    *to = sum;
  }
}

/* Packs B for the microkernel, from rows of N or, with the strides exchanged, from rows of K. */
KERNEL(pack_name, (1, 1, 1), (1, 1, 1), (const element *, b), (int64_t, row_stride),
       (int64_t, column_stride), (void *, packed), (uint32_t, n), (uint32_t, k)) {
  int32_t words = k_words(k);
  matrix shape = {row_stride, column_stride};
  parts in = packed_parts_of(packed, n, words);
  kdl_matmul_span of =
      column_part((uint32_t)in.wide, kdl_group->group[0], kdl_group->group_count[0]);
  if (in.narrow && kdl_group->group[0] + 1 == kdl_group->group_count[0])
    narrow_pack(in.lhs, b + in.wide * column_stride, shape, in.narrow, (int32_t)k, words);
  int32_t width = (int32_t)(of.end - of.first);
  panels to = {in.rhs + (ptrdiff_t)of.first * words * values, words, tile_vectors(),
               (width + columns - 1) / columns};
  pack_vectors(to, in.bias + of.first, b + of.first * column_stride, shape, words, (int32_t)k,
               width);
}

/* The tile, which a division depends on. */
KERNEL(tile_name, (1, 1, 1), (1, 1, 1), (uint32_t *, tile)) {
  (void)kdl_group;
  *tile = microkernel_tile();
}

/* ------------------------------------------------------------------------------------------ */
/* The same for compilers                                                                       */

/* Functions that a compiler links into a program of its own: parameters as they are, and which of
 * how many parts of C, by rows or by columns, instead of a launch. They are no kernels, and linked
 * libraries are without them. */
#define HIDDEN __attribute__((visibility("hidden")))
#define PART(name) PART_(name)
#define PART_(name) HIDDEN void name##_part
#define GROUP(name) GROUP_(name)
#define GROUP_(name) name##_group

INLINE kdl_host_group group_of(uint32_t part, uint32_t parts, uint32_t by_rows, void *memory,
                               uint32_t size) {
  return (kdl_host_group){.size = sizeof(kdl_host_group),
                          .group = {by_rows ? part : 0, by_rows ? 0 : part, 0},
                          .group_count = {by_rows ? parts : 1, by_rows ? 1 : parts, 1},
                          .block = {1, 1, 1},
                          .tile = {1, 1, 1},
                          .shared_size = size,
                          .shared = memory};
}

PART(pack_name)(const element *b, int64_t row_stride, int64_t column_stride, void *packed,
                uint32_t n, uint32_t k, uint32_t part, uint32_t parts) {
  kdl_host_group group = group_of(part, parts, 1, 0, 0);
  GROUP(pack_name)(&group, b, row_stride, column_stride, packed, n, k);
}

PART(matmul_name)(const element *a, int64_t a_row_stride, int64_t a_column_stride, const void *b,
                  result *c, int64_t c_row_stride, int64_t c_column_stride, uint32_t m, uint32_t n,
                  uint32_t k, uint32_t accumulate, uint32_t part, uint32_t parts, uint32_t by_rows,
                  void *memory, uint32_t size) {
  kdl_host_group group = group_of(part, parts, by_rows, memory, size);
  GROUP(matmul_name)(&group, a, a_row_stride, a_column_stride, b, c, c_row_stride, c_column_stride,
                     m, n, k, accumulate, 0);
}

PART(plain_name)(const element *a, int64_t a_row_stride, int64_t a_column_stride, const element *b,
                 int64_t b_row_stride, int64_t b_column_stride, result *c, int64_t c_row_stride,
                 int64_t c_column_stride, uint32_t m, uint32_t n, uint32_t k, uint32_t accumulate,
                 uint32_t part, uint32_t parts, uint32_t by_rows, void *memory, uint32_t size) {
  kdl_host_group group = group_of(part, parts, by_rows, memory, size);
  GROUP(plain_name)(&group, a, a_row_stride, a_column_stride, b, b_row_stride, b_column_stride, c,
                    c_row_stride, c_column_stride, m, n, k, accumulate, 0);
}

/* K in parts: the sums of one, in a matrix of its own behind those of the others; then a part of C
 * from all of them. */
#define DEPTH_PART(name) DEPTH_PART_(name)
#define DEPTH_PART_(name) HIDDEN void name##_depth_part

DEPTH_PART(plain_name)(const element *a, int64_t a_row_stride, int64_t a_column_stride,
                       const element *b, int64_t b_row_stride, int64_t b_column_stride,
                       result *sums, uint32_t m, uint32_t n, uint32_t k, uint32_t part,
                       uint32_t parts, void *memory, uint32_t size) {
  kdl_host_group group = group_of(0, 1, 1, memory, size);
  group.group[2] = part;
  group.group_count[2] = parts;
  GROUP(plain_name)(&group, a, a_row_stride, a_column_stride, b, b_row_stride, b_column_stride,
                    sums, n, 1, m, n, k, 0, 0);
}

PART(sum_name)(const result *sums, uint32_t depths, result *c, int64_t c_row_stride,
               int64_t c_column_stride, uint32_t m, uint32_t n, uint32_t accumulate, uint32_t part,
               uint32_t parts) {
  kdl_host_group group = group_of(part, parts, 1, 0, 0);
  GROUP(sum_name)(&group, sums, depths, c, c_row_stride, c_column_stride, m, n, accumulate);
}

/* Sizes that are known when the program runs: what division.h decides of a product is decided
 * then, for so many threads. B is packed into so many bytes, where there are any; then so many
 * parts make C. */
#define DYNAMIC(name, what) DYNAMIC_(name, what)
#define DYNAMIC_(name, what) name##_dynamic_##what

INLINE kdl_matmul on_threads(uint32_t threads) {
  return (kdl_matmul){.type = matmul_type, .threads = threads};
}

HIDDEN uint64_t DYNAMIC(matmul_name, scratch)(uint32_t m, uint32_t n, uint32_t k,
                                              uint32_t threads) {
  kdl_matmul matmul = on_threads(threads);
  return kdl_matmul_fuses_packing(&matmul, m, n, k) ? 0
                                                    : kdl_matmul_packed_bytes(matmul_type, n, k);
}

HIDDEN uint32_t DYNAMIC(matmul_name, parts)(uint32_t m, uint32_t n, uint32_t threads) {
  kdl_matmul matmul = on_threads(threads);
  kdl_launch_desc grid = kdl_matmul_grid(&matmul, m, n);
  return grid.grid[0] * grid.grid[1];
}

HIDDEN uint32_t DYNAMIC(matmul_name, depths)(uint32_t m, uint32_t n, uint32_t k, uint32_t threads) {
  kdl_matmul matmul = on_threads(threads);
  return kdl_matmul_grid_depths(&matmul, m, n, k);
}

HIDDEN void DYNAMIC(matmul_name, part)(const element *a, int64_t a_row_stride,
                                       int64_t a_column_stride, const element *b,
                                       int64_t b_row_stride, int64_t b_column_stride,
                                       const void *packed, result *c, int64_t c_row_stride,
                                       int64_t c_column_stride, uint32_t m, uint32_t n, uint32_t k,
                                       uint32_t accumulate, uint32_t threads, uint32_t part,
                                       void *memory, uint32_t size) {
  kdl_matmul matmul = on_threads(threads);
  kdl_launch_desc grid = kdl_matmul_grid(&matmul, m, n);
  uint32_t by_rows = grid.grid[0] > 1;
  kdl_host_group group = group_of(part, grid.grid[!by_rows], by_rows, memory, size);
  if (kdl_matmul_fuses_packing(&matmul, m, n, k))
    GROUP(plain_name)(&group, a, a_row_stride, a_column_stride, b, b_row_stride, b_column_stride, c,
                      c_row_stride, c_column_stride, m, n, k, accumulate, 0);
  else
    GROUP(matmul_name)(&group, a, a_row_stride, a_column_stride, packed, c, c_row_stride,
                       c_column_stride, m, n, k, accumulate, 0);
}
