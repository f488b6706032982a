/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One microkernel, called as a function, against the definition of its layout in mma.h. Built once
 * per microkernel; KDL_MMA_TYPE says which values it multiplies, and KDL_MMA_BLOCK_NAME names the
 * function for blocks where there is one, KDL_MMA_SVE_BITS the length of vectors that it runs with.
 * Inputs are small integers, so that every order of additions gives the same bits.
 */
#include <kdl/mma.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef KDL_MMA_SVE_BITS
#include <arm_sve.h>
#endif

#define TYPE_f32_bf16 1
#define TYPE_s32_u8s8 2
#define TYPE_f32_f32 3
#define TYPE_f32_f16 4
#define TYPE_OF(name) TYPE_OF_(name)
#define TYPE_OF_(name) TYPE_##name
#define PASTE(a, b, c) PASTE_(a, b, c)
#define PASTE_(a, b, c) a##b##c
#define MICROKERNEL PASTE(kdl_uk_mma_, KDL_MMA_TYPE, )
#define MICROKERNEL_TILE PASTE(kdl_uk_mma_, KDL_MMA_TYPE, _tile)

#if TYPE_OF(KDL_MMA_TYPE) == TYPE_f32_bf16
typedef kdl_bf16 lhs_element, rhs_element;
typedef float result;
enum { values = 2 };
static kdl_bf16 of_integer(int value) {
  float number = (float)value;
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return (kdl_bf16)(bits >> 16);
}
static lhs_element lhs_of(int value) {
  return of_integer(value);
}
static rhs_element rhs_of(int value) {
  return of_integer(value);
}
enum { lowest = -9, highest = 9 };
#elif TYPE_OF(KDL_MMA_TYPE) == TYPE_s32_u8s8
typedef uint8_t lhs_element;
typedef int8_t rhs_element;
typedef int32_t result;
enum { values = 4, lowest = -128, highest = 127 };
static lhs_element lhs_of(int value) {
  return (uint8_t)(value + 128);
}
static rhs_element rhs_of(int value) {
  return (int8_t)value;
}
#elif TYPE_OF(KDL_MMA_TYPE) == TYPE_f32_f32
typedef float lhs_element, rhs_element, result;
enum { values = 1, lowest = -9, highest = 9 };
static lhs_element lhs_of(int value) {
  return (float)value;
}
static rhs_element rhs_of(int value) {
  return (float)value;
}
#else
typedef float lhs_element, result;
typedef kdl_f16 rhs_element;
enum { values = 1, lowest = -9, highest = 9 };
static lhs_element lhs_of(int value) {
  return (float)value;
}
/* By its bits: compilers call a function for the conversion, which RISC-V's libraries may lack. */
static rhs_element rhs_of(int value) {
  float number = (float)value * 0x1p-112f; /* the difference of the exponents' biases */
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return (kdl_f16)((bits >> 16 & 0x8000) | (bits >> 13 & 0x7fff));
}
#endif

