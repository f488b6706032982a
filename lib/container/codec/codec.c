/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/formats.h"

#include "lib/container/codec/codec_abi.h"
#include "lib/container/source.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "support/system/lock.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The most bytes that are inflated beyond the request. With room for a whole frame, zstd would
 * inflate all of it, although the caller needs only a container's table. */
enum { read_ahead = 64 * 1024 };

struct kdl_inflater {
  const struct method *method;
  const uint8_t *packed;
  size_t packed_size;
  size_t used; /* bytes used of `packed` */
  uint64_t produced;
  bool ended;
  void *state; /* the codec's own */
};

/* ------------------------------------------------------------------------------------------ */
/* The libraries                                                                                */

typedef struct {
  const char *name;
  void *slot; /* the function pointer to fill */
} symbol;

typedef struct method {
  const char *name;
  const char *library;
  const char *option;    /* the CMake option that removes it */
  const symbol *symbols; /* NULL where built without the codec */
  size_t symbol_count;
  /* Streams: each step consumes input and produces output; the caller detects a step that does
   * neither. */
  kdl_status (*start)(kdl_inflater *inflater);
  kdl_status (*step)(kdl_inflater *inflater, uint8_t *out, size_t capacity, size_t *out_made);
  void (*stop)(kdl_inflater *inflater);
  /* Single blocks. */
  kdl_status (*block)(const void *packed, size_t packed_size, void *out, size_t inflated_size);
} method;

#define FIELD(result, function, parameters) result(*function) parameters;
#define COUNT(array) (sizeof(array) / sizeof *(array))

#if KDL_WITH_ZSTD || KDL_WITH_ZLIB
static kdl_status fail_damaged(const kdl_inflater *inflater, size_t just_produced,
                               const char *reason) {
  return kdl_fail(KDL_BAD_FILE, "%s stream: cannot be inflated beyond byte %" PRIu64 ": %s",
                  inflater->method->name, inflater->produced + just_produced, reason);
}
#endif

#if KDL_WITH_ZSTD

static struct {
  KDL_ZSTD_FUNCTIONS(FIELD)
} zstd;

#define ZSTD_SYMBOL(result, function, parameters) {#function, &zstd.function},
static const symbol zstd_symbols[] = {KDL_ZSTD_FUNCTIONS(ZSTD_SYMBOL)};

/* The default limit of the zstd command; LLVM uses much less. */
enum { largest_window_log = 27 };

static kdl_status zstd_start(kdl_inflater *inflater) {
  void *stream = zstd.ZSTD_createDStream();
  if (!stream)
    return kdl_fail(KDL_NO_MEMORY, "zstd stream: out of memory");
  zstd.ZSTD_DCtx_setParameter(stream, KDL_ZSTD_WINDOW_LOG_MAX, largest_window_log);
  inflater->state = stream;
  return KDL_OK;
}

/* Several frames may follow one another, also skippable ones; zero padding is no frame. */
static bool zstd_has_next_frame(const kdl_inflater *inflater) {
  if (inflater->packed_size - inflater->used < 4)
    return false;
  uint32_t word = kdl_load_u32(inflater->packed + inflater->used);
  return word == KDL_MAGIC_ZSTD || (word & 0xfffffff0) == KDL_MAGIC_ZSTD_SKIPPED;
}

static kdl_status zstd_step(kdl_inflater *inflater, uint8_t *out, size_t capacity,
                            size_t *out_produced) {
  kdl_zstd_input from = {inflater->packed, inflater->packed_size, inflater->used};
  kdl_zstd_output to = {out, capacity, 0};
  size_t left = zstd.ZSTD_decompressStream(inflater->state, &to, &from);
  inflater->used = from.pos;
  *out_produced = to.pos;
  if (zstd.ZSTD_isError(left) && zstd.ZSTD_getErrorCode(left) == KDL_ZSTD_OUT_OF_MEMORY)
    return kdl_fail(KDL_NO_MEMORY, "zstd stream: out of memory");
  if (zstd.ZSTD_isError(left))
    return fail_damaged(inflater, *out_produced, zstd.ZSTD_getErrorName(left));
  inflater->ended = left == 0 && !zstd_has_next_frame(inflater);
  return KDL_OK;
}

static void zstd_stop(kdl_inflater *inflater) {
  zstd.ZSTD_freeDStream(inflater->state);
}

