/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A file that is to be written, as a list of pieces: bytes of the input where they lie, bytes that
 * were made, and zeros. Nothing is copied before it is written. */
#ifndef KDL_TOOL_THIN_OUTPUT_H
#define KDL_TOOL_THIN_OUTPUT_H

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
  kdl_arena arena; /* of what was made */
  kdl_arena *adopted;
  size_t adopted_count;
} thin_output;

/* The bytes are not copied: they outlive the output. */
void thin_output_add(thin_output *out, const void *bytes, uint64_t size);
void thin_output_add_zeros(thin_output *out, uint64_t size);

/* Adds bytes that the caller fills in, or a copy of some. */
uint8_t *thin_output_add_uninitialized(thin_output *out, size_t size);
void thin_output_add_copy(thin_output *out, const void *bytes, size_t size);

/* Adds a part of another output, whose arena must outlive `out`. */
void thin_output_append(thin_output *out, const thin_output *from, uint64_t at, uint64_t size);

/* The bytes from `at` on, as many as lie together: NULL for zeros. `at` is before the end. */
const uint8_t *thin_output_view(const thin_output *out, uint64_t at, uint64_t *out_size);

/* Copies a range to memory; all of it to new memory, which the caller frees. */
void thin_output_read(const thin_output *out, uint64_t at, void *bytes, size_t size);
uint8_t *thin_output_bytes(const thin_output *out);

/* Gives the bytes in order to `put`, zeros from a buffer; stops where it fails. */
kdl_status thin_output_send(const thin_output *out,
                            kdl_status (*write_bytes)(void *user, const void *bytes, size_t size),
                            void *user);

/* Where pieces may lie: a mapped file, whose bytes need not go through this process. */
typedef struct thin_mapped {
  const uint8_t *data;
  uint64_t size;
  int fd; /* -1: none */
} thin_mapped;

/* Writes at the descriptor's position. Where `sparse`, runs of zeros of a page and more become
 * holes. `name` is for messages. */
kdl_status thin_output_write(const thin_output *out, const thin_mapped *from, int fd, bool sparse,
                             const char *name);

/* Takes what lies in another arena, which is empty afterwards, so that pieces of it may stay. */
void thin_output_adopt(thin_output *out, kdl_arena *arena);

void thin_output_free(thin_output *out);

#endif
