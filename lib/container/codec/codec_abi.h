/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The parts of the ABIs of zstd, zlib and LZ4 that libkdl uses. Their libraries are opened at run
 * time, and their headers are not needed to build, so that every build reads the same files.
 * tests/unit/container/test_codec_abi.c compares this with the headers.
 */
#ifndef KDL_LIB_CONTAINER_CODEC_CODEC_ABI_H
#define KDL_LIB_CONTAINER_CODEC_CODEC_ABI_H

#include <stddef.h>

typedef struct {
  const void *src;
  size_t size;
  size_t pos;
} kdl_zstd_input;

typedef struct {
  void *dst;
  size_t size;
  size_t pos;
} kdl_zstd_output;

enum {
  KDL_ZSTD_WINDOW_LOG_MAX = 100, /* ZSTD_d_windowLogMax */
  KDL_ZSTD_OUT_OF_MEMORY = 64,   /* ZSTD_error_memory_allocation */
};

/* X(result, function, parameters) */
#define KDL_ZSTD_FUNCTIONS(X)                                                                      \
  X(void *, ZSTD_createDStream, (void))                                                            \
  X(size_t, ZSTD_freeDStream, (void *stream))                                                      \
  X(size_t, ZSTD_DCtx_setParameter, (void *stream, int parameter, int value))                      \
  X(size_t, ZSTD_decompressStream, (void *stream, kdl_zstd_output *out, kdl_zstd_input *in))       \
  X(unsigned, ZSTD_isError, (size_t result))                                                       \
  X(int, ZSTD_getErrorCode, (size_t result))                                                       \
  X(const char *, ZSTD_getErrorName, (size_t result))

/* z_stream */
typedef struct {
  const unsigned char *next_in;
  unsigned avail_in;
  unsigned long total_in;
  unsigned char *next_out;
  unsigned avail_out;
  unsigned long total_out;
  const char *msg;
  void *state;
  void *zalloc;
  void *zfree;
  void *opaque;
  int data_type;
  unsigned long adler;
  unsigned long reserved;
} kdl_zlib_stream;

enum {
  KDL_ZLIB_NO_FLUSH = 0,
  KDL_ZLIB_FINISH = 4,
  KDL_ZLIB_OK = 0,
  KDL_ZLIB_STREAM_END = 1,
  KDL_ZLIB_MEM_ERROR = -4,
  KDL_ZLIB_BUF_ERROR = -5,
  KDL_ZLIB_RAW_WINDOW = -15, /* the largest window, no header */
};
#define KDL_ZLIB_VERSION "1" /* zlib compares the first character only */

#define KDL_ZLIB_FUNCTIONS(X)                                                                      \
  X(int, inflateInit_, (kdl_zlib_stream * stream, const char *version, int stream_size))           \
  X(int, inflateInit2_,                                                                            \
    (kdl_zlib_stream * stream, int window_bits, const char *version, int stream_size))             \
  X(int, inflate, (kdl_zlib_stream * stream, int flush))                                           \
  X(int, inflateEnd, (kdl_zlib_stream * stream))

enum { KDL_LZ4_MAX_INPUT_SIZE = 0x7E000000 };

#define KDL_LZ4_FUNCTIONS(X)                                                                       \
  X(int, LZ4_decompress_safe, (const char *packed, char *out, int packed_size, int capacity))

#endif