#define ZSTD_METHOD                                                                                \
  .symbols = zstd_symbols, .symbol_count = COUNT(zstd_symbols), .start = zstd_start,               \
  .step = zstd_step, .stop = zstd_stop
#else
#define ZSTD_METHOD .symbols = NULL
#endif

#if KDL_WITH_ZLIB

static struct {
  KDL_ZLIB_FUNCTIONS(FIELD)
} zlib;

#define ZLIB_SYMBOL(result, function, parameters) {#function, &zlib.function},
static const symbol zlib_symbols[] = {KDL_ZLIB_FUNCTIONS(ZLIB_SYMBOL)};

static kdl_status zlib_set_stream(kdl_inflater *inflater, kdl_zlib_stream *stream, int result) {
  if (result != KDL_ZLIB_OK) {
    free(stream);
    return kdl_fail(KDL_NO_MEMORY, "%s stream: out of memory", inflater->method->name);
  }
  inflater->state = stream;
  return KDL_OK;
}

static kdl_status zlib_start(kdl_inflater *inflater) {
  kdl_zlib_stream *stream = calloc(1, sizeof *stream);
  int size = (int)sizeof *stream;
  return zlib_set_stream(inflater, stream,
                         stream ? zlib.inflateInit_(stream, KDL_ZLIB_VERSION, size)
                                : KDL_ZLIB_MEM_ERROR);
}

static kdl_status deflate_start(kdl_inflater *inflater) {
  kdl_zlib_stream *stream = calloc(1, sizeof *stream);
  int size = (int)sizeof *stream;
  return zlib_set_stream(
      inflater, stream,
      stream ? zlib.inflateInit2_(stream, KDL_ZLIB_RAW_WINDOW, KDL_ZLIB_VERSION, size)
             : KDL_ZLIB_MEM_ERROR);
}

/* zlib counts in 32 bits; the next step handles what exceeds them. */
static unsigned clamp(size_t size) {
  return size > UINT_MAX ? UINT_MAX : (unsigned)size;
}

static kdl_status zlib_step(kdl_inflater *inflater, uint8_t *out, size_t capacity,
                            size_t *out_produced) {
  kdl_zlib_stream *stream = inflater->state;
  unsigned input = clamp(inflater->packed_size - inflater->used);
  unsigned room = clamp(capacity);
  stream->next_in = inflater->packed + inflater->used;
  stream->avail_in = input;
  stream->next_out = out;
  stream->avail_out = room;
  int result = zlib.inflate(stream, KDL_ZLIB_NO_FLUSH);
  inflater->used += input - stream->avail_in;
  *out_produced = room - stream->avail_out;
  inflater->ended = result == KDL_ZLIB_STREAM_END;
  if (result == KDL_ZLIB_OK || result == KDL_ZLIB_STREAM_END || result == KDL_ZLIB_BUF_ERROR)
    return KDL_OK;
  if (result == KDL_ZLIB_MEM_ERROR)
    return kdl_fail(KDL_NO_MEMORY, "%s stream: out of memory", inflater->method->name);
  return fail_damaged(inflater, *out_produced,
                      stream->msg ? stream->msg : "it needs a preset dictionary");
}

static void zlib_stop(kdl_inflater *inflater) {
  zlib.inflateEnd(inflater->state);
  free(inflater->state);
}

#define ZLIB_METHOD                                                                                \
  .symbols = zlib_symbols, .symbol_count = COUNT(zlib_symbols), .start = zlib_start,               \
  .step = zlib_step, .stop = zlib_stop
#define DEFLATE_METHOD                                                                             \
  .symbols = zlib_symbols, .symbol_count = COUNT(zlib_symbols), .start = deflate_start,            \
  .step = zlib_step, .stop = zlib_stop
#else
#define ZLIB_METHOD .symbols = NULL
#define DEFLATE_METHOD .symbols = NULL
#endif

#if KDL_WITH_LZ4

static struct {
  KDL_LZ4_FUNCTIONS(FIELD)
} lz4;

#define LZ4_SYMBOL(result, function, parameters) {#function, &lz4.function},
static const symbol lz4_symbols[] = {KDL_LZ4_FUNCTIONS(LZ4_SYMBOL)};

