/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An output file as a list of pieces: ranges of the input, new bytes, and zeros. Nothing is copied
 * before it is written. */
#ifndef KDL_PACK_THIN_OUTPUT_H
#define KDL_PACK_THIN_OUTPUT_H

#include "tools/common/memory.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct thin_piece {
  uint64_t at; /* in the output */
  uint64_t size;
  const uint8_t *bytes; /* NULL: zeros */
} thin_piece;

typedef struct thin_output {
  thin_piece *pieces;
  size_t count;
  size_t capacity;
  uint64_t size;
  kdl_arena arena; /* owns new bytes */
  kdl_arena *adopted;
  size_t adopted_count;
} thin_output;

/* The bytes are not copied and must outlive the output. */
void thin_output_add(thin_output *out, const void *bytes, uint64_t size);
void thin_output_add_zeros(thin_output *out, uint64_t size);

/* Adds bytes that the caller fills in, or a copy. */
uint8_t *thin_output_add_uninitialized(thin_output *out, size_t size);
void thin_output_add_copy(thin_output *out, const void *bytes, size_t size);

/* Adds a part of another output, whose arena must outlive `out`. */
void thin_output_append(thin_output *out, const thin_output *from, uint64_t at, uint64_t size);

/* The contiguous bytes at `at`, which is before the end: NULL for zeros. */
const uint8_t *thin_output_view(const thin_output *out, uint64_t at, uint64_t *out_size);

/* Copies a range to memory; or everything to new memory, which the caller frees. */
void thin_output_read(const thin_output *out, uint64_t at, void *bytes, size_t size);
uint8_t *thin_output_bytes(const thin_output *out);

/* Passes the bytes in order to `put`, zeros from a buffer; stops at a failure. */
kdl_status thin_output_send(const thin_output *out,
                            kdl_status (*write_bytes)(void *user, const void *bytes, size_t size),
                            void *user);

/* A mapped file that contains pieces: the kernel can copy them directly. */
typedef struct thin_mapped {
  const uint8_t *data;
  uint64_t size;
  int fd; /* -1: none */
} thin_mapped;

/* Writes at the descriptor's position. With `sparse`, runs of zeros of a page and more become
 * holes. `name` is for messages. */
kdl_status thin_output_write(const thin_output *out, const thin_mapped *from, int fd, bool sparse,
                             const char *name);

/* Takes over the memory of another arena, which is then empty, so that pieces may point to it. */
void thin_output_adopt(thin_output *out, kdl_arena *arena);

void thin_output_free(thin_output *out);

#endif
