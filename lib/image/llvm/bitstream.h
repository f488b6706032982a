/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * LLVM's bitstream container format, read forward ("LLVM Bitcode File Format"). Blocks are skipped
 * unless entered, records are read operand by operand, and abbreviations are stored as the
 * positions of their definitions, so that nothing is allocated.
 *
 *     kdl_bitstream stream;
 *     kdl_bitblock top, module;
 *     kdl_bitentry entry;
 *     status = kdl_bitstream_open(data, size, &stream, &top);
 *     while (status == KDL_OK) {
 *       status = kdl_bitstream_next(&stream, &top, &entry);
 *       ... entry.kind: a block, which kdl_bitstream_enter opens, a record, or the end
 *     }
 */
#ifndef KDL_LIB_IMAGE_LLVM_BITSTREAM_H
#define KDL_LIB_IMAGE_LLVM_BITSTREAM_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LLVM 22 defines 12 abbreviations in its busiest block and 25 in BLOCKINFO. */
enum { KDL_BITS_LIMIT_ABBREVS = 64, KDL_BITS_LIMIT_BLOCKINFO = 128 };

typedef enum kdl_bitencoding {
  KDL_BITS_LITERAL = 0,
  KDL_BITS_FIXED = 1,
  KDL_BITS_VBR = 2,
  KDL_BITS_ARRAY = 3,
  KDL_BITS_CHAR6 = 4,
  KDL_BITS_BLOB = 5,
} kdl_bitencoding;

typedef struct kdl_bitoperand {
  kdl_bitencoding encoding;
  uint64_t value; /* value of a literal, else the width in bits */
} kdl_bitoperand;

typedef struct kdl_bitstream {
  const uint8_t *data; /* from the stream's magic on */
  uint64_t base;       /* offset of `data` in the image, for messages */
  uint64_t end;        /* in bits, as `at` */
  uint64_t at;
  bool overrun; /* a read went beyond the end; all later reads give 0 */

  /* The current record: the remaining operands of its abbreviation, and the rest of the current
   * one. A scalar is an array of one. */
  uint64_t operands_at;
  uint64_t operands_left;
  kdl_bitoperand element;
  uint64_t elements_left;
  bool pads_after;

  uint32_t info_count;
  struct {
    uint64_t block;
    uint64_t abbrev;
  } info[KDL_BITS_LIMIT_BLOCKINFO];
} kdl_bitstream;

typedef struct kdl_bitblock {
  uint64_t id;
  uint32_t width; /* of abbreviation numbers */
  uint32_t abbrev_count;
  uint64_t end;
  uint64_t subject; /* in BLOCKINFO: the block that definitions are for */
  uint64_t abbrevs[KDL_BITS_LIMIT_ABBREVS];
} kdl_bitblock;

typedef struct kdl_bitentry {
  enum { KDL_BITS_END, KDL_BITS_BLOCK, KDL_BITS_RECORD } kind;
  uint64_t id; /* of a block, or the code of a record */
  uint32_t width;
  uint64_t start; /* of a block's contents */
  uint64_t end;
} kdl_bitentry;

/* Opens the stream after an optional wrapper header; *out_top is the level of its outer blocks. */
kdl_status kdl_bitstream_open(const uint8_t *data, size_t size, kdl_bitstream *out_stream,
                              kdl_bitblock *out_top);

/* The next block or record of `block`; skips the rest of the preceding record. Also reads
 * definitions of abbreviations and BLOCKINFO. */
kdl_status kdl_bitstream_next(kdl_bitstream *stream, kdl_bitblock *block, kdl_bitentry *out_entry);

/* Opens the block of an entry. */
kdl_status kdl_bitstream_enter(kdl_bitstream *stream, const kdl_bitentry *entry,
                               kdl_bitblock *out_block);
void kdl_bitstream_leave(kdl_bitstream *stream, const kdl_bitblock *block);

/* The record's next operand, or false after the last. */
bool kdl_bitstream_value(kdl_bitstream *stream, uint64_t *out_value);

/* The number of operands in the next array or blob. */
uint64_t kdl_bitstream_left(kdl_bitstream *stream);

/* Reads the next operands as bytes; false where there are fewer, or one exceeds a byte. */
bool kdl_bitstream_bytes(kdl_bitstream *stream, uint8_t *out, uint64_t count);

/* The next blob, in place; NULL where the next operand is not a blob. */
const uint8_t *kdl_bitstream_blob(kdl_bitstream *stream, uint64_t *out_size);

#endif