static kdl_status lz4_block(const void *packed, size_t packed_size, void *out,
                            size_t inflated_size) {
  if (packed_size > INT_MAX || inflated_size > KDL_LZ4_MAX_INPUT_SIZE)
    return kdl_fail(KDL_BAD_FILE,
                    "lz4 block: found %zu bytes that inflate to %zu, expected at most %d",
                    packed_size, inflated_size, KDL_LZ4_MAX_INPUT_SIZE);
  int produced = lz4.LZ4_decompress_safe(packed, out, (int)packed_size, (int)inflated_size);
  if (produced < 0)
    return kdl_fail(KDL_BAD_FILE,
                    "lz4 block: damaged, or it inflates to more than the %zu bytes expected",
                    inflated_size);
  if ((size_t)produced != inflated_size)
    return kdl_fail(KDL_BAD_FILE, "lz4 block: found %d inflated bytes, expected %zu", produced,
                    inflated_size);
  return KDL_OK;
}

#define LZ4_METHOD .symbols = lz4_symbols, .symbol_count = COUNT(lz4_symbols), .block = lz4_block
#else
#define LZ4_METHOD .symbols = NULL
#endif

static const method methods[] = {
    [KDL_CODEC_NONE] = {"none", NULL, NULL, .symbols = NULL},
    [KDL_CODEC_ZSTD] = {"zstd", "libzstd.so.1", "KDL_WITH_ZSTD", ZSTD_METHOD},
    [KDL_CODEC_ZLIB] = {"zlib", "libz.so.1", "KDL_WITH_ZLIB", ZLIB_METHOD},
    [KDL_CODEC_LZ4] = {"lz4", "liblz4.so.1", "KDL_WITH_LZ4", LZ4_METHOD},
    [KDL_CODEC_VENDOR] = {"vendor", NULL, NULL, .symbols = NULL},
    [KDL_CODEC_DEFLATE] = {"deflate", "libz.so.1", "KDL_WITH_ZLIB", DEFLATE_METHOD},
};

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

/* One per codec, for the life of the process. */
typedef struct {
  bool tried;
  char problem[256]; /* "" where the codec can be used */
} load_result;

static load_result load_results[COUNT(methods)];
static pthread_mutex_t load_results_lock = PTHREAD_MUTEX_INITIALIZER;

static void load_codec(const method *codec, load_result *result) {
  void *library = dlopen(codec->library, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(result->problem, sizeof result->problem,
             "needs %s, which is not installed (dlopen: %s)", codec->library,
             reason ? reason : "no reason given");
    return;
  }
  for (size_t i = 0; i < codec->symbol_count; ++i) {
    void *address = dlsym(library, codec->symbols[i].name);
    if (!address) {
      snprintf(result->problem, sizeof result->problem, "needs %s with %s, which this one lacks",
               codec->library, codec->symbols[i].name);
      return;
    }
    memcpy(codec->symbols[i].slot, &address, sizeof address);
  }
}

const char *kdl_codec_name(kdl_codec codec) {
  return codec < COUNT(methods) ? methods[codec].name : "unknown";
}

