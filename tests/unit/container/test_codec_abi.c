/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How the codecs are called, against their own headers. */
#include "lib/container/codec/codec_abi.h"

#include <stdio.h>

#if KDL_HAVE_ZSTD_H && KDL_HAVE_ZLIB_H && KDL_HAVE_LZ4_H
#define ZLIB_CONST
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
/* NOLINTBEGIN(bugprone-sizeof-expression): the size of a pointer is what is meant */
#define SAME_FIELD(ours, theirs, field)                                                            \
  _Static_assert(offsetof(ours, field) == offsetof(theirs, field) &&                               \
                     sizeof((ours){0}.field) == sizeof((theirs){0}.field),                         \
                 #theirs "." #field)

SAME(KDL_ZSTD_WINDOW_LOG_MAX, ZSTD_d_windowLogMax);
SAME(KDL_ZSTD_OUT_OF_MEMORY, ZSTD_error_memory_allocation);
SAME(sizeof(ZSTD_ErrorCode), sizeof(int));
SAME(sizeof(kdl_zstd_input), sizeof(ZSTD_inBuffer));
SAME_FIELD(kdl_zstd_input, ZSTD_inBuffer, src);
SAME_FIELD(kdl_zstd_input, ZSTD_inBuffer, size);
SAME_FIELD(kdl_zstd_input, ZSTD_inBuffer, pos);
SAME(sizeof(kdl_zstd_output), sizeof(ZSTD_outBuffer));
SAME_FIELD(kdl_zstd_output, ZSTD_outBuffer, dst);
SAME_FIELD(kdl_zstd_output, ZSTD_outBuffer, size);
SAME_FIELD(kdl_zstd_output, ZSTD_outBuffer, pos);
SAME(sizeof(ZSTD_dParameter), sizeof(int));

SAME(sizeof(kdl_zlib_stream), sizeof(z_stream));
SAME_FIELD(kdl_zlib_stream, z_stream, next_in);
SAME_FIELD(kdl_zlib_stream, z_stream, avail_in);
SAME_FIELD(kdl_zlib_stream, z_stream, total_in);
SAME_FIELD(kdl_zlib_stream, z_stream, next_out);
SAME_FIELD(kdl_zlib_stream, z_stream, avail_out);
SAME_FIELD(kdl_zlib_stream, z_stream, total_out);
SAME_FIELD(kdl_zlib_stream, z_stream, msg);
SAME_FIELD(kdl_zlib_stream, z_stream, state);
SAME_FIELD(kdl_zlib_stream, z_stream, zalloc);
SAME_FIELD(kdl_zlib_stream, z_stream, zfree);
SAME_FIELD(kdl_zlib_stream, z_stream, opaque);
SAME_FIELD(kdl_zlib_stream, z_stream, data_type);
SAME_FIELD(kdl_zlib_stream, z_stream, adler);
SAME_FIELD(kdl_zlib_stream, z_stream, reserved);
SAME(KDL_ZLIB_NO_FLUSH, Z_NO_FLUSH);
SAME(KDL_ZLIB_FINISH, Z_FINISH);
SAME(KDL_ZLIB_OK, Z_OK);
SAME(KDL_ZLIB_STREAM_END, Z_STREAM_END);
SAME(KDL_ZLIB_MEM_ERROR, Z_MEM_ERROR);
SAME(KDL_ZLIB_BUF_ERROR, Z_BUF_ERROR);

SAME(KDL_LZ4_MAX_INPUT_SIZE, LZ4_MAX_INPUT_SIZE);
/* NOLINTEND(bugprone-sizeof-expression) */

/* Results, and the parameters that are no structures of the codec. */
#define RESULT(type, function, arguments)                                                          \
  _Static_assert(__builtin_types_compatible_p(type, __typeof__(function arguments)), #function)
RESULT(size_t, ZSTD_freeDStream, (NULL));
RESULT(size_t, ZSTD_DCtx_setParameter, (NULL, ZSTD_d_windowLogMax, 1));
RESULT(size_t, ZSTD_decompressStream, (NULL, NULL, NULL));
RESULT(unsigned, ZSTD_isError, (1));
RESULT(const char *, ZSTD_getErrorName, (1));
RESULT(int, inflateInit_, (NULL, "", 1));
RESULT(int, inflate, (NULL, 0));
RESULT(int, inflateEnd, (NULL));
_Static_assert(__builtin_types_compatible_p(int (*)(const char *, char *, int, int),
                                            __typeof__(&LZ4_decompress_safe)),
               "LZ4_decompress_safe");

int main(void) {
  printf("zstd %s, zlib %s, LZ4 %s\n", ZSTD_VERSION_STRING, ZLIB_VERSION, LZ4_VERSION_STRING);
  return ZLIB_VERSION[0] == KDL_ZLIB_VERSION[0] ? 0 : 1;
}

#else

int main(void) {
  puts("skipped: zstd.h, zlib.h or lz4.h not found (Debian: libzstd-dev, zlib1g-dev, liblz4-dev)");
  return 77;
}

#endif
