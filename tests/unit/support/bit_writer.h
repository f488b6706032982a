/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes LLVM bitstreams by hand, for files that LLVM would not write. */
#ifndef KDL_TESTS_UNIT_BIT_WRITER_H
#define KDL_TESTS_UNIT_BIT_WRITER_H

#include "support/base/bytes.h"

#include <stddef.h>

typedef struct bit_writer {
  uint8_t data[8192];
  size_t at; /* in bits */
} bit_writer;

static inline void put(bit_writer *writer, uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i, ++writer->at) {
    if (value >> i & 1)
      writer->data[writer->at / 8] |= (uint8_t)(1u << writer->at % 8);
  }
}

static inline void put_vbr(bit_writer *writer, uint64_t value, unsigned width) {
  uint64_t more = (uint64_t)1 << (width - 1);
  for (; value >= more; value >>= width - 1)
    put(writer, (value & (more - 1)) | more, width);
  put(writer, value, width);
}

static inline void put_alignment(bit_writer *writer) {
  writer->at = (writer->at + 31) / 32 * 32;
}

static inline void put_magic(bit_writer *writer) {
  put(writer, 0xdec04342, 32);
}

/* Returns where the length goes. */
static inline size_t begin_block(bit_writer *writer, unsigned outer_width, uint64_t id,
                                 unsigned width) {
  put(writer, 1, outer_width);
  put_vbr(writer, id, 8);
  put_vbr(writer, width, 4);
  put_alignment(writer);
  writer->at += 32;
  return writer->at / 8 - 4;
}

static inline void end_block(bit_writer *writer, unsigned width, size_t length_at) {
  put(writer, 0, width);
  put_alignment(writer);
  kdl_store_u32(writer->data + length_at, (uint32_t)((writer->at / 8 - length_at - 4) / 4));
}

static inline void put_record_header(bit_writer *writer, unsigned width, uint64_t code,
                                     uint64_t count) {
  put(writer, 3, width);
  put_vbr(writer, code, 6);
  put_vbr(writer, count, 6);
}

static inline void put_record(bit_writer *writer, unsigned width, uint64_t code,
                              const uint64_t *values, size_t count) {
  put_record_header(writer, width, code, count);
  for (size_t i = 0; i < count; ++i)
    put_vbr(writer, values[i], 6);
}

static inline size_t byte_count(const bit_writer *writer) {
  return (writer->at + 7) / 8;
}

#endif
