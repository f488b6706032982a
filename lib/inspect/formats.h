/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Formats inside images and files: SPIR-V, LLVM bitcode, MessagePack, compression. Readers step
 * forward and allocate nothing. */
#ifndef KDL_LIB_INSPECT_FORMATS_H
#define KDL_LIB_INSPECT_FORMATS_H

#include "support/base/bytes.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------ */
/* SPIR-V                                                                                       */

/* A walk over the instructions of a SPIR-V module: 32-bit words in the byte order that the magic
 * number shows. */

enum {
  KDL_SPIRV_OP_MEMORY_MODEL = 14,
  KDL_SPIRV_OP_ENTRY_POINT = 15,
  KDL_SPIRV_OP_CAPABILITY = 17,
  KDL_SPIRV_OP_FUNCTION = 54,

  KDL_SPIRV_HEADER_WORDS = 5,
};

typedef struct kdl_spirv {
  const uint8_t *data;
  uint64_t word_count;
  bool is_big_endian;
  uint64_t at; /* the word after the current instruction */
  uint64_t start;
  uint32_t opcode;
  uint32_t length; /* words, the first one included */
} kdl_spirv;

static inline uint32_t kdl_spirv_word(const kdl_spirv *m, uint64_t index) {
  const uint8_t *b = m->data + index * 4;
  if (!m->is_big_endian)
    return kdl_load_u32(b);
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Operand `index` of the current instruction, from 1 on; the caller has checked the length. */
static inline uint32_t kdl_spirv_operand(const kdl_spirv *m, uint32_t index) {
  return kdl_spirv_word(m, m->start + index);
}

/* Starts before the first instruction. */
kdl_status kdl_spirv_open(const uint8_t *data, size_t size, kdl_spirv *out_module);

/* Steps to the next instruction; false at the end, or on failure. */
bool kdl_spirv_next(kdl_spirv *m, kdl_status *status);

/* ------------------------------------------------------------------------------------------ */
/* LLVM bitcode                                                                                 */

/* The producer in the identification block of bitcode: "LLVM22.1.8"; "" where it is missing. */
void kdl_bitcode_producer(const void *data, size_t size, char *out_producer, size_t capacity);

/* ------------------------------------------------------------------------------------------ */
/* MessagePack                                                                                  */

/*
 * MessagePack, read forward one item at a time: an array or map gives its count, and its elements
 * are the next items. No recursion, no allocation.
 *
 *     kdl_msgpack reader = {data, size, 0, 0};
 *     kdl_msgpack_item item;
 *     status = kdl_msgpack_next(&reader, &item);
 */

typedef enum kdl_msgpack_type {
  KDL_MSGPACK_SCALAR, /* nil, a boolean or a number */
  KDL_MSGPACK_STRING,
  KDL_MSGPACK_BINARY, /* also extension types */
  KDL_MSGPACK_ARRAY,  /* `count` items follow */
  KDL_MSGPACK_MAP,    /* `count` pairs of items follow */
} kdl_msgpack_type;

typedef struct kdl_msgpack {
  const uint8_t *data;
  size_t size;
  size_t at;
  uint64_t base; /* offset of `data` in the image, for messages */
} kdl_msgpack;

typedef struct kdl_msgpack_item {
  kdl_msgpack_type type;
  uint64_t count;   /* elements, or bytes of a string or binary */
  const char *text; /* of a string or binary */
  uint64_t offset;  /* in the image */
  bool is_unsigned; /* a number of an unsigned format, whose value is ... */
  uint64_t value;
} kdl_msgpack_item;

/* Reads one item. Refuses a count that exceeds the remaining bytes, because every element takes at
 * least one. */
kdl_status kdl_msgpack_next(kdl_msgpack *reader, kdl_msgpack_item *out_item);

/* Skips one item with everything in it. */
kdl_status kdl_msgpack_skip(kdl_msgpack *reader);

bool kdl_msgpack_is(const kdl_msgpack_item *item, const char *text);

/* ------------------------------------------------------------------------------------------ */
/* Compression                                                                                  */

/*
 * Compression codecs. Each codec's library is opened on first use, so that libkdl itself needs only
 * libc. A build without the codec (for example KDL_WITH_ZSTD=OFF), or a machine without its
 * library, gives KDL_UNSUPPORTED with the name of what is missing.
 */

typedef enum kdl_codec {
  KDL_CODEC_NONE = 0,
  KDL_CODEC_ZSTD,
  KDL_CODEC_ZLIB,
  KDL_CODEC_LZ4,     /* one raw LZ4 block, as CUDA fatbins use it */
  KDL_CODEC_VENDOR,  /* only the vendor's tools can read it: listed, never inflated */
  KDL_CODEC_DEFLATE, /* raw deflate, as in zip archives */
} kdl_codec;

/* "zstd", "zlib", "lz4", "vendor", "deflate"; "none" for KDL_CODEC_NONE. */
const char *kdl_codec_name(kdl_codec codec);

/* KDL_OK where the codec can be used, else KDL_UNSUPPORTED with the reason. */
kdl_status kdl_codec_check(kdl_codec codec);

/* Inflates all of `packed` into exactly `inflated_size` bytes at `out`. A stream that is shorter,
 * longer or damaged is KDL_BAD_FILE (the caller prefixes the file name). */
kdl_status kdl_inflate(kdl_codec codec, const void *packed, size_t packed_size, void *out,
                       size_t inflated_size);

/* Inflates step by step; for codecs that can (zstd, zlib). */
typedef struct kdl_inflater kdl_inflater;

kdl_status kdl_inflater_create(kdl_codec codec, const void *packed, size_t packed_size,
                               kdl_inflater **out_inflater);
void kdl_inflater_destroy(kdl_inflater *inflater);

/* Inflates until at least `want` more bytes are at `out` (at most `capacity`). Returns the count in
 * *out_count; fewer than `want` only on failure. */
kdl_status kdl_inflater_read(kdl_inflater *inflater, void *out, size_t want, size_t capacity,
                             size_t *out_count);

/* KDL_OK if the stream ends here: no output is left, and no input but zero padding. */
kdl_status kdl_inflater_finish(kdl_inflater *inflater);

/* Compresses `size` bytes into memory that the caller frees: one zstd frame or one zlib stream, at
 * the levels that LLVM uses, or one LZ4 block. KDL_UNSUPPORTED where the codec's library is not
 * installed, or can only inflate. zlib calls `visit`, which may be NULL, now and then with how many
 * of the bytes are compressed. */
typedef void kdl_visit_packed(void *user, size_t done);
kdl_status kdl_deflate(kdl_codec codec, const void *data, size_t size, kdl_visit_packed *visit,
                       void *user, void **out_packed, size_t *out_size);

#endif
