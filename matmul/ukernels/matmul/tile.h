/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A tile of C: its sums are in registers from their first value until they are stored, and the
 * microkernel adds to them. matmul.h includes this; which explains the types.
 *
 * A tile may have to make its part of the right operand first, from a matrix B as it lies: then it
 * packs 16 words of K, multiplies with them, packs the next. A processor has time for the one while
 * it does the other, and tiles of other rows find the panel packed. Where there are no others, and
 * a word is one value, rows of B are vectors as they lie.
 */
#include "pack.h"

typedef result fragment __attribute__((ext_vector_type(16), aligned(4)));

enum { max_rows = 16, max_vectors = 2, line_bytes = 64 };

/* Before loops over sums, which are registers only if each is named by a constant. */
#ifndef UNROLLED
#define UNROLLED _Pragma("clang loop unroll(enable)")
#endif

INLINE int32_t tile_rows(void) {
  return (int32_t)(microkernel_tile() & 0xff);
}
INLINE int32_t tile_vectors(void) {
  return (int32_t)(microkernel_tile() >> 8 & 0xff);
}
INLINE int32_t tile_steps(void) {
  return (int32_t)(microkernel_tile() >> 16);
}

/* Whether C is made in blocks, by registers that are tiles; otherwise in tiles of registers. */
INLINE int has_blocks(void) {
#ifdef microkernel_block
  return tile_steps() == steps;
#else
  return 0;
#endif
}

/* How a tile comes by its panel of B. */
typedef enum origin {
  packed_before,
  packed_in_tile, /* from rows of N, by the tile itself */
  not_packed,     /* rows of N, of which each is a step; the left operand is packed by steps too */
} origin;

/* What tiles have in common. Of the left operand's `depth` words, `step_blocks` blocks of 16 are
 * packed so; the others are one block, which may be the matrix itself. */
typedef struct tile_params {
  int32_t depth, step_blocks;
  ptrdiff_t stride; /* of rows of C */
  int adds;         /* to what is in C */
  int streams;      /* the product has few rows, and tiles read B in several places */

  /* Of tiles that make their panel: */
  ptrdiff_t source_stride;     /* of rows of B */
  ptrdiff_t prefetch_distance; /* how far to fetch of it */
  ptrdiff_t step_block_stride; /* from a step block of the panel to the next; 0: no other tile needs
                                  them */
  ptrdiff_t tail_offset;       /* where the words are that fill no step block */
} tile_params;

/* One of them. */
typedef struct tile_args {
  const lhs_element *lhs;
  rhs_element *rhs;
  origin origin;
  const element *source; /* B as it lies, if it is not packed before */
  result *bias;          /* what sums start from; NULL: zero */
  result *c;
  int32_t rows, width; /* width: in columns of C, of which the last vector may lack some */

  /* What is needed later, of which each step block fetches some. */
  const char *fetched;      /* steps of the next panel, two lines each; NULL: none */
  ptrdiff_t fetched_stride; /* bytes from one to the next */
  int32_t fetched_steps;    /* with each step block */
  const result *next_c;     /* where the next tile begins; NULL: nowhere */

  /* Row 0 is no row of C: a row of zeros gives the bias, which is put down. */
  int has_bias_row;
} tile_args;

/* Rows from `first` on of the sums, from C and to it. All but the last vector are whole. */
INLINE void load_c(fragment *sums, const result *c, ptrdiff_t stride, int32_t first, int32_t rows,
                   int32_t vectors, int32_t last) {
  lanes there = first_lanes(last);
  UNROLLED
  for (int32_t row = 0; row < rows; ++row) {
    UNROLLED
    for (int32_t vector = 0; vector < vectors; ++vector) {
      const result *from = c + row * stride + vector * columns;
      if (row >= first && (vector < vectors - 1 || last == columns))
        sums[row * vectors + vector] += *(const fragment *)from;
      else if (row >= first)
        sums[row * vectors + vector] += __builtin_masked_load(there, from, (fragment)0);
    }
  }
}
INLINE void store_c(result *c, ptrdiff_t stride, const fragment *sums, int32_t first, int32_t rows,
                    int32_t vectors, int32_t last) {
  lanes there = first_lanes(last);
  UNROLLED
  for (int32_t row = 0; row < rows; ++row) {
    UNROLLED
    for (int32_t vector = 0; vector < vectors; ++vector) {
      result *to = c + row * stride + vector * columns;
      if (row >= first && (vector < vectors - 1 || last == columns))
        *(fragment *)to = sums[row * vectors + vector];
      else if (row >= first)
        __builtin_masked_store(there, sums[row * vectors + vector], to);
    }
  }
}

