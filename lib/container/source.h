/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A source of bytes: a file, the caller's memory, or a compressed stream that is inflated as far as
 * it is read. Parsers use one interface, which checks every range.
 *
 * Headers of a file are read with pread into a small window, not through a mapping: for scattered
 * headers a page fault costs more than twice a pread (docs/decisions/0001-pread-for-headers.md),
 * and a file that is truncated while open gives a short read instead of SIGBUS. Image bytes are
 * mapped once, on first use. A small file is read completely, and needs no descriptor afterwards.
 */
#ifndef KDL_LIB_CONTAINER_SOURCE_H
#define KDL_LIB_CONTAINER_SOURCE_H

#include "lib/inspect/formats.h"
#include "support/base/arena.h"
#include "support/base/error.h"
#include "support/system/lock.h"

#include <kdl/kdl.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kdl_source kdl_source;

/* Part of a source, as a parser sees it: offsets in it start at 0. */
typedef struct kdl_region {
  kdl_source *source;
  uint64_t base;
  uint64_t size;
} kdl_region;

/* An inflated buffer: of a stream, or of one image. Readers hold references to it; a pinned one
 * stays until the container is closed. */
typedef struct kdl_inflated_buffer {
  struct kdl_inflated_buffer *lru_older; /* of the evictable buffers, in the order of release */
  struct kdl_inflated_buffer *lru_newer;
  kdl_source *stream; /* NULL: of an image */
  kdl_work inflating; /* an image */
  uint8_t *inflated;  /* the image's bytes; written by the one thread that inflates */
  uint64_t capacity;  /* of that memory */
  uint64_t size;      /* of the memory, while it is evictable */
  uint32_t ref_count;
  bool is_pinned;
  bool is_evictable;
} kdl_inflated_buffer;

struct kdl_source {
  kdl_source *next; /* in the container's list of sources */
  const char *name; /* for messages */
  uint64_t size;

  /* Bytes that can be read in place: all of a memory source, the window of a file, the inflated
   * part of a stream. */
  const uint8_t *ready;
  uint64_t ready_offset;
  uint64_t ready_size;

  void *owned; /* memory that the source frees, or NULL */

  _Atomic(struct kdl_detached_result *) detached; /* of a file: lib/container/verify.c; malloc'ed */

  int fd; /* of a file that was not read completely; else -1 */
  uint8_t *window;
  size_t window_capacity;
  const uint8_t *mapping;
  uint64_t mapping_size;
  uint64_t mapping_viewed; /* bytes viewed since the mapping's pages were last dropped */

  kdl_codec codec;    /* stream sources; KDL_CODEC_NONE otherwise */
  kdl_status failure; /* of the stream, which is not inflated again */
  kdl_region packed;
  kdl_inflater *inflater;     /* while the stream is partly inflated */
  uint8_t *inflated;          /* NULL until something is read */
  pthread_mutex_t lock;       /* of a file: guards the mapping after the container is open */
  kdl_work inflating;         /* of a stream: guards its inflater */
  kdl_inflated_buffer buffer; /* of a stream; guarded by the container's lock */
};

/* Sources are allocated in an arena, with a copy of their name; the arena is freed after them. */
kdl_status kdl_source_open_file(kdl_arena *arena, const char *path, const char *name,
                                kdl_source **out_source);
kdl_status kdl_source_open_memory(kdl_arena *arena, const void *data, size_t size, const char *name,
                                  kdl_source **out_source);

/* The same over memory from malloc, which the source owns, even on failure. */
kdl_status kdl_source_open_owned(kdl_arena *arena, void *data, size_t size, const char *name,
                                 kdl_source **out_source);

/* A stream over compressed bytes, whose source must outlive it; KDL_UNSUPPORTED where the codec is
 * not available. Reserves address space for `inflated_size` bytes, and uses memory only for
 * inflated ones. */
kdl_status kdl_source_open_stream(kdl_arena *arena, kdl_codec codec, const kdl_region *packed,
                                  uint64_t inflated_size, const char *name,
                                  kdl_source **out_source);
void kdl_source_close(kdl_source *source);

/* Frees the inflated bytes of a stream and the codec's memory; the next read starts over. For
 * parsers that have read a table and need the images later: earlier peeks become invalid. */
void kdl_source_evict(kdl_source *source);

/* The memory that kdl_source_evict would free. */
static inline uint64_t kdl_source_evictable_size(const kdl_source *source) {
  return source->inflated ? source->ready_size : 0;
}

/* Hints that views of a file's bytes are no longer needed: drops the mapping's pages from time to
 * time. Views stay valid; later reads load the pages again. */
void kdl_source_trim_mapping(kdl_source *source);

/* The slow half of kdl_source_peek. */
const uint8_t *kdl_source_peek_slow(kdl_source *source, uint64_t offset, size_t length);

/* `length` bytes at `offset`, valid until the next peek into the same source; NULL, with the error
 * recorded, where the range ends beyond the source or cannot be read. For use while opening, by one
 * thread. */
static inline const uint8_t *kdl_source_peek(kdl_source *source, uint64_t offset, size_t length) {
  uint64_t start = offset - source->ready_offset;
  if (offset >= source->ready_offset && start <= source->ready_size &&
      length <= source->ready_size - start)
    return source->ready + start;
  return kdl_source_peek_slow(source, offset, length);
}

/* `length` bytes at `offset`, valid until the source is closed; any thread. */
kdl_status kdl_source_view(kdl_source *source, uint64_t offset, uint64_t length,
                           const void **out_data);

/* Copies bytes of an open file without its mapping, so that later writes or truncation do not
 * affect the copy. */
kdl_status kdl_source_copy(const kdl_source *source, uint64_t offset, uint64_t length,
                           uint8_t *out_data);

static inline const uint8_t *kdl_region_peek(const kdl_region *region, uint64_t offset,
                                             size_t length) {
  if (offset > region->size || length > region->size - offset)
    return kdl_source_peek_slow(region->source, UINT64_MAX, length);
  return kdl_source_peek(region->source, region->base + offset, length);
}

/* The part of `region` from `offset`; the caller has checked the range. */
static inline kdl_region kdl_region_slice(const kdl_region *region, uint64_t offset,
                                          uint64_t size) {
  return (kdl_region){region->source, region->base + offset, size};
}

/* The offset of the first non-zero byte at or after `offset`, or the region's size: there may be
 * padding between containers. */
kdl_status kdl_region_skip_zeros(const kdl_region *region, uint64_t offset, uint64_t *out_offset);

/* Records "NAME: offset 0xN: FIELD: ..." and returns KDL_BAD_FILE. The text after the field has
 * what was found and what was expected. */
kdl_status kdl_malformed(const kdl_region *region, uint64_t offset, const char *field,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
#define kdl_malformed(...) kdl_not_ok(kdl_malformed(__VA_ARGS__))

/* The packed bytes of an inflater have moved. */
void kdl_inflater_move(kdl_inflater *inflater, const void *packed);

#endif
