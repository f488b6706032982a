/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compression codecs. Each codec's library is opened on first use, so that libkdl itself needs only
 * libc. A build without the codec (for example KDL_WITH_ZSTD=OFF), or a machine without its
 * library, gives KDL_UNSUPPORTED with the name of what is missing.
 */
#ifndef KDL_LIB_INSPECT_CODEC_H
#define KDL_LIB_INSPECT_CODEC_H

#include <kdl/kdl.h>

#include <stddef.h>
#include <stdint.h>

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

/* Sets a new address of the packed bytes. */
void kdl_inflater_move(kdl_inflater *inflater, const void *packed);

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
