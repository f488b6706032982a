/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/formats.h"

#include "lib/container/codec/codec_abi.h"
#include "support/base/error.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { zstd_level = 5, zlib_level = 6, lz4_level = 9 };

typedef size_t zstd_bound_fn(size_t size);
typedef size_t zstd_compress_fn(void *out, size_t capacity, const void *data, size_t size,
                                int level);
typedef unsigned zstd_is_error_fn(size_t result);
typedef unsigned long zlib_bound_fn(unsigned long size);
typedef int zlib_init_fn(kdl_zlib_stream *stream, int level, const char *version, int size);
typedef int zlib_deflate_fn(kdl_zlib_stream *stream, int flush);
typedef int zlib_end_fn(kdl_zlib_stream *stream);

typedef struct {
  kdl_visit_packed *visit; /* or NULL */
  void *user;
} observer;

typedef int lz4_bound_fn(int size);
typedef int lz4_compress_fn(const void *data, void *out, int size, int capacity, int level);

/* Fills the function pointer at `slot`. */
static kdl_status find_symbol(void *library, const char *name, void *slot) {
  void *address = dlsym(library, name);
  if (!address)
    return kdl_fail(KDL_UNSUPPORTED, "the codec's library lacks %s, which compressing needs", name);
  memcpy(slot, &address, sizeof address);
  return KDL_OK;
}

/* Returns the packed form of `size` bytes; a NULL `packed` means out of memory. */
static kdl_status finish_packed(const char *codec, size_t size, void *packed, size_t packed_size,
                                void **out_packed, size_t *out_size) {
  if (!packed_size) {
    free(packed);
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory to compress %zu bytes", codec, size);
  }
  *out_packed = packed;
  *out_size = packed_size;
  return KDL_OK;
}

static kdl_status pack_zstd(void *library, const void *data, size_t size, const observer *to,
                            void **out_packed, size_t *out_size) {
  (void)to;
  zstd_bound_fn *bound;
  zstd_compress_fn *compress;
  zstd_is_error_fn *is_error;
  KDL_TRY(find_symbol(library, "ZSTD_compressBound", &bound));
  KDL_TRY(find_symbol(library, "ZSTD_compress", &compress));
  KDL_TRY(find_symbol(library, "ZSTD_isError", &is_error));
  size_t capacity = bound(size);
  void *packed = is_error(capacity) ? NULL : malloc(capacity);
  size_t packed_size = packed ? compress(packed, capacity, data, size, zstd_level) : 0;
  packed_size = is_error(packed_size) ? 0 : packed_size;
  return finish_packed("zstd", size, packed, packed_size, out_packed, out_size);
}

typedef struct {
  zlib_init_fn *init;
  zlib_deflate_fn *deflate;
  zlib_end_fn *end;
} zlib_functions;

/* In steps, each of which is reported, and because zlib counts in 32 bits. Returns the packed size;
 * 0 where it failed. */
static size_t deflate_in_steps(const zlib_functions *zlib, const uint8_t *data, size_t size,
                               uint8_t *packed, size_t capacity, const observer *to) {
  enum { most_input = 1 << 20, most_output = 1 << 30 };
  kdl_zlib_stream stream = {.avail_in = 0};
  size_t used = 0, made = 0;
  int result = zlib->init(&stream, zlib_level, KDL_ZLIB_VERSION, (int)sizeof stream);
  if (result != KDL_ZLIB_OK)
    return 0;
  while (result == KDL_ZLIB_OK) {
    unsigned input = size - used < most_input ? (unsigned)(size - used) : most_input;
    unsigned room = capacity - made < most_output ? (unsigned)(capacity - made) : most_output;
    bool is_last = used + input == size;
    stream.next_in = data + used;
    stream.avail_in = input;
    stream.next_out = packed + made;
    stream.avail_out = room;
    result = zlib->deflate(&stream, is_last ? KDL_ZLIB_FINISH : KDL_ZLIB_NO_FLUSH);
    used += input - stream.avail_in;
    made += room - stream.avail_out;
    if (to->visit)
      to->visit(to->user, used);
  }
  zlib->end(&stream);
  return result == KDL_ZLIB_STREAM_END ? made : 0;
}

static kdl_status pack_zlib(void *library, const void *data, size_t size, const observer *to,
                            void **out_packed, size_t *out_size) {
  zlib_bound_fn *bound;
  zlib_functions zlib;
  KDL_TRY(find_symbol(library, "compressBound", &bound));
  KDL_TRY(find_symbol(library, "deflateInit_", &zlib.init));
  KDL_TRY(find_symbol(library, "deflate", &zlib.deflate));
  KDL_TRY(find_symbol(library, "deflateEnd", &zlib.end));
  unsigned long capacity = bound(size);
  void *packed = capacity < size ? NULL : malloc(capacity);
  size_t packed_size = packed ? deflate_in_steps(&zlib, data, size, packed, capacity, to) : 0;
  return finish_packed("zlib", size, packed, packed_size, out_packed, out_size);
}

static kdl_status pack_lz4(void *library, const void *data, size_t size, const observer *to,
                           void **out_packed, size_t *out_size) {
  (void)to;
  lz4_bound_fn *bound;
  lz4_compress_fn *compress;
  KDL_TRY(find_symbol(library, "LZ4_compressBound", &bound));
  KDL_TRY(find_symbol(library, "LZ4_compress_HC", &compress));
  if (size > KDL_LZ4_MAX_INPUT_SIZE)
    return kdl_fail(KDL_UNSUPPORTED, "lz4: found %zu bytes to compress, expected at most %d", size,
                    KDL_LZ4_MAX_INPUT_SIZE);
  int capacity = bound((int)size);
  void *packed = malloc((size_t)capacity);
  int packed_size = packed ? compress(data, packed, (int)size, capacity, lz4_level) : 0;
  return finish_packed("lz4", size, packed, packed_size > 0 ? (size_t)packed_size : 0, out_packed,
                       out_size);
}

typedef kdl_status pack_fn(void *library, const void *data, size_t size, const observer *to,
                           void **out_packed, size_t *out_size);

static const struct {
  const char *library;
  pack_fn *pack;
} packers[] = {
    [KDL_CODEC_ZSTD] = {"libzstd.so.1", pack_zstd},
    [KDL_CODEC_ZLIB] = {"libz.so.1", pack_zlib},
    [KDL_CODEC_LZ4] = {"liblz4.so.1", pack_lz4},
};

kdl_status kdl_deflate(kdl_codec codec, const void *data, size_t size, kdl_visit_packed *visit,
                       void *user, void **out_packed, size_t *out_size) {
  KDL_TRY(kdl_codec_check(codec));
  if (codec >= sizeof packers / sizeof *packers || !packers[codec].pack)
    return kdl_fail(KDL_BAD_CALL, "found codec %s, expected zstd, zlib or lz4",
                    kdl_codec_name(codec));
  void *library = dlopen(packers[codec].library, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return kdl_fail(KDL_UNSUPPORTED, "%s: its library is gone", kdl_codec_name(codec));
  kdl_status status =
      packers[codec].pack(library, data, size, &(observer){visit, user}, out_packed, out_size);
  dlclose(library);
  return status;
}