kdl_status kdl_codec_check(kdl_codec codec) {
  if (codec >= COUNT(methods))
    return kdl_fail(KDL_BAD_CALL, "found codec %d, expected less than %zu", (int)codec,
                    COUNT(methods));
  if (codec == KDL_CODEC_DEFLATE) /* shares zlib's library, which is loaded once */
    codec = KDL_CODEC_ZLIB;
  const method *row = &methods[codec];
  if (codec == KDL_CODEC_NONE)
    return KDL_OK;
  if (!row->library)
    return kdl_fail(KDL_UNSUPPORTED,
                    "encoded in a way that only the vendor's own tools undo (scrambled, or packed "
                    "by an unpublished method)");
  if (!row->symbols)
    return kdl_fail(KDL_UNSUPPORTED, "built without %s (%s=OFF)", row->name, row->option);
  load_result *result = &load_results[codec];
  kdl_lock(&load_results_lock);
  if (!result->tried)
    load_codec(row, result);
  result->tried = true;
  kdl_unlock(&load_results_lock);
  return result->problem[0] ? kdl_fail(KDL_UNSUPPORTED, "%s", result->problem) : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Inflating                                                                                    */

kdl_status kdl_inflater_create(kdl_codec codec, const void *packed, size_t packed_size,
                               kdl_inflater **out_inflater) {
  KDL_TRY(kdl_codec_check(codec));
  if (!methods[codec].start)
    return kdl_fail(KDL_BAD_CALL, "found codec %s, expected one that inflates step by step",
                    methods[codec].name);
  kdl_inflater *inflater = calloc(1, sizeof *inflater);
  if (!inflater)
    return kdl_fail(KDL_NO_MEMORY, "%s stream: out of memory", methods[codec].name);
  inflater->method = &methods[codec];
  inflater->packed = packed;
  inflater->packed_size = packed_size;
  kdl_status status = inflater->method->start(inflater);
  if (status != KDL_OK) {
    free(inflater);
    return status;
  }
  *out_inflater = inflater;
  return KDL_OK;
}

void kdl_inflater_destroy(kdl_inflater *inflater) {
  if (!inflater)
    return;
  inflater->method->stop(inflater);
  free(inflater);
}

void kdl_inflater_move(kdl_inflater *inflater, const void *packed) {
  inflater->packed = packed;
}

static kdl_status fail_truncated(const kdl_inflater *inflater, uint64_t expected) {
  return kdl_fail(
      KDL_BAD_FILE,
      "%s stream: found %s after %" PRIu64 " inflated bytes, expected at least %" PRIu64,
      inflater->method->name, inflater->ended ? "its end" : "no more packed bytes and no end",
      inflater->produced, expected);
}

kdl_status kdl_inflater_read(kdl_inflater *inflater, void *out, size_t want, size_t capacity,
                             size_t *out_count) {
  uint8_t *to = out;
  uint64_t goal = inflater->produced + want;
  size_t room = want > read_ahead ? want : read_ahead;
  if (room > capacity)
    room = capacity;
  size_t count = 0;
  kdl_status status = KDL_OK;
  while (count < want && status == KDL_OK) {
    size_t used_before = inflater->used;
    size_t produced = 0;
    if (!inflater->ended)
      status = inflater->method->step(inflater, to + count, room - count, &produced);
    count += produced;
    inflater->produced += produced;
    if (status == KDL_OK && produced == 0 && inflater->used == used_before)
      status = fail_truncated(inflater, goal);
  }
  *out_count = count;
  return status;
}

/* The stream may not be at its end: zstd and zlib store a checksum after the last byte. */
static kdl_status expect_end(kdl_inflater *inflater) {
  while (!inflater->ended) {
    uint8_t surplus;
    size_t used_before = inflater->used;
    size_t produced = 0;
    kdl_status status = inflater->method->step(inflater, &surplus, 1, &produced);
    if (status != KDL_OK)
      return status;
    if (produced)
      return kdl_fail(KDL_BAD_FILE,
                      "%s stream: found more than %" PRIu64 " inflated bytes, expected that",
                      inflater->method->name, inflater->produced);
    if (!inflater->ended && inflater->used == used_before)
      return kdl_fail(KDL_BAD_FILE, "%s stream: found no end in %zu packed bytes",
                      inflater->method->name, inflater->packed_size);
  }
  return KDL_OK;
}

kdl_status kdl_inflater_finish(kdl_inflater *inflater) {
  KDL_TRY(expect_end(inflater));
  for (size_t i = inflater->used; i < inflater->packed_size; ++i) {
    if (inflater->packed[i] != 0)
      return kdl_fail(
          KDL_BAD_FILE,
          "%s stream: found 0x%02x at byte 0x%zx, after its end at 0x%zx, expected zero "
          "padding",
          inflater->method->name, inflater->packed[i], i, inflater->used);
  }
  return KDL_OK;
}

kdl_status kdl_inflate(kdl_codec codec, const void *packed, size_t packed_size, void *out,
                       size_t inflated_size) {
  KDL_TRY(kdl_codec_check(codec));
  if (methods[codec].block)
    return methods[codec].block(packed, packed_size, out, inflated_size);
  kdl_inflater *inflater;
  KDL_TRY(kdl_inflater_create(codec, packed, packed_size, &inflater));
  size_t count;
  kdl_status status = kdl_inflater_read(inflater, out, inflated_size, inflated_size, &count);
  if (status == KDL_OK)
    status = kdl_inflater_finish(inflater);
  kdl_inflater_destroy(inflater);
  return status;
}
