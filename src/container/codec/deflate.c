/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "container/codec/deflate.h"

#include "base/error.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { zstd_level = 5, zlib_level = 6 };

typedef size_t zstd_bound_fn(size_t size);
typedef size_t zstd_compress_fn(void *out, size_t capacity, const void *data, size_t size,
                                int level);
typedef unsigned zstd_is_error_fn(size_t result);
typedef unsigned long zlib_bound_fn(unsigned long size);
typedef int zlib_compress_fn(void *out, unsigned long *out_size, const void *data,
                             unsigned long size, int level);

/* Fills the function pointer at `slot`. */
static kdl_status find(void *library, const char *name, void *slot) {
  void *address = dlsym(library, name);
  if (!address)
    return kdl_fail(KDL_UNSUPPORTED, "the codec's library lacks %s, which compressing needs", name);
  memcpy(slot, &address, sizeof address);
  return KDL_OK;
}

static kdl_status pack_zstd(void *library, const void *data, size_t size, void **out_packed,
                            size_t *out_size) {
  zstd_bound_fn *bound;
  zstd_compress_fn *compress;
  zstd_is_error_fn *is_error;
  kdl_status status = find(library, "ZSTD_compressBound", &bound);
  if (status == KDL_OK)
    status = find(library, "ZSTD_compress", &compress);
  if (status == KDL_OK)
    status = find(library, "ZSTD_isError", &is_error);
  if (status != KDL_OK)
    return status;
  size_t capacity = bound(size);
  void *packed = is_error(capacity) ? NULL : malloc(capacity);
  size_t packed_size = packed ? compress(packed, capacity, data, size, zstd_level) : 0;
  if (!packed || is_error(packed_size)) {
    free(packed);
    return kdl_fail(KDL_NO_MEMORY, "zstd: out of memory to compress %zu bytes", size);
  }
  *out_packed = packed;
  *out_size = packed_size;
  return KDL_OK;
}

static kdl_status pack_zlib(void *library, const void *data, size_t size, void **out_packed,
                            size_t *out_size) {
  zlib_bound_fn *bound;
  zlib_compress_fn *compress;
  kdl_status status = find(library, "compressBound", &bound);
  if (status == KDL_OK)
    status = find(library, "compress2", &compress);
  if (status != KDL_OK)
    return status;
  unsigned long capacity = bound(size);
  void *packed = capacity < size ? NULL : malloc(capacity);
  if (!packed || compress(packed, &capacity, data, size, zlib_level) != 0) {
    free(packed);
    return kdl_fail(KDL_NO_MEMORY, "zlib: out of memory to compress %zu bytes", size);
  }
  *out_packed = packed;
  *out_size = capacity;
  return KDL_OK;
}

kdl_status kdl_deflate(kdl_codec codec, const void *data, size_t size, void **out_packed,
                       size_t *out_size) {
  kdl_status status = kdl_codec_check(codec);
  if (status != KDL_OK)
    return status;
  bool is_zstd = codec == KDL_CODEC_ZSTD;
  void *library = dlopen(is_zstd ? "libzstd.so.1" : "libz.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return kdl_fail(KDL_UNSUPPORTED, "%s: its library is gone", kdl_codec_name(codec));
  status = (is_zstd ? pack_zstd : pack_zlib)(library, data, size, out_packed, out_size);
  dlclose(library);
  return status;
}
