/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Buffers of trace records. Each thread writes to its own buffer, so that a record is a few stores
 * without a lock. Buffers consist of chunks; the number of chunks is limited, and records that find
 * no room are counted. Any thread may read: a record is complete once its chunk's count includes
 * it.
 *
 * The buffer of a thread that ended goes to the next new thread; each record names its thread.
 */
#ifndef KDL_EXT_TRACE_BUFFER_H
#define KDL_EXT_TRACE_BUFFER_H

#include "support/base/trace_phase.h"

#include <stdatomic.h>

/* What records are about: a kernel of an image on a device, a file, a driver. Subjects are
 * interned, so that a record holds a pointer, and never freed, so that records outlive
 * libraries. */
typedef struct kdl_trace_subject {
  struct kdl_trace_subject *next; /* with the same hash */
  uint64_t hash;
  kdl_trace_phase_info info; /* without `bytes` and `failed`, which are in the record */
} kdl_trace_subject;

/* The largest number of subjects. */
enum { KDL_TRACE_SUBJECT_LIMIT = 16384 };

/* The subject for `info`, which may be NULL. Beyond the limit, or out of memory, an empty one. */
const kdl_trace_subject *kdl_trace_subject_intern(const kdl_trace_phase_info *info);

/* How many subjects were lost to the limit. */
uint64_t kdl_trace_subjects_lost(void);

/* Kinds of records besides the trace phases. */
enum { KDL_TRACE_DEVICE_TIME = KDL_TRACE_PHASE_COUNT };

typedef struct kdl_trace_record {
  uint64_t begin, end; /* ticks; for KDL_TRACE_DEVICE_TIME, ns of CLOCK_MONOTONIC */
  const kdl_trace_subject *subject;
  const void *queue; /* the backend's; NULL where none applies */
  union {
    uint64_t bytes;
    uint64_t launched; /* for KDL_TRACE_DEVICE_TIME: the ticks at which its launch began */
    struct {
      uint32_t grid[3], block[3]; /* of launches */
    };
  };
  uint32_t thread; /* index in kdl_trace_threads */
  uint8_t what;    /* kdl_trace_phase, or KDL_TRACE_DEVICE_TIME */
  bool failed;
} kdl_trace_record;

enum { KDL_TRACE_CHUNK_BYTES = 1 << 16, KDL_TRACE_CHUNK_RECORDS = 1023 };

typedef struct kdl_trace_chunk {
  _Atomic(struct kdl_trace_chunk *) next;
  _Atomic(uint32_t) count;
  uint32_t snapshot_count; /* the records that are being written to a file */
  _Alignas(64) kdl_trace_record records[KDL_TRACE_CHUNK_RECORDS];
} kdl_trace_chunk;
_Static_assert(sizeof(kdl_trace_record) == 64, "a cache line");
_Static_assert(sizeof(kdl_trace_chunk) == KDL_TRACE_CHUNK_BYTES, "whole pages");

/* A thread that has made a record. */
typedef struct kdl_trace_thread {
  struct kdl_trace_thread *next; /* the previous one; the list only grows */
  uint32_t index;
  int id; /* the system's thread ID */
  atomic_bool has_ended;
  char name[16]; /* set when it ends */
} kdl_trace_thread;

/* All threads beyond the limit share one entry. */
enum { KDL_TRACE_THREAD_LIMIT = 16384 };

typedef struct kdl_trace_buffer {
  struct kdl_trace_buffer *next; /* of all buffers; the list only grows */
  kdl_trace_chunk *first, *last;
  kdl_trace_thread *owner; /* NULL beyond the limit */
  uint32_t thread;
  atomic_bool in_use;        /* by a running thread */
  _Atomic(uint64_t) dropped; /* records that found no room */
} kdl_trace_buffer;

/* Limits all chunks together to so many bytes, at least one chunk. Call it before the first record.
 * False with errno. */
bool kdl_trace_buffers_start(uint64_t bytes);

extern _Thread_local kdl_trace_buffer *kdl_trace_thread_buffer; /* this thread's; NULL: none yet */

/* The next record of this thread, with its `thread` set; NULL where there is no room, which is
 * counted. */
kdl_trace_record *kdl_trace_reserve_slow(void);

/* Records are filled in place: copying a struct right after storing its fields would stall on the
 * stores. */
static inline kdl_trace_record *kdl_trace_reserve(void) {
  kdl_trace_buffer *buffer = kdl_trace_thread_buffer;
  if (buffer) {
    kdl_trace_chunk *chunk = buffer->last;
    uint32_t count = atomic_load_explicit(&chunk->count, memory_order_relaxed);
    if (count < KDL_TRACE_CHUNK_RECORDS) {
      chunk->records[count].thread = buffer->thread;
      return &chunk->records[count];
    }
  }
  return kdl_trace_reserve_slow();
}

/* Publishes the record. */
static inline void kdl_trace_commit(void) {
  kdl_trace_chunk *chunk = kdl_trace_thread_buffer->last;
  uint32_t count = atomic_load_explicit(&chunk->count, memory_order_relaxed);
  atomic_store_explicit(&chunk->count, count + 1, memory_order_release);
}

/* All buffers, all threads, and the number of dropped records. */
kdl_trace_buffer *kdl_trace_buffers(void);
kdl_trace_thread *kdl_trace_threads(void);
uint64_t kdl_trace_dropped(void);

/* In the child of a fork: empties everything. */
void kdl_trace_buffers_after_fork(void);

#endif
