/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where records go: to a buffer of the thread that makes them, which no other thread writes, so
 * that a record is a few stores and takes no lock. Buffers are made of chunks; all chunks together
 * are limited, and what finds no room is counted. Any thread may read meanwhile: a record is there
 * once its chunk's count says so.
 *
 * The buffer of a thread that ended goes to the next new one; records say themselves whose they
 * are.
 */
#ifndef KDL_TRACE_BUFFER_H
#define KDL_TRACE_BUFFER_H

#include "ext/trace/subject.h"
#include "support/base/trace_phase.h"

#include <stdatomic.h>

/* What a record is, beyond the layers. */
enum { KDL_TRACE_DEVICE_TIME = KDL_TRACE_PHASE_COUNT };

typedef struct kdl_trace_record {
  uint64_t begin, end; /* ticks; of KDL_TRACE_DEVICE_TIME, ns of CLOCK_MONOTONIC */
  const kdl_trace_subject *subject;
  const void *queue; /* the backend's; NULL where none is concerned */
  union {
    uint64_t bytes;
    uint64_t launched; /* of KDL_TRACE_DEVICE_TIME: the ticks at which its launch began */
    struct {
      uint32_t grid[3], block[3]; /* of launches */
    };
  };
  uint32_t thread; /* of kdl_trace_threads */
  uint8_t what;    /* kdl_trace_phase, or KDL_TRACE_DEVICE_TIME */
  bool failed;
} kdl_trace_record;

enum { KDL_TRACE_CHUNK_BYTES = 1 << 16, KDL_TRACE_CHUNK_RECORDS = 1023 };

typedef struct kdl_trace_chunk {
  _Atomic(struct kdl_trace_chunk *) next;
  _Atomic(uint32_t) count;
  uint32_t snapshot_count; /* the part that is being written to a file */
  _Alignas(64) kdl_trace_record records[KDL_TRACE_CHUNK_RECORDS];
} kdl_trace_chunk;
_Static_assert(sizeof(kdl_trace_record) == 64, "a cache line");
_Static_assert(sizeof(kdl_trace_chunk) == KDL_TRACE_CHUNK_BYTES, "whole pages");

/* A thread that made a record. */
typedef struct kdl_trace_thread {
  struct kdl_trace_thread *next; /* the one before it; a list that only grows */
  uint32_t index;
  int id; /* the system's */
  atomic_bool has_ended;
  char name[16]; /* once it has ended */
} kdl_trace_thread;

/* Threads beyond have no place of their own: all of them are this one. */
enum { KDL_TRACE_THREAD_LIMIT = 16384 };

typedef struct kdl_trace_buffer {
  struct kdl_trace_buffer *next; /* of all; a list that only grows */
  kdl_trace_chunk *first, *last;
  kdl_trace_thread *owner; /* NULL beyond the limit */
  uint32_t thread;
  atomic_bool in_use;        /* by a thread that lives */
  _Atomic(uint64_t) dropped; /* records that found no room */
} kdl_trace_buffer;

/* Lets all chunks together have so many bytes, one chunk at least. Before the first record. False
 * with errno. */
bool kdl_trace_buffers_start(uint64_t bytes);

extern _Thread_local kdl_trace_buffer *kdl_trace_thread_buffer; /* this thread's; NULL: none yet */

/* Where the next record of this thread goes, with its `thread` set; NULL where there is no room,
 * which is counted. */
kdl_trace_record *kdl_trace_reserve_slow(void);

/* Records are written where they stay: a copy of what was just stored in smaller pieces would wait
 * for the stores. */
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

/* The record is whole. */
static inline void kdl_trace_commit(void) {
  kdl_trace_chunk *chunk = kdl_trace_thread_buffer->last;
  uint32_t count = atomic_load_explicit(&chunk->count, memory_order_relaxed);
  atomic_store_explicit(&chunk->count, count + 1, memory_order_release);
}

/* All buffers and all threads that there are, and what was dropped. */
kdl_trace_buffer *kdl_trace_buffers(void);
kdl_trace_thread *kdl_trace_threads(void);
uint64_t kdl_trace_dropped(void);

/* In the child of a fork: everything is empty again. */
void kdl_trace_buffers_after_fork(void);

#endif
