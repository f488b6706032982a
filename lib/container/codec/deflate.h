/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compression: one zstd frame or one zlib stream, at the levels that LLVM uses, or one block of
 * LZ4. */
#ifndef KDL_CONTAINER_CODEC_DEFLATE_H
#define KDL_CONTAINER_CODEC_DEFLATE_H

#include "lib/container/codec/codec.h"

/* Packs `size` bytes into memory that the caller frees. KDL_UNSUPPORTED where the codec's library
 * is not there, or can only inflate. */
kdl_status kdl_deflate(kdl_codec codec, const void *data, size_t size, void **out_packed,
                       size_t *out_size);

#endif