#ifdef __x86_64__
/* AMX is used by permission only; where the kernel gives it, the CPU has it. */
__attribute__((unused)) static int kdl_test_amx(void) {
  enum { request_permission = 0x1023, tile_data = 18 };
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#endif

static unsigned seed = 1;
static int next_value(void) {
  seed = seed * 1103515245u + 12345u;
  return lowest + (int)(seed >> 16) % (highest - lowest + 1);
}

/* What a value of the operands stands for: of u8, itself. */
static int lhs_meaning(int value) {
  return TYPE_OF(KDL_MMA_TYPE) == TYPE_s32_u8s8 ? value + 128 : value;
}

enum { guard = 7 };

static int check(int32_t k_outer, int32_t rows, int32_t vectors, int32_t steps) {
  size_t lhs_count = (size_t)(k_outer * rows * steps * values);
  size_t rhs_count = (size_t)(k_outer * vectors * steps * kdl_mma_columns * values);
  size_t acc_count = (size_t)(rows * vectors * kdl_mma_columns);
  int *left = malloc((lhs_count + 1) * sizeof *left),
      *right = malloc((rhs_count + 1) * sizeof *right);
  lhs_element *lhs = malloc((lhs_count + guard) * sizeof *lhs);
  rhs_element *rhs = malloc((rhs_count + guard) * sizeof *rhs);
  result *acc = malloc((acc_count + 2 * guard) * sizeof *acc);
  result *expected = malloc((acc_count + 2 * guard) * sizeof *expected);
  if (!left || !right || !lhs || !rhs || !acc || !expected)
    abort();
  for (size_t i = 0; i < lhs_count; ++i)
    lhs[i + guard] = lhs_of(left[i] = next_value());
  for (size_t i = 0; i < rhs_count; ++i)
    rhs[i + guard] = rhs_of(right[i] = next_value());
  for (size_t i = 0; i < acc_count + 2 * guard; ++i)
    expected[i] = acc[i] = (result)next_value();

  for (int32_t row = 0; row < rows; ++row)
    for (int32_t column = 0; column < vectors * kdl_mma_columns; ++column) {
      int32_t vector = column / kdl_mma_columns, lane = column % kdl_mma_columns;
      int64_t sum = 0;
      for (int32_t outer = 0; outer < k_outer; ++outer)
        for (int32_t k = 0; k < steps; ++k)
          for (int32_t value = 0; value < values; ++value) {
            size_t a = (size_t)(((outer * rows + row) * steps + k) * values + value);
            int32_t step = outer * steps + k;
            size_t b =
                (size_t)(((step * vectors + vector) * kdl_mma_columns + lane) * values + value);
            sum += (int64_t)lhs_meaning(left[a]) * right[b];
          }
      expected[guard + row * vectors * kdl_mma_columns + column] += (result)sum;
    }
  MICROKERNEL(lhs, guard, rhs, guard, acc, guard, k_outer, rows, vectors, steps);
  int wrong = memcmp(acc, expected, (acc_count + 2 * guard) * sizeof *acc) != 0;
  if (wrong)
    fprintf(stderr, "k_outer %d, rows %d, vectors %d, steps %d: differs\n", k_outer, rows, vectors,
            steps);
  free(left), free(right), free(lhs), free(rhs), free(acc), free(expected);
  return wrong;
}

#ifdef KDL_MMA_BLOCK_NAME
/* Where an element of a block is, by the distances that the function is given. */
typedef struct block {
  int64_t lhs_row, lhs_lot, lhs_last_lot, lhs_tile, rhs_words, rhs_first, c_row;
  int32_t rows, columns, lots, adds;
} block;

static int64_t place_in_lhs(const block *b, int32_t row, int32_t k) {
  int32_t tile = row / kdl_mma_block_rows, lot = k / (kdl_mma_steps * values);
  int is_whole = (tile + 1) * kdl_mma_block_rows <= b->rows;
  return tile * b->lhs_tile + row % kdl_mma_block_rows * b->lhs_row +
         lot * (is_whole ? b->lhs_lot : b->lhs_last_lot) + k % (kdl_mma_steps * values);
}
static int64_t place_in_rhs(const block *b, int32_t column, int32_t k) {
  int32_t vector = column / kdl_mma_columns, first = vector / kdl_mma_block_vectors * 2;
  int64_t vectors = b->columns - first * kdl_mma_columns > kdl_mma_columns ? 2 : 1;
  int64_t at = first * b->rhs_words + (b->rhs_first + k / values) * vectors + vector - first;
  return (at * kdl_mma_columns + column % kdl_mma_columns) * values + k % values;
}

static int check_block(const block *b) {
  int32_t configured = 0;
  int32_t k_size = b->lots * kdl_mma_steps * values;
  size_t lhs_count = (size_t)place_in_lhs(b, b->rows - 1, k_size) + guard;
  size_t vectors = (size_t)(b->columns + kdl_mma_columns - 1) / kdl_mma_columns;
  size_t rhs_count = vectors * (size_t)b->rhs_words * kdl_mma_columns * values + guard;
  size_t c_count = (size_t)((b->rows - 1) * b->c_row + b->columns);
  rhs_element *lhs = malloc(lhs_count * sizeof *lhs), *rhs = malloc(rhs_count * sizeof *rhs);
  int *left = malloc(lhs_count * sizeof *left), *right = malloc(rhs_count * sizeof *right);
  result *c = malloc(c_count * sizeof *c), *expected = malloc(c_count * sizeof *expected);
  if (!lhs || !rhs || !left || !right || !c || !expected)
    abort();
  for (size_t i = 0; i < lhs_count; ++i)
    lhs[i] = rhs_of(left[i] = next_value());
  for (size_t i = 0; i < rhs_count; ++i)
    rhs[i] = rhs_of(right[i] = next_value());
  for (size_t i = 0; i < c_count; ++i)
    expected[i] = c[i] = (result)next_value();
  for (int32_t row = 0; row < b->rows; ++row)
    for (int32_t column = 0; column < b->columns; ++column) {
      int64_t sum = 0;
      for (int32_t k = 0; k < k_size; ++k)
        sum += (int64_t)left[place_in_lhs(b, row, k)] * right[place_in_rhs(b, column, k)];
      result *to = expected + row * b->c_row + column;
      *to = (b->adds ? *to : 0) + (result)sum;
    }
  KDL_MMA_BLOCK_NAME(lhs, b->lhs_row, b->lhs_lot, b->lhs_last_lot, b->lhs_tile, rhs, b->rhs_words,
                     b->rhs_first, c, b->c_row, b->adds, b->rows, b->columns, b->lots, &configured);
  KDL_MMA_BLOCK_NAME(NULL, 0, 0, 0, 0, NULL, 0, 0, NULL, 0, 0, 0, 0, 0, &configured);
  int wrong = memcmp(c, expected, c_count * sizeof *c) != 0;
  if (wrong)
    fprintf(stderr, "block of %dx%d, %d lots, rows %d apart%s: differs\n", b->rows, b->columns,
            b->lots, (int)b->lhs_row, b->adds ? ", added" : "");
  free(lhs), free(rhs), free(left), free(right), free(c), free(expected);
  return wrong;
}

/* Packed in tiles, and as a matrix lies, with a part of K before and behind. */
static int check_blocks(int *checked) {
  static const int32_t heights[] = {1, 15, 16, 17, 31, 32, 33, 64, 65, 97, 130};
  static const int32_t widths[] = {1, 12, 23, 32, 34, 45, 56, 67, 96};
  enum { lot = kdl_mma_steps * values, height = kdl_mma_block_rows };
  int wrong = 0;
  for (size_t i = 0; i < sizeof heights / sizeof *heights; ++i)
    for (size_t j = 0; j < sizeof widths / sizeof *widths; ++j)
      for (int32_t lots = 0; lots <= 3; ++lots, *checked += 2) {
        const int32_t columns = widths[j];
        block b = {.lhs_row = lot,
                   .lhs_lot = height * lot,
                   .lhs_last_lot = heights[i] % height * lot,
                   .lhs_tile = height * lots * lot,
                   .rhs_words = lots * kdl_mma_steps,
                   .c_row = columns + lots,
                   .rows = heights[i],
                   .columns = columns,
                   .lots = lots,
                   .adds = lots & 1};
        wrong += check_block(&b);
        b.lhs_row = b.lhs_tile / height + 5;
        b.lhs_lot = b.lhs_last_lot = lot;
        b.lhs_tile = height * b.lhs_row;
        b.rhs_words += 3 * kdl_mma_steps;
        b.rhs_first = 2 * kdl_mma_steps;
        b.adds = !b.adds;
        wrong += check_block(&b);
      }
  /* A right operand that is beyond what stays in L2; rows of C in pages of their own. */
  enum { many = 64 };
  block large = {.lhs_row = lot,
                 .lhs_lot = height * lot,
                 .lhs_last_lot = 6 * lot,
                 .lhs_tile = height * many * lot,
                 .rhs_words = many * kdl_mma_steps,
                 .c_row = 1100,
                 .rows = 2 * height + 6,
                 .columns = 470,
                 .lots = many};
  ++*checked;
  return wrong + check_block(&large);
}
#else
static int check_blocks(int *checked) {
  (void)checked;
  return 0;
}
#endif

int main(void) {
#ifdef KDL_MMA_NEEDS
  if (!(KDL_MMA_NEEDS)) {
    puts("SKIPPED: this CPU lacks what the microkernel needs");
    return 77;
  }
#endif
#ifdef KDL_MMA_SVE_BITS
  if (svcntb() * 8 != KDL_MMA_SVE_BITS) {
    fprintf(stderr, "vectors of %d bits, expected %d\n", (int)svcntb() * 8, KDL_MMA_SVE_BITS);
    return 1;
  }
#endif
  uint32_t tile = MICROKERNEL_TILE();
  int32_t rows = tile & 0xff, vectors = tile >> 8 & 0xff, multiple = tile >> 16;
  int wrong = 0, checked = 0;
  for (int32_t m = 1; m <= rows; ++m)
    for (int32_t n = 1; n <= vectors; ++n)
      for (int32_t k = 0; k <= 5; ++k, ++checked) {
        wrong += check(k, m, n, kdl_mma_steps);
        wrong += check(1, m, n, 16 * k);
        if (multiple < 16)
          wrong += check(k, m, n, 1) + check(1, m, n, 2 * k + 1) + check(1, m, n, 2 * k);
      }
  wrong += check_blocks(&checked);
  printf("%d shapes up to %d rows and %d vectors, %d wrong\n", checked, rows, vectors, wrong);
  return wrong || !checked;
}