/* Packs the panel one step block after another, and multiplies with each at once. */
INLINE void multiply_packing(const tile_params *f, const tile_args *at, fragment *sums,
                             int32_t rows, int32_t vectors) {
  rhs_element *rhs = at->rhs;
  const lhs_element *lhs = at->lhs;
  const element *source = at->source;
  for (int32_t lot = 0; lot < f->step_blocks; ++lot) {
    pack_step_block(rhs, source, f->source_stride, f->prefetch_distance, vectors);
    microkernel(lhs, 0, rhs, 0, (result *)sums, 0, 1, rows, vectors, steps);
    source += steps * values * f->source_stride;
    lhs += (ptrdiff_t)steps * rows * values;
    rhs += f->step_block_stride;
  }
}

/* Rows of B, a step each. */
INLINE void multiply_rows(const tile_params *f, const tile_args *at, fragment *sums, int32_t rows,
                          int32_t vectors) {
  const lhs_element *lhs = at->lhs;
  const element *source = at->source;
  _Pragma("clang loop unroll(disable)") for (int32_t step = 0; step < f->depth; ++step) {
    fetch_row(source + f->prefetch_distance, vectors);
    microkernel(lhs, 0, (const rhs_element *)source, 0, (result *)sums, 0, 1, rows, vectors, 1);
    source += f->source_stride;
    lhs += rows;
  }
}

/* Few rows have their words faster than memory does. It is read in several places in turn, 16 words
 * in each: more of it is on its way than in one sequence. */
enum { streams = 4, stream_rows = values == 2 ? 4 : 2 };

INLINE void multiply_streams(const tile_params *f, const tile_args *at, fragment *sums,
                             int32_t rows, int32_t vectors) {
  const int32_t part = f->step_blocks / streams, done = part * streams;
  const ptrdiff_t lhs_lot = steps * rows * values, rhs_lot = steps * vectors * columns * values;
  _Pragma("clang loop unroll(disable)") for (int32_t i = 0; i < done; ++i) {
    int32_t lot = i % streams * part + i / streams;
    microkernel(at->lhs, lot * lhs_lot, at->rhs, lot * rhs_lot, (result *)sums, 0, 1, rows, vectors,
                steps);
  }
  if (f->step_blocks > done)
    microkernel(at->lhs, done * lhs_lot, at->rhs, done * rhs_lot, (result *)sums, 0,
                f->step_blocks - done, rows, vectors, steps);
}

/* Memory would be idle while a panel is multiplied: lines of the next panel, and of C where the
 * next tile adds to it, are fetched with each step block. */
INLINE void multiply_fetching(const tile_params *f, const tile_args *at, fragment *sums,
                              int32_t rows, int32_t vectors) {
  const ptrdiff_t lhs_lot = steps * rows * values, rhs_lot = steps * vectors * columns * values;
  const char *fetched = at->fetched;
  const result *next_c = at->next_c;
  _Pragma("clang loop unroll(disable)") for (int32_t lot = 0; lot < f->step_blocks; ++lot) {
    const char *step = fetched;
    _Pragma("clang loop unroll(disable)") for (int32_t i = 0; i < at->fetched_steps; ++i) {
      __builtin_prefetch(step, 0, 2);
      __builtin_prefetch(step + line_bytes, 0, 2);
      step += at->fetched_stride;
    }
    fetched += steps * at->fetched_stride;
    if (next_c && lot < rows) {
      __builtin_prefetch(next_c, 1, 2);
      __builtin_prefetch(next_c + columns, 1, 2);
      next_c += f->stride;
    }
    microkernel(at->lhs, lot * lhs_lot, at->rhs, lot * rhs_lot, (result *)sums, 0, 1, rows, vectors,
                steps);
  }
}

INLINE void multiply(const tile_params *f, const tile_args *at, fragment *sums, int32_t rows,
                     int32_t vectors) {
  int32_t whole = f->step_blocks * steps;
  ptrdiff_t rest = (ptrdiff_t)whole * vectors * columns * values;
  int packs_rhs = vectors == tile_vectors();
  if (packs_rhs && values == 1 && at->origin == not_packed) {
    multiply_rows(f, at, sums, rows, vectors);
    return;
  }
  if (packs_rhs && at->origin == packed_in_tile) {
    multiply_packing(f, at, sums, rows, vectors);
    rest = f->tail_offset;
  } else if (f->step_blocks && rows <= stream_rows && f->streams) {
    multiply_streams(f, at, sums, rows, vectors);
  } else if (f->step_blocks && packs_rhs && (at->fetched || at->next_c)) {
    multiply_fetching(f, at, sums, rows, vectors);
  } else if (f->step_blocks) {
    microkernel(at->lhs, 0, at->rhs, 0, (result *)sums, 0, f->step_blocks, rows, vectors, steps);
  }
  if (f->depth > whole)
    microkernel(at->lhs, (ptrdiff_t)whole * rows * values, at->rhs, rest, (result *)sums, 0, 1,
                rows, vectors, f->depth - whole);
}

/* The bias from its row, for others and for the rows of this tile. */
INLINE void subtract_bias_row(fragment *sums, result *bias, int32_t rows, int32_t vectors) {
  UNROLLED
  for (int32_t vector = 0; vector < vectors; ++vector) {
    ((fragment *)bias)[vector] = -sums[vector];
    UNROLLED
    for (int32_t row = 1; row < rows; ++row)
      sums[row * vectors + vector] -= sums[vector];
  }
}

/* The sums are named by constants alone once this is inlined. */
INLINE void tile(const tile_params *f, const tile_args *at, int32_t rows, int32_t vectors) {
  fragment sums[max_rows * max_vectors];
  const int32_t last = at->width - (vectors - 1) * columns;
  const int32_t first = has_bias && at->has_bias_row;
  result *c = at->c - first * f->stride;
  UNROLLED
  for (int32_t vector = 0; vector < vectors; ++vector) {
    fragment start = {0};
    if (has_bias && at->bias && !first)
      start = ((const fragment *)at->bias)[vector];
    UNROLLED
    for (int32_t row = 0; row < rows; ++row)
      sums[row * vectors + vector] = start;
  }
  if (f->adds && last == columns)
    load_c(sums, c, f->stride, first, rows, vectors, columns);
  else if (f->adds)
    load_c(sums, c, f->stride, first, rows, vectors, last);
  multiply(f, at, sums, rows, vectors);
  if (first)
    subtract_bias_row(sums, at->bias, rows, vectors);
  if (last == columns)
    store_c(c, f->stride, sums, first, rows, vectors, columns);
  else
    store_c(c, f->stride, sums, first, rows, vectors, last);
}

/* A tile of each height is code of its own, in which the microkernel's arrays are registers. */
static __attribute__((noinline)) void run_tile(const tile_params *f, const tile_args *at) {
  int two = tile_vectors() > 1 && at->width > columns;
#define HEIGHT(height)                                                                             \
  case height:                                                                                     \
    if (height > tile_rows())                                                                      \
      break;                                                                                       \
    if (two)                                                                                       \
      tile(f, at, height, 2);                                                                      \
    else                                                                                           \
      tile(f, at, height, 1);                                                                      \
    break;
#define HEIGHTS(base)                                                                              \
  HEIGHT(base + 1)                                                                                 \
  HEIGHT(base + 2)                                                                                 \
  HEIGHT(base + 3)                                                                                 \
  HEIGHT(base + 4) HEIGHT(base + 5) HEIGHT(base + 6) HEIGHT(base + 7) HEIGHT(base + 8)
  switch (at->rows) { HEIGHTS(0) HEIGHTS(8) }
}

/* Between C, where its columns are apart, and rows of whole vectors. */
static void gather_c(result *whole, ptrdiff_t stride, const result *c, matrix shape, int32_t rows,
                     int32_t width) {
  for (int32_t row = 0; row < rows; ++row)
    for (int32_t column = 0; column < width; ++column)
      whole[row * stride + column] = c[row * shape.row_stride + column * shape.column_stride];
}
static void scatter_c(result *c, matrix shape, const result *whole, ptrdiff_t stride, int32_t rows,
                      int32_t width) {
  for (int32_t row = 0; row < rows; ++row)
    for (int32_t column = 0; column < width; ++column)
      c[row * shape.row_stride + column * shape.column_stride] = whole[row * stride + column];
}

static __attribute__((noinline)) void run_strided_tile(const tile_params *f, const tile_args *at,
                                                       matrix shape) {
  enum { stride = max_vectors * columns };
  result whole[max_rows * stride];
  int32_t rows = at->rows - at->has_bias_row;
  tile_params inside = *f;
  tile_args here = *at;
  inside.stride = stride;
  here.c = whole;
  if (f->adds)
    gather_c(whole, stride, at->c, shape, rows, at->width);
  run_tile(&inside, &here);
  scatter_c(at->c, shape, whole, stride, rows, at->width);
}
